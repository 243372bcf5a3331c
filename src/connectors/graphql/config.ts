import { z } from 'zod';
import { declaredColumns, inferTypes } from '../../kit/declared-columns.ts';
import { batchSize, boolean, integer, json, optional, text } from '../../kit/schema.ts';
import { isObject } from '../../lib/text/json.ts';
import { auth } from '../_http/auth.ts';
import { httpUrl, tagged } from '../_http/fields.ts';
import { jsonPath } from '../_http/json-path.ts';
import { tlsBlock } from '../_http/tls.ts';

const STYLES = ['Cursor', 'Offset'] as const;

const style = <const T extends string>(tag: T) =>
  z.literal(tag).meta({ description: 'How the next page is found.' });

const variable = (description: string) =>
  text()
    .regex(/^[A-Za-z_]\w*$/, 'is not the name of a variable')
    .meta({ description });

const cursor = z.lazy(() =>
  z.strictObject({
    type: style('Cursor'),
    has_next_page_path: jsonPath()
      .default('$.data.*.pageInfo.hasNextPage')
      .meta({ description: 'JSONPath of the answer to whether there is another page.' }),
    cursor_path: jsonPath()
      .default('$.data.*.pageInfo.endCursor')
      .meta({ description: 'JSONPath of the cursor of the next page.' }),
    cursor_variable: variable('Variable that carries the cursor.').default('after'),
    page_size_variable: variable('Variable that carries `batch_size`.').default('first'),
  }),
);

const offset = z.lazy(() =>
  z.strictObject({
    type: style('Offset'),
    offset_variable: variable('Variable that carries the number of records before the page.'),
    page_size: integer({ min: 1, max: 1_000_000 }).meta({ description: 'Records of a full page.' }),
    stop_when_short: boolean()
      .default(true)
      .meta({ description: 'Whether a page with fewer records is the last one.' }),
    substitute_in_query: boolean().default(false).meta({
      description:
        'Whether the number is written into the query in place of `$` and the name of the variable, for servers that take none there.',
    }),
  }),
);

export const graphqlConfig = z.lazy(() =>
  z.strictObject({
    endpoint: httpUrl('Address of the GraphQL server.'),
    query: text().meta({ description: 'The query.', examples: ['{ users { id name } }'] }),
    variables: z
      .record(z.string(), json())
      .default({})
      .meta({ description: 'Values of the variables of the query.' }),
    auth: auth(),
    records_path: optional(jsonPath()).meta({
      description:
        'JSONPath of the records in the answer; a single list found there is opened. Unset: `data` as a whole is one record.',
      examples: ['$.data.users.edges[*].node'],
    }),
    pagination: optional(
      z.preprocess(asCursor, z.discriminatedUnion('type', [cursor, offset])),
    ).meta({ description: 'How pages follow each other; unset: there is one.' }),
    max_pages: optional(integer({ min: 1, max: 4_294_967_295 })).meta({
      description: 'Pages read at most; unset: no limit.',
    }),
    batch_size: batchSize().meta({
      description:
        'Records of a page, sent as the variable `page_size_variable` of a cursor; 0: the server decides.',
    }),
    tls: tlsBlock(),
    columns: declaredColumns(),
    infer_types: inferTypes(),
  }),
);

export type GraphqlConfig = z.infer<typeof graphqlConfig>;
export type GraphqlPagination = NonNullable<GraphqlConfig['pagination']>;

/** Cursors are the usual way and need no `type`. */
function asCursor(value: unknown): unknown {
  const given = tagged(STYLES)(value);
  return isObject(given) && given['type'] === undefined ? { ...given, type: 'Cursor' } : given;
}
