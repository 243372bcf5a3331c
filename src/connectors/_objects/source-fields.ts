/** The fields that every source of objects has. */
import { z } from 'zod';
import { declaredColumns, inferTypes } from '../../kit/declared-columns.ts';
import { onReadError } from '../../kit/rejected-record.ts';
import { batchSize, boolean, finding, integer, optional, text } from '../../kit/schema.ts';
import { isObject } from '../../lib/text/json.ts';
import { compression, encryption } from '../_files/config.ts';
import { FORMATS } from '../_files/formats.ts';
import { refuseReading } from '../_files/orc.ts';
import { hivePartitioning } from '../_files/read/folder-fields.ts';
import { readingBlocks } from '../_files/read/reading-blocks.ts';

export function readingFields() {
  return {
    object_keys: optional(z.array(text()).min(1)).meta({
      description: 'Keys of the objects to read, in this order; then nothing is listed.',
    }),
    pattern: optional(text()).meta({
      description:
        'Which objects to read, by what their keys have behind `prefix`: a pattern with `*`, `**`, `?`, `[…]` and `{a,b}`.',
      examples: ['**/*.csv'],
    }),
    file_format: fileFormat(),
    strict: boolean().default(false).meta({
      description:
        'With `auto`, whether an object of unknown extension fails the run instead of being skipped.',
    }),
    compression: compression('each object'),
    encryption: encryption(),
    incremental: optional(
      z.strictObject({
        by: z.enum(['mtime', 'name']).meta({
          description:
            'What tells new objects from those read before: the time at which they were stored, or the key.',
        }),
      }),
    ).meta({ description: 'Read only what is new since the last run; needs `state`.' }),
    stable_for_secs: optional(integer({ min: 0 })).meta({
      description:
        'Leave objects that were stored within this time for the next run; 2 with `incremental: {by: mtime}` unless given, because stores tell times in whole seconds.',
    }),
    max_objects: optional(integer({ min: 1 })).meta({
      description: 'Read at most so many objects.',
    }),
    concurrency: integer({ min: 0, max: 1024 }).default(10).meta({
      description: 'How many objects are requested ahead; their order stays. 0 is 1.',
    }),
    columns: declaredColumns(),
    infer_types: inferTypes(),
    on_error: onReadError(
      'A line of JSON Lines or a row of delimited text that cannot be read, or a value that does not fit its type,',
    ),
    hive_partitioning: hivePartitioning(),
    batch_size: batchSize().meta({
      description: 'Records a page holds at most; 0 gives one page per object.',
    }),
    ...readingBlocks(),
  };
}

/** Documents from elsewhere write `{type: json_lines}` as well. */
function fileFormat() {
  return z
    .preprocess(
      (value) => (isObject(value) && Object.keys(value).length === 1 ? value['type'] : value),
      z.enum(['auto', ...FORMATS, 'orc']),
    )
    .default('json_lines')
    .meta({
      description:
        'Format of every object; `auto` goes by the extension of each. `orc` is not available in this version.',
    });
}

export function verifyLength() {
  return boolean().default(true).meta({
    description:
      'Whether the bytes that were read are counted, and others than the store says fail.',
  });
}

export function verifyChecksum() {
  return boolean().default(false).meta({
    description:
      'Whether objects that are read as a whole are compared with the strongest checksum that the store has of them (SHA-256, CRC-64/NVME, CRC-32C, CRC-32, MD5).',
  });
}

export function prefixField(description: string) {
  return z
    .preprocess((value) => value ?? '', z.string())
    .default('')
    .meta({ description });
}

type Fields = ReturnType<typeof readingFields>;
type ReadingFields = z.output<z.ZodObject<Fields>>;

/** The config of every source of objects. */
export interface ObjectReading extends ReadingFields {
  readonly prefix: string;
  readonly verify_length: boolean;
  readonly verify_checksum: boolean;
}

type Checked = Pick<
  ObjectReading,
  'file_format' | 'orc' | 'object_keys' | 'pattern' | 'incremental' | 'infer_types' | 'prefix'
>;

/** `formatField` is the name that documents give the format. */
export function checkReading(
  value: Checked,
  ctx: z.RefinementCtx,
  formatField = 'file_format',
): void {
  const issue = (path: string, message: string, hint?: string): void =>
    ctx.addIssue(
      finding('invalid_value', message, { path: [path], ...(hint === undefined ? {} : { hint }) }),
    );
  if (value.file_format === 'orc') refuseReading(formatField, ctx);
  else if (value.orc !== undefined) refuseReading('orc', ctx);
  if (value.infer_types && value.file_format === 'auto')
    issue(
      'infer_types',
      '`infer_types` needs objects of one format',
      `set \`${formatField}\`, or declare the types in \`columns\``,
    );
  if (value.object_keys === undefined) return;
  for (const field of ['pattern', 'incremental'] as const)
    if (value[field] !== undefined)
      issue(field, `\`${field}\` is for objects that are listed, and \`object_keys\` names them`);
  if (value.prefix !== '')
    issue(
      'prefix',
      '`prefix` is for objects that are listed, and `object_keys` names them in full',
    );
}
