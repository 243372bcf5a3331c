/** The Model Context Protocol, for agents. */
import { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { permits } from '../auth/permissions.ts';
import { defineRoute, empty, json, type Route } from '../route.ts';

const answerSchema = z.looseObject({ jsonrpc: z.literal('2.0') });

const exchangeMessage = defineRoute({
  method: 'POST',
  path: '/mcp',
  permission: 'schema_read',
  label: 'mcp',
  tag: 'operations',
  summary: 'Exchange a message of the Model Context Protocol',
  description:
    'One JSON-RPC 2.0 message of an agent. Only where the server was started with `--mcp`; tools that change something need `--mcp-allow-mutations` and the permission of what they do.',
  uses: ['mcp'],
  anyBody: true,
  responses: {
    200: { description: 'The answer, errors of the protocol included.', schema: answerSchema },
    202: { description: 'A notification, which has no answer.' },
  },
  refusals: ['not_found'],
  async handle({ raw, caller, principal, signal }, { mcp }) {
    if (mcp === undefined)
      throw new RefusedError('not_found', 'the server was started without --mcp');
    const may = (permission: Parameters<typeof permits>[1]): boolean =>
      permits(principal.role, permission);
    const answer = await mcp.answer(raw.body, { caller, may, signal });
    return answer === undefined ? empty(202) : json(200, answer);
  },
});

export const mcpRoutes: readonly Route[] = [exchangeMessage];
