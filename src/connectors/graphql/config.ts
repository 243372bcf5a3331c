import { z } from 'zod';
import { declaredColumns, inferTypes } from '../../kit/declared-columns.ts';
import {
  batchSize,
  boolean,
  finding,
  integer,
  json,
  nullAsAbsent,
  optional,
  text,
} from '../../kit/schema.ts';
import { isObject } from '../../lib/text/json.ts';
import { auth } from '../_http/auth.ts';
import { answerTimeout, httpUrl, taggedOrNone } from '../_http/fields.ts';
import { jsonPath } from '../_http/json-path.ts';
import { BOOKMARK_TOKEN, positionForm, replicationMethod } from '../_http/replication-fields.ts';
import { responseRules } from '../_http/response-rules.ts';
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

const bind = z.lazy(() =>
  z.strictObject({
    variable: text().meta({
      description: 'Variable that carries the bookmark, or a JSON pointer into the variables.',
      examples: ['since', '/filter/updatedAt/gte'],
    }),
    ...positionForm(BOOKMARK_TOKEN),
    value_type: optional(z.enum(['string', 'number'])).meta({
      description: 'Type of the value that is sent; unset: that of the bookmark or its `format`.',
    }),
  }),
);

const replication = () => ({
  replication_method: replicationMethod,
  replication_key: optional(text()).meta({
    description:
      'Field that grows with every change: a name, names joined by dots, or a JSON pointer.',
    examples: ['updatedAt', 'meta.updatedAt'],
  }),
  on_missing_key: optional(z.enum(['keep', 'drop', 'fail'])).meta({
    description:
      'What a record without the key does: it is read, left out, or ends the run. Unset: it is left out once there is a bookmark or a start.',
  }),
  start_replication_value: optional(json()).meta({
    description: 'Where the first run starts (records with this value are read).',
  }),
  state_key: optional(text()).meta({
    description:
      'Turns on bookmarks: without it every run starts from the beginning. In a pipeline the position is stored under the name of the document and the row.',
  }),
  replication_bind: optional(bind).meta({
    description: 'How the bookmark is sent to the server.',
  }),
});

const fields = z.lazy(() =>
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
    pagination: z
      .preprocess(asCursor, z.discriminatedUnion('type', [cursor, offset]).optional())
      .meta({ description: 'How pages follow each other; unset: there is one.' }),
    max_pages: optional(integer({ min: 1, max: 4_294_967_295 })).meta({
      description: 'Pages read at most; unset: no limit.',
    }),
    batch_size: batchSize().meta({
      description:
        'Records of a page, sent as the variable `page_size_variable` of a cursor; 0: the server decides.',
    }),
    tls: tlsBlock(),
    timeout: answerTimeout(),
    retry_on_response: nullAsAbsent(responseRules()).meta({
      description:
        'Answers that mean "try again later" although their status does not say so; `match_success: true` looks at those with the status 200 too.',
    }),
    ...replication(),
    columns: declaredColumns(),
    infer_types: inferTypes(),
  }),
);

export const graphqlConfig = z.lazy(() =>
  fields.superRefine((config, ctx) => {
    checkReplication(config, ctx);
    checkPageSize(config, ctx);
  }),
);

export type GraphqlConfig = z.infer<typeof fields>;
export type GraphqlPagination = NonNullable<GraphqlConfig['pagination']>;

/** Cursors are the usual way and need no `type`. */
function asCursor(value: unknown): unknown {
  const given = taggedOrNone(STYLES)(value);
  return isObject(given) && given['type'] === undefined ? { ...given, type: 'Cursor' } : given;
}

function checkReplication(config: GraphqlConfig, ctx: z.RefinementCtx): void {
  const { replication_key: key, replication_bind: bound } = config;
  if (config.replication_method.type === 'Incremental') {
    if (key !== undefined) return;
    const message = '`replication_method: Incremental` needs `replication_key`';
    ctx.addIssue(finding('missing_key', message, { path: ['replication_key'] }));
    return;
  }
  for (const [field, value] of Object.entries({
    replication_bind: bound,
    on_missing_key: config.on_missing_key,
  }))
    if (value !== undefined)
      ctx.addIssue(
        finding('invalid_value', `\`${field}\` needs \`replication_method: Incremental\``, {
          path: [field],
        }),
      );
}

/** A size that the query must have, and is not sent. */
function checkPageSize(config: GraphqlConfig, ctx: z.RefinementCtx): void {
  const { query, variables, pagination, batch_size: size } = config;
  if (size !== 0 || pagination?.type !== 'Cursor') return;
  const { page_size_variable: name } = pagination;
  const isNeeded = new RegExp(String.raw`\$${name}\s*:\s*\w+\s*!(?!\s*=)`).test(query);
  if (isNeeded && !Object.hasOwn(variables, name))
    ctx.addIssue(
      finding('invalid_value', `the query needs \`$${name}\`, which is not sent with 0`, {
        path: ['batch_size'],
        hint: `set a size, or declare \`$${name}: Int\` without \`!\``,
      }),
    );
}

/** Whether a run leaves a position for the next one. */
export function keepsPosition({
  state_key: key,
  replication_method: method,
}: Pick<GraphqlConfig, 'state_key' | 'replication_method'>): boolean {
  return key !== undefined && method.type === 'Incremental';
}
