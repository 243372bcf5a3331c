import { z } from 'zod';
import { boolean, integer, optional, text } from '../../../kit/schema.ts';
import { spelled, tagged } from '../../_http/fields.ts';
import { jsonPath } from '../../_http/json-path.ts';

const STYLES = [
  'None',
  'Cursor',
  'CursorInBody',
  'LinkHeader',
  'NextLinkInBody',
  'PageNumber',
  'Offset',
  'OffsetInBody',
  'RecordFieldCursor',
] as const;

const bodyField = (description: string) =>
  text().meta({ description: `${description} A name, or a JSON pointer such as \`/page/after\`.` });
const type = <const T extends string>(tag: T) =>
  z.literal(tag).meta({ description: 'How the next page is found.' });
const tokenPath = () => jsonPath().meta({ description: 'JSONPath of the token of the next page.' });
const totalPath = () =>
  optional(jsonPath()).meta({ description: 'JSONPath of the number of all records.' });

const none = z.lazy(() => z.strictObject({ type: type('None') }));

const cursor = z.lazy(() =>
  z.strictObject({
    type: type('Cursor'),
    next_token_path: tokenPath(),
    param_name: text().meta({ description: 'Query parameter that carries the token.' }),
  }),
);

const cursorInBody = z.lazy(() =>
  z.strictObject({
    type: type('CursorInBody'),
    next_token_path: tokenPath(),
    body_cursor_field: bodyField('Where the token goes in the JSON body.'),
  }),
);

const linkHeader = z.lazy(() => z.strictObject({ type: type('LinkHeader') }));

const nextLinkInBody = z.lazy(() =>
  z.strictObject({
    type: type('NextLinkInBody'),
    next_link_path: jsonPath().meta({
      description: 'JSONPath of the address of the next page; it may be relative.',
    }),
  }),
);

const pageNumber = z.lazy(() =>
  z.strictObject({
    type: type('PageNumber'),
    param_name: text()
      .default('page')
      .meta({ description: 'Query parameter that carries the page number.' }),
    start_page: integer({ min: 0 }).default(1).meta({ description: 'Number of the first page.' }),
    page_size: optional(integer({ min: 1 })).meta({
      description: 'Records to ask for; sent as `page_size_param`.',
    }),
    page_size_param: optional(text()).meta({
      description: 'Query parameter that carries `page_size`.',
    }),
  }),
);

const limit = () =>
  integer({ min: 1 }).meta({
    description: 'Records to ask for; an answer with fewer is the last one.',
  });
const stopWhenShort = () =>
  boolean()
    .default(true)
    .meta({ description: 'Whether an answer with fewer records than asked for is the last one.' });

const offset = z.lazy(() =>
  z.strictObject({
    type: type('Offset'),
    offset_param: text()
      .default('offset')
      .meta({ description: 'Query parameter that carries the offset.' }),
    limit_param: text()
      .default('limit')
      .meta({ description: 'Query parameter that carries `limit`.' }),
    limit: limit(),
    total_path: totalPath(),
  }),
);

const offsetInBody = z.lazy(() =>
  z.strictObject({
    type: type('OffsetInBody'),
    offset_field: bodyField('Where the offset goes in the JSON body.'),
    limit_field: optional(bodyField('Where `limit` goes in the JSON body.')),
    limit: limit(),
    stop_when_short: stopWhenShort(),
    rows_path: optional(jsonPath()).meta({
      description: 'JSONPath of the rows to count; unset: the records.',
    }),
    total_path: totalPath(),
  }),
);

const recordFieldCursor = z.lazy(() =>
  z.strictObject({
    type: type('RecordFieldCursor'),
    field: text().meta({ description: 'Field of the records from which the next page goes on.' }),
    into: z
      .preprocess(spelled(['query', 'body']), z.enum(['query', 'body']))
      .default('query')
      .meta({ description: 'Where the value goes.' }),
    param: text().meta({
      description: 'Query parameter, or field (or JSON pointer) of the JSON body.',
    }),
    agg: z
      .preprocess(spelled(['max', 'min']), z.enum(['max', 'min']))
      .default('max')
      .meta({
        description: 'Which value of a page counts: the largest or the smallest.',
      }),
    page_size: optional(integer({ min: 1 })).meta({
      description: 'Records a full page has; needed to notice a short one.',
    }),
    stop_when_short: stopWhenShort(),
  }),
);

/** `pagination`: a style by name, in any spelling, with its fields beside it or under `config`. */
export const pagination = z.lazy(() =>
  z
    .preprocess(
      (value) => (value === null || value === undefined ? { type: 'None' } : tagged(STYLES)(value)),
      z.discriminatedUnion('type', [
        none,
        cursor,
        cursorInBody,
        linkHeader,
        nextLinkInBody,
        pageNumber,
        offset,
        offsetInBody,
        recordFieldCursor,
      ]),
    )
    .default({ type: 'None' })
    .meta({ description: 'How the pages of one result follow each other.' }),
);

export type Pagination = z.infer<typeof pagination>;
