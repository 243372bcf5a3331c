/**
 * Names of the indexes in which overwrites collect. Each has a ticket: an empty index that the
 * request which shows the collected documents drops, and without which it fails. Whoever takes the
 * place over drops the ticket first: either the documents were shown before, or they never are.
 */
import { randomBytes } from 'node:crypto';
import type { Execution } from '../../../kit/execution.ts';
import { fnv1a64 } from '../../../lib/text/fnv.ts';

const STAGING = '-svc-ovw-';
const TICKET = '-ticket';
const EXECUTION = /-svc-ovw-r([0-9a-f]+)-(\d+)-[^-]+-[^-]+$/;

/** Unique. It says which execution collects, where servers take runs over from each other. */
export function stagedName(alias: string, execution: Execution | undefined): string {
  const by = execution === undefined ? '' : `r${fnv1a64(execution.runId)}-${execution.claim}-`;
  return `${alias}${STAGING}${by}${Date.now()}-${randomBytes(4).toString('hex')}`;
}

/** Of all that collect for this alias, and of their tickets. */
export function stagedPattern(alias: string): string {
  return `${alias}${STAGING}*`;
}

export function ticketOf(name: string): string {
  return name + TICKET;
}

export function isTicket(name: string): boolean {
  return name.endsWith(TICKET);
}

/** Whether a later execution of the same run collects there, or has. */
export function isOfLater(name: string, { runId, claim }: Execution): boolean {
  const [, run, number] = EXECUTION.exec(name) ?? [];
  return run === fnv1a64(runId) && Number(number) > claim;
}
