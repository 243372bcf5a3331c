/** Login fields that are the same in the top-level `auth` block and inside a connector. */
import { z } from 'zod';
import { json, optional, text } from './schema.ts';

/** Fields of the request to a token endpoint. */
export function tokenRequestFields() {
  return {
    method: text().default('POST').meta({ description: 'HTTP method.' }),
    body: optional(json()).meta({
      description: 'Body of the request; a mapping when `encoding` is `form`.',
      secret: true,
    }),
    encoding: z
      .enum(['json', 'form'])
      .default('json')
      .meta({ description: 'How `body` is written.' }),
  };
}

/** Fields that say how a request sends a token that is not a bearer token. */
export function tokenHeaderFields() {
  return {
    header: text().meta({ description: 'Header that carries the token.' }),
    template: text().meta({ description: 'Value of the header; `{token}` stands for the token.' }),
  };
}
