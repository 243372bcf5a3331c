import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import { boolean, finding, integer, optional, text } from '../../kit/schema.ts';
import { byteCode } from '../_files/config.ts';
import { spelled } from './fields.ts';
import { isJsonPath, notAPath } from './json-path.ts';

const FORMATS = ['json', 'csv', 'xlsx', 'xml'] as const;

const parse = z.lazy(() =>
  otherName(
    'has_header',
    'has_headers',
    z.strictObject({
      format: z
        .preprocess(spelled(FORMATS), z.enum(FORMATS))
        .meta({ description: 'Format of the text or bytes.' }),
      delimiter: byteCode(44, 'CSV separator: a one-character text or its byte code.'),
      has_headers: boolean()
        .default(true)
        .meta({ description: 'Whether the first CSV row names the columns.' }),
      header_row: integer({ min: 0 })
        .default(0)
        .meta({ description: 'Row of the sheet that names the columns, counted from 0.' }),
      sheet: optional(z.union([z.string(), integer({ min: 0 })])).meta({
        description: 'Sheet name, or its index from 0; unset: the first sheet.',
      }),
      records_path: optional(text()).meta({
        description: 'Where the records are: a JSONPath (json) or a dot path of elements (xml).',
      }),
    }),
  ),
);

const step = z.lazy(() =>
  z.union([
    z.enum(['base64', 'gunzip']),
    z.strictObject({
      extract: text().meta({ description: 'JSONPath of the value for the next step.' }),
    }),
    z.strictObject({
      unzip: z
        .preprocess(
          (value) => value ?? {},
          z.strictObject({
            member: optional(text()).meta({
              description:
                'Name of the file in the archive; `*` matches any text and `?` one character; unset: the first file.',
            }),
          }),
        )
        .meta({ description: 'Takes one file out of a ZIP archive.' }),
    }),
    z.strictObject({ parse: parse.meta({ description: 'Reads records; the last step.' }) }),
  ]),
);

/**
 * `decode`: how the bytes of a response become records, step by step. `extract` paths are
 * JSONPaths, or dot paths of XML elements.
 */
export function decodeSteps(extractPaths: 'json' | 'xml') {
  return optional(
    z
      .array(z.preprocess(bareSteps, step))
      .min(1)
      .superRefine((steps, ctx) => {
        for (const [index, one] of steps.entries()) {
          checkPaths(one, index, { extractPaths, ctx });
          if (typeof one === 'object' && 'parse' in one && index < steps.length - 1) {
            ctx.addIssue(
              finding('invalid_value', '`parse` must be the last step', { path: [index] }),
            );
          }
        }
      }),
  ).meta({
    description: 'Steps from the bytes of a response to records; replaces `response_format`.',
  });
}

type Context = { addIssue(issue: ReturnType<typeof finding>): void };

function checkPaths(
  one: DecodeStep,
  index: number,
  { extractPaths, ctx }: { extractPaths: 'json' | 'xml'; ctx: Context },
): void {
  if (typeof one !== 'object') return;
  if ('extract' in one && extractPaths === 'json' && !isJsonPath(one.extract))
    ctx.addIssue(notAPath(one.extract, [index, 'extract']));
  const path = 'parse' in one && one.parse.format === 'json' ? one.parse.records_path : undefined;
  if (path !== undefined && !isJsonPath(path))
    ctx.addIssue(notAPath(path, [index, 'parse', 'records_path']));
}

/** `unzip` alone means the first file. */
function bareSteps(value: unknown): unknown {
  return value === 'unzip' ? { unzip: {} } : value;
}

export type DecodeStep = z.infer<typeof step>;
export type ParseStep = z.infer<typeof parse>;
