import { z } from 'zod';
import { otherName } from '../../../kit/other-name.ts';
import { batchSize, boolean, finding, integer, optional } from '../../../kit/schema.ts';
import { codecOfName, withoutCodecSuffix } from '../../_files/compression/compression.ts';
import { compression, encryption, filePath } from '../../_files/config.ts';
import { FORMATS, formatOfName, type Format } from '../../_files/formats.ts';
import { refuseWriting } from '../../_files/orc.ts';
import {
  encryptsLines,
  writingBlocks,
  type FileWriting,
} from '../../_files/write/writing-blocks.ts';

/** Formats to which something can be added at the end. */
const GROWING: ReadonlySet<Format> = new Set<Format>(['json_lines', 'csv', 'raw_text']);

const config = z.lazy(() =>
  z.strictObject({
    path: filePath(
      'File to write. `{part}` stands for a number (00001 …); a path ending in `/` is a folder of `part-{part}` files.',
    ),
    format: z
      .enum(['auto', ...FORMATS, 'orc'])
      .default('auto')
      .meta({
        description:
          'Format of the files; `auto` goes by the extension. `orc` is not available in this version.',
      }),
    compression: compression('each file as a whole'),
    if_exists: z
      .preprocess(
        (value) =>
          value === 'overwrite' ? 'replace' : value === 'error_if_exists' ? 'error' : value,
        z.enum(['replace', 'append', 'error']),
      )
      .default('replace')
      .meta({
        description:
          'What to do about the files of an earlier run; with `replace`, also parts that this run does not have are removed, and a run without records leaves an empty file where one was (no file, if it is Parquet, or Avro without a schema). `mode` is another name of this field.',
      }),
    write_mode: z.enum(['append', 'overwrite']).default('append').meta({
      description:
        'With `overwrite`, a run without records writes an empty file also where none was.',
    }),
    max_records_per_file: optional(integer({ min: 1 })).meta({
      description: 'Start another file after this many records.',
    }),
    max_bytes_per_file: optional(integer({ min: 1 })).meta({
      description: 'Start another file at this size, counted as JSON before compression.',
    }),
    create_dirs: boolean()
      .default(true)
      .meta({ description: 'Whether missing folders are created.' }),
    batch_size: batchSize().meta({
      description: 'Accepted for uniformity; records are written as they come.',
    }),
    ...writingBlocks(),
    encryption: encryption(),
  }),
);

export type FileSinkConfig = z.infer<typeof config>;

export const sinkConfig = z.lazy(() =>
  otherName(
    'mode',
    'if_exists',
    config.superRefine((value, ctx) => {
      const issue = (message: string, path: string, hint?: string) =>
        ctx.addIssue(
          finding('invalid_value', message, {
            path: [path],
            ...(hint === undefined ? {} : { hint }),
          }),
        );
      if (value.format === 'orc') {
        refuseWriting('format', ctx);
        return;
      }
      const format = sinkFormat(value);
      if (format === undefined) {
        issue(
          'the extension does not tell a format that can be written',
          'path',
          `set \`format\` to one of: ${FORMATS.join(', ')}`,
        );
        return;
      }
      if (value.write_mode === 'overwrite' && value.if_exists !== 'replace')
        issue('`write_mode: overwrite` needs `if_exists: replace`', 'if_exists');
      if (value.if_exists === 'append' && !isNumbered(value) && !canGrow(value)) {
        issue(
          `${format} files cannot be continued this way`,
          'if_exists',
          'put `{part}` into the path, so that each run adds files',
        );
      }
      if (value.json_lines.pretty && value.encryption !== undefined)
        issue('`pretty` has no place in an encrypted file', 'json_lines');
    }),
  ),
);

/** The format of the files; `undefined` when it is unknown or cannot be written. */
export function sinkFormat(value: FileSinkConfig): Format | undefined {
  const format =
    value.format === 'auto' ? formatOfName(withoutCodecSuffix(value.path)) : value.format;
  return FORMATS.find((one) => one === format);
}

export function isNumbered(value: FileSinkConfig): boolean {
  return value.path.includes('{part}') || value.path.endsWith('/') || isCapped(value);
}

export function isCapped(value: FileSinkConfig): boolean {
  return value.max_records_per_file !== undefined || value.max_bytes_per_file !== undefined;
}

export function sinkCodec(value: FileSinkConfig) {
  return value.compression === 'auto' ? codecOfName(value.path) : value.compression;
}

/** How the files are made. The schema has checked that the format is known. */
export function writingOf(value: FileSinkConfig): FileWriting {
  return { ...value, format: sinkFormat(value) ?? 'json_lines', codec: sinkCodec(value) };
}

/** Whether a file of an earlier run can be continued. */
export function canGrow(value: FileSinkConfig): boolean {
  const writing = writingOf(value);
  return GROWING.has(writing.format) && (value.encryption === undefined || encryptsLines(writing));
}
