/** The receipt of a run: one file for people, to keep or to attach to a ticket. */
import { defineRoute, page, type Route } from '../route.ts';
import { runParams } from './runs.ts';

const shared = {
  method: 'GET',
  permission: 'run_read',
  tag: 'runs',
  summary: 'Read the receipt of a run, as a page',
  description:
    'One HTML file that loads and executes nothing: where every record went, when, the errors with their places, the plan, and the files with their checksums. Secrets are masked. A run that has not ended is a 409.',
  params: runParams,
  uses: ['receipt'],
  responses: { 200: { description: 'The page.', contentType: 'text/html; charset=utf-8' } },
  refusals: ['conflict'],
} as const;

const getReceipt = defineRoute({
  ...shared,
  path: '/v1/runs/{id}/receipt',
  label: 'run.receipt',
  async handle({ params, signal }, { receipt }) {
    return page(await receipt(params.id, signal), `headgate-${params.id}.html`);
  },
});

/** An address that is short enough to type. */
const openReceipt = defineRoute({
  ...shared,
  path: '/runs/{id}/receipt',
  label: 'run.receipt_page',
  async handle({ params, signal }, { receipt }) {
    return page(await receipt(params.id, signal), `headgate-${params.id}.html`);
  },
});

export const receiptRoutes: readonly Route[] = [getReceipt, openReceipt];
