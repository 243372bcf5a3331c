import { z } from 'zod';
import { declaredColumns, inferTypes } from '../../kit/declared-columns.ts';
import { batchSize, boolean, finding, integer, optional, text } from '../../kit/schema.ts';
import { auth } from '../_http/auth.ts';
import { decodeSteps } from '../_http/decode-config.ts';
import {
  answerTimeout,
  httpMethod,
  httpUrl,
  isBodyless,
  scalarText,
  taggedOrNone,
} from '../_http/fields.ts';
import { tlsBlock } from '../_http/tls.ts';

const STYLES = ['PageNumber', 'Offset', 'BodyCursor'] as const;
/** Stands for the token in the body of the next page. */
export const NEXT_TOKEN = 'next_token';

const style = <const T extends string>(tag: T) =>
  z.literal(tag).meta({ description: 'How the next page is found.' });
const elementPath = (description: string) =>
  text().meta({ description: `${description} A dot path of elements, e.g. \`catalog.book\`.` });

const pageNumber = z.lazy(() =>
  z.strictObject({
    type: style('PageNumber'),
    param_name: text().default('page').meta({ description: 'Query parameter of the page number.' }),
    start_page: integer({ min: 0 }).default(1).meta({ description: 'Number of the first page.' }),
    page_size: optional(integer({ min: 1 })).meta({
      description: 'Records of a full page; a page with fewer is the last one.',
    }),
    page_size_param: optional(text()).meta({ description: 'Query parameter of `page_size`.' }),
  }),
);

const offset = z.lazy(() =>
  z.strictObject({
    type: style('Offset'),
    offset_param: text()
      .default('offset')
      .meta({ description: 'Query parameter of the number of records before the page.' }),
    limit_param: text().default('limit').meta({ description: 'Query parameter of `limit`.' }),
    limit: integer({ min: 1 }).meta({ description: 'Records of a full page.' }),
  }),
);

const bodyCursor = z.lazy(() =>
  z.strictObject({
    type: style('BodyCursor'),
    next_token_path: elementPath('Where the token of the next page is.'),
    next_body: text().meta({
      description: `Body of the request for the next page, in which \`\${${NEXT_TOKEN}}\` stands for the token; inside \`soap.body_inner\` where that is set.`,
    }),
  }),
);

const soap = z.lazy(() =>
  z.strictObject({
    version: z
      .preprocess(
        (value) => (typeof value === 'number' ? String(value) : value),
        z.enum(['1.1', '1.2']),
      )
      .default('1.1')
      .meta({ description: 'Version of SOAP.' }),
    action: optional(z.string()).meta({ description: 'The action that is called.' }),
    body_inner: optional(text()).meta({ description: 'What stands inside the Body element.' }),
    namespaces: z
      .record(z.string().regex(/^[A-Za-z_][\w.-]*$/, 'is not a prefix'), z.string())
      .default({})
      .meta({ description: 'Prefixes and the namespaces they stand for, set on the envelope.' }),
    path_relative_to_body: boolean()
      .default(true)
      .meta({ description: 'Whether `records_element_path` begins below the Body element.' }),
    fault_as_error: boolean().default(true).meta({
      description: 'Whether a Fault ends the run; without, it is an answer without records.',
    }),
  }),
);

/** `none` is a style elsewhere. */
const plain = z.lazy(() =>
  z.strictObject({
    base_url: httpUrl('Address of the service.'),
    path: z.string().meta({ description: 'Path below `base_url`; may be empty.' }),
    method: optional(httpMethod()).meta({
      description: 'HTTP method; unset: POST with `soap`, else GET.',
    }),
    body: optional(text()).meta({ description: 'Body of the request, as it is.' }),
    soap: optional(soap).meta({ description: 'Sends and reads SOAP envelopes.' }),
    records_element_path: optional(elementPath('Where the records are.')).meta({
      examples: ['catalog.book'],
    }),
    query_params: z
      .record(z.string(), scalarText())
      .default({})
      .meta({ description: 'Query parameters of every request.' }),
    auth: auth(),
    pagination: z
      .preprocess(
        taggedOrNone(STYLES),
        z.discriminatedUnion('type', [pageNumber, offset, bodyCursor]).optional(),
      )
      .meta({ description: 'How pages follow each other; unset: there is one.' }),
    max_pages: optional(integer({ min: 1, max: 4_294_967_295 })).meta({
      description: 'Pages read at most; unset: no limit.',
    }),
    decode: decodeSteps('xml'),
    batch_size: batchSize(),
    tls: tlsBlock(),
    timeout: answerTimeout(),
    columns: declaredColumns(),
    infer_types: inferTypes(),
  }),
);

export const xmlConfig = z.lazy(() => plain.superRefine(checkTogether));
export type XmlConfig = z.infer<typeof plain>;
export type XmlPagination = NonNullable<XmlConfig['pagination']>;

export function methodOf({ method, soap: block }: Pick<XmlConfig, 'method' | 'soap'>): string {
  return method ?? (block === undefined ? 'GET' : 'POST');
}

function checkTogether(
  config: XmlConfig,
  ctx: { addIssue(issue: ReturnType<typeof finding>): void },
) {
  const { body, soap: block, pagination, decode, records_element_path: path } = config;
  const report = (at: string[], message: string, hint: string): void =>
    ctx.addIssue(finding('invalid_value', message, { path: at, hint }));
  const carries = body !== undefined || block !== undefined || pagination?.type === 'BodyCursor';
  if (carries && isBodyless(methodOf(config)))
    report(['method'], `a ${methodOf(config)} request has no body`, 'set `method: POST`');
  if (block !== undefined && (body === undefined) === (block.body_inner === undefined))
    report(
      ['soap', 'body_inner'],
      body === undefined
        ? '`soap` has nothing to send'
        : '`body` and `soap.body_inner` exclude each other',
      'set `soap.body_inner`, or `body` with a whole envelope',
    );
  if (block !== undefined && Object.hasOwn(block.namespaces, 'soap'))
    report(
      ['soap', 'namespaces', 'soap'],
      'the prefix `soap` is that of the envelope',
      'choose another prefix',
    );
  if (decode !== undefined && pagination !== undefined)
    report(['decode'], '`decode` reads one answer', 'leave `pagination` out');
  if (decode !== undefined && path !== undefined)
    report(
      ['records_element_path'],
      '`decode` says where the records are',
      'leave one of them out',
    );
  if (
    pagination?.type === 'PageNumber' &&
    pagination.page_size_param !== undefined &&
    pagination.page_size === undefined
  )
    report(
      ['pagination', 'page_size'],
      '`page_size_param` needs a `page_size`',
      'set it, or leave both out',
    );
}
