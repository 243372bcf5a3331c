/**
 * Fields of logins that stand under a name in the top-level `auth` block and in place in a
 * connector alike.
 */
import { z } from 'zod';
import { json, optional, text } from './schema.ts';

/** How a token endpoint is asked. */
export function tokenRequestFields() {
  return {
    method: text().default('POST').meta({ description: 'HTTP method.' }),
    body: optional(json()).meta({
      description: 'What is sent; a mapping when `encoding` is `form`.',
      secret: true,
    }),
    encoding: z
      .enum(['json', 'form'])
      .default('json')
      .meta({ description: 'How `body` is written.' }),
  };
}

/** How requests carry a token that is no bearer token. */
export function tokenHeaderFields() {
  return {
    header: text().meta({ description: 'Header that carries the token.' }),
    template: text().meta({ description: 'Value of the header; `{token}` stands for the token.' }),
  };
}
