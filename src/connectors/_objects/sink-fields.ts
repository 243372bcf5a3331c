/** The fields that every sink of objects has. */
import { z } from 'zod';
import { batchSize, finding, integer, optional, text } from '../../kit/schema.ts';
import { isObject } from '../../lib/text/json.ts';
import { codecOfName, withoutCodecSuffix, type Codec } from '../_files/compression/compression.ts';
import { compression, encryption } from '../_files/config.ts';
import { extensionOf, FORMATS, formatOfName, type Format } from '../_files/formats.ts';
import { refuseWriting } from '../_files/orc.ts';
import type { PartCaps } from '../_files/write/part-records.ts';
import { writingBlocks, type FileWriting } from '../_files/write/writing-blocks.ts';

export function writingFields() {
  return {
    path: optional(text()).meta({
      description:
        'Name of the object behind `prefix`; `{part}` stands for a number (00001 …). Each run makes objects of its own when absent.',
      examples: ['daily/orders-{part}.parquet'],
    }),
    format: z
      .preprocess(
        (value) => (isObject(value) && Object.keys(value).length === 1 ? value['type'] : value),
        z.enum(['auto', ...FORMATS, 'orc']),
      )
      .default('json_lines')
      .meta({
        description:
          'Format of the objects; `auto` goes by the extension. `orc` is not available in this version.',
      }),
    file_extension: optional(z.string()).meta({
      description:
        'End of the names that each run makes; that of the format and the compression when absent.',
      examples: ['.ndjson.gz'],
    }),
    compression: compression('each object as a whole'),
    mode: z.enum(['overwrite', 'append', 'error_if_exists']).default('overwrite').meta({
      description:
        'What to do about objects that `path` names and an earlier run has written: replace them, go on with the next number, or fail.',
    }),
    write_mode: z.enum(['append', 'overwrite']).default('append').meta({
      description:
        'With `overwrite`, a run replaces what earlier runs have written: the objects that `path` stands for, or all that runs have made under `prefix`.',
    }),
    max_records_per_file: optional(integer({ min: 1 })).meta({
      description: 'Start another object after this many records.',
    }),
    max_bytes_per_file: optional(integer({ min: 1 })).meta({
      description: 'Start another object at this size, counted as JSON before compression.',
    }),
    concurrency: integer({ min: 0, max: 1024 }).default(10).meta({
      description:
        'How many parts of an object are sent at the same time, within 64 MiB of memory. 0 is 1.',
    }),
    batch_size: batchSize().meta({
      description: 'Accepted for uniformity; records are written as they come.',
    }),
    encryption: encryption(),
    ...writingBlocks(),
  };
}

type Fields = ReturnType<typeof writingFields>;

/** The config of every sink of objects. */
export type ObjectWriting = z.output<z.ZodObject<Fields>> & { readonly prefix: string };

export function checkWriting(value: ObjectWriting, ctx: z.RefinementCtx): void {
  const issue = (path: string, message: string, hint?: string): void =>
    ctx.addIssue(
      finding('invalid_value', message, { path: [path], ...(hint === undefined ? {} : { hint }) }),
    );
  if (value.format === 'orc') {
    refuseWriting('format', ctx);
    return;
  }
  if (formatOf(value) === undefined)
    issue('format', 'the extension does not tell a format', `use one of: ${FORMATS.join(', ')}`);
  if (value.json_lines.pretty && value.encryption !== undefined)
    issue('json_lines', '`pretty` has no place in an encrypted object');
  if (value.path !== undefined && value.file_extension !== undefined)
    issue('file_extension', '`file_extension` is for objects without a `path`');
  if (value.path === undefined && value.mode !== 'overwrite')
    issue(
      'mode',
      '`mode` is for objects that `path` names',
      'without `path` a run never touches the objects of another',
    );
  if (value.mode === 'append' && value.path !== undefined && !isNumbered(value))
    issue('mode', 'objects cannot be continued', 'put `{part}` into `path`, so that runs add some');
  if (value.write_mode === 'overwrite' && value.mode !== 'overwrite')
    issue('mode', '`write_mode: overwrite` needs `mode: overwrite`');
}

export function isCapped(value: PartCaps): boolean {
  return value.max_records_per_file !== undefined || value.max_bytes_per_file !== undefined;
}

export function isNumbered(value: ObjectWriting): boolean {
  return isCapped(value) || value.path?.includes('{part}') === true;
}

/** The name by which `auto` goes. */
function nameOf({ path, file_extension: extension }: ObjectWriting): string {
  return path ?? extension ?? '';
}

function formatOf(value: ObjectWriting): Format | undefined {
  if (value.format !== 'auto') return value.format === 'orc' ? undefined : value.format;
  const name = nameOf(value);
  const found = name === '' ? 'json_lines' : formatOfName(withoutCodecSuffix(name));
  return found === 'orc' ? undefined : found;
}

/** How the objects are made. The schema has checked that the format is known. */
export function writingOf(value: ObjectWriting): FileWriting {
  const codec: Codec =
    value.compression === 'auto' ? codecOfName(nameOf(value)) : value.compression;
  return { ...value, format: formatOf(value) ?? 'json_lines', codec };
}

/**
 * The keys that the config stands for, with `{part}` where the number goes if there is one, and
 * `own` where a run puts what nobody else has. Dead letters are always numbered.
 */
export function keyPattern(
  value: ObjectWriting,
  { own, numbers = isNumbered(value) }: { readonly own: string; readonly numbers?: boolean },
): string {
  const { prefix, path } = value;
  if (path === undefined) {
    const { format, codec } = writingOf(value);
    return `${prefix}${own}-{part}${value.file_extension ?? extensionOf(format, codec)}`;
  }
  if (!numbers || path.includes('{part}')) return prefix + path;
  const stem = withoutCodecSuffix(path);
  const name = stem.slice(stem.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  const cut = dot <= 0 ? stem.length : stem.length - (name.length - dot);
  return `${prefix}${path.slice(0, cut)}-{part}${path.slice(cut)}`;
}
