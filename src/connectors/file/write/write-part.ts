import type { SinkContext } from '../../../kit/context.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { encrypt } from '../../../lib/crypto/encryption.ts';
import { readBlocks } from '../../_files/lines/blocks.ts';
import { AppendingFile } from '../../_files/output/appending-file.ts';
import { continueCsv } from '../../_files/csv/csv-continue.ts';
import { JSON_RULES, ENCRYPTED_RULES, TEXT_RULES } from '../../_files/lines/line-rules.ts';
import { temporaryPath } from '../../_files/output/temporary-path.ts';
import { repairTornEnd } from '../../_files/lines/torn-end.ts';
import { wholeOf } from '../../_files/output/whole.ts';
import { render, type RenderOptions } from '../../_files/write/render.ts';
import type { Spool } from '../../_files/write/spool.ts';
import { encryptsLines } from '../../_files/write/writing-blocks.ts';

interface PartOptions {
  readonly rendering: Omit<RenderOptions, 'continued' | 'temporary'>;
  readonly context: SinkContext;
  /** Where to write; holds a copy of the earlier file when that is continued. */
  readonly temporary: string;
  readonly continued: boolean;
}

/** Writes a complete file from its records: rendered, compressed, encrypted and synced. */
export async function writePart(spool: Spool, options: PartOptions): Promise<void> {
  const { rendering, context, temporary, continued } = options;
  const { writing, columns: fields } = rendering;
  const before = continued ? await prepare(options) : undefined;
  const columns = before ?? fields;
  const unknown =
    before === undefined ? undefined : fields.find((field) => !before.includes(field));
  if (unknown !== undefined && writing.csv.on_unknown_field !== 'warn') {
    throw new ConnectorError(
      'data',
      `the field ${JSON.stringify(unknown)} is no column of the file that is continued`,
      {
        hint: 'write to a new file, or set `csv.on_unknown_field: warn` to drop it',
      },
    );
  }
  if (before !== undefined) requireCommon(fields, before);
  const bytes = render(spool, {
    ...rendering,
    columns,
    continued: before !== undefined,
    temporary: temporaryPath(temporary),
  });
  const whole =
    writing.encryption !== undefined && !encryptsLines(writing)
      ? writing.encryption.key
      : undefined;
  // Encryption as a whole comes last, because encrypted bytes cannot be compressed.
  const output = await AppendingFile.open({
    path: temporary,
    codec: writing.codec,
    truncate: !continued,
  });
  try {
    // An empty file is compressed too; without a single byte it would read as damaged.
    if (!continued) await output.write(Buffer.alloc(0));
    for await (const block of bytes) await output.write(block);
    await output.flush();
  } finally {
    await output.close();
  }
  if (whole !== undefined) await encryptWhole(temporary, whole, context.signal);
}

/** Records that share no field with the file would become lines of empty cells. */
function requireCommon(fields: readonly string[], columns: readonly string[]): void {
  if (fields.length === 0 || fields.some((field) => columns.includes(field))) return;
  throw new ConnectorError(
    'data',
    `none of the fields is a column of the file that is continued: its header is ${columns.join(', ')}`,
    { hint: 'write to a new file, or rename the fields' },
  );
}

/**
 * Repairs the end of an earlier file; returns the columns it has, when it is delimited text with a
 * header.
 */
async function prepare({
  rendering: { writing },
  context,
  temporary,
}: PartOptions): Promise<readonly string[] | undefined> {
  const { codec, csv, format } = writing;
  const place = { path: temporary, codec, log: context.env.log, signal: context.signal };
  if (format === 'csv') {
    const dialect = {
      delimiter: csv.delimiter.charCodeAt(0),
      quote: csv.quote.charCodeAt(0),
    };
    const first = await continueCsv({ ...place, dialect });
    return csv.has_headers ? first : undefined;
  }
  await repairTornEnd(
    encryptsLines(writing) ? ENCRYPTED_RULES : format === 'raw_text' ? TEXT_RULES : JSON_RULES,
    place,
  );
  return undefined;
}

async function encryptWhole(path: string, key: string, signal: AbortSignal): Promise<void> {
  const plain = await wholeOf(readBlocks({ path, codec: 'none', signal }), path);
  const output = await AppendingFile.open({ path, codec: 'none', truncate: true });
  try {
    await output.write(encrypt(key, plain));
    await output.flush();
  } finally {
    await output.close();
  }
}
