/** The root of the server: links for a program, a small page for a browser, and the page's files. */
import { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { defineRoute, file, json, type Route } from '../route.ts';

const index = defineRoute({
  method: 'GET',
  path: '/',
  permission: 'public',
  label: 'index',
  tag: 'operations',
  summary: 'Name, version and where to go from here',
  description: 'A browser gets a page with the same links.',
  uses: ['version', 'assets'],
  responses: {
    200: {
      description: 'A few links.',
      schema: z.object({
        name: z.string(),
        version: z.string(),
        links: z.record(z.string(), z.string()),
      }),
    },
  },
  async handle({ wantsPage }, { version, assets }) {
    const page = wantsPage ? await assets.find('index.html') : undefined;
    if (page !== undefined) return file(page, { vary: 'accept' });
    const links = {
      api: '/openapi.json',
      runs: '/v1/runs',
      schemas: '/v1/schemas',
      health: '/healthz',
      readiness: '/readyz',
      metrics: '/metrics',
    };
    return json(200, { name: 'headgate', version, links }, { vary: 'accept' });
  },
});

const asset = defineRoute({
  method: 'GET',
  path: '/assets/{name}',
  permission: 'public',
  label: 'asset',
  tag: 'operations',
  summary: 'Read a static file of the page',
  description: 'Send the `ETag` back as `If-None-Match` to be told whether the file has changed.',
  params: z.strictObject({ name: z.string().meta({ description: 'Name of the file.' }) }),
  uses: ['assets'],
  responses: {
    200: { description: 'The file.', contentType: '*/*' },
    304: { description: 'The client has this version already.' },
  },
  async handle({ params: { name } }, { assets }) {
    const found = await assets.find(name);
    if (found === undefined) throw new RefusedError('not_found', 'there is no such file');
    return file(found);
  },
});

export const frontPageRoutes: readonly Route[] = [index, asset];
