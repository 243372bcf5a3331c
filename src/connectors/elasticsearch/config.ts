import { z } from 'zod';
import { batchSize, finding, integer, json, optional, text } from '../../kit/schema.ts';
import { checkWriteFields, writeFields } from '../../kit/write-spec.ts';
import { isObject, type JsonObject } from '../../lib/text/json.ts';
import { auth } from '../_http/auth.ts';
import { httpUrl } from '../_http/fields.ts';

const LOGINS = ['none', 'basic', 'bearer', 'api_key'] as const;

/** An API key of this system is one text, and not a header of any name. */
const login = () =>
  auth(LOGINS, {
    api_key: () =>
      z.strictObject({
        key: text().meta({
          description: 'The key as the server gives it: base64 of `id:api_key`.',
          secret: true,
        }),
      }),
  });

const baseUrl = () => httpUrl('Address of the cluster, e.g. `https://search.example.com:9200`.');

const indexName = (description: string, pattern: RegExp) =>
  text().regex(pattern, 'is no name of an index').meta({ description });

export const elasticsearchSourceConfig = z.lazy(() =>
  z.strictObject({
    base_url: baseUrl(),
    index: indexName(
      'Index, alias or pattern of indexes to read; `{field}` stands for a value of the parent record.',
      /^[^\s"<>|\\#?/]+$/,
    ),
    query: optional(
      json().superRefine((value, ctx) => {
        if (isObject(value)) return;
        const hint = 'e.g. `{term: {status: paid}}`';
        ctx.addIssue(finding('wrong_type', 'must be a mapping', { hint }));
      }),
    ).meta({
      description:
        'Which documents are read, in the query language of the server; all when unset. `{field}` stands for a value of the parent record.',
      examples: [{ range: { at: { gte: '2026-01-01' } } }] satisfies JsonObject[],
    }),
    scroll_timeout: text()
      .regex(/^\d+(?:d|h|m|s|ms)$/, 'is no time; write e.g. `1m`')
      .default('1m')
      .meta({ description: 'How long the server keeps its place between two pages.' }),
    auth: login(),
    max_pages: optional(integer({ min: 1, max: 4_294_967_295 })).meta({
      description: 'Pages read at most; unset: no limit.',
    }),
    batch_size: batchSize().meta({
      description: 'Documents of a page, up to 10000; 0: all in one page, of up to 10000.',
    }),
  }),
);
export type ElasticsearchSourceConfig = z.output<typeof elasticsearchSourceConfig>;

const sinkFields = z.lazy(() =>
  z.strictObject({
    base_url: baseUrl(),
    index: indexName(
      'Index or alias to write to; with `write_mode: overwrite` an alias, or a name that is free.',
      /^[^\s"*<>|\\#?/,A-Z_+-][^\s"*<>|\\#?/,A-Z]*$/,
    ),
    auth: login(),
    id_field: optional(text()).meta({
      description:
        'Field whose value is the `_id` of the document, with `write_mode: append`; where it is missing the server makes one.',
    }),
    batch_size: batchSize().meta({
      description: 'Records that are sent together at most; 0: those of a page.',
    }),
    ...writeFields(['append', 'upsert', 'delete', 'overwrite']),
  }),
);

export const elasticsearchSinkConfig = z.lazy(() =>
  sinkFields.superRefine((config, ctx) => {
    checkWriteFields(config, ctx);
    const isKeyed = config.write_mode === 'upsert' || config.write_mode === 'delete';
    if (config.id_field !== undefined && isKeyed)
      ctx.addIssue(
        finding(
          'invalid_value',
          `\`write_mode: ${config.write_mode}\` makes the \`_id\` of \`key\``,
          {
            path: ['id_field'],
            hint: 'remove `id_field`',
          },
        ),
      );
  }),
);
export type ElasticsearchSinkConfig = z.output<typeof sinkFields>;
