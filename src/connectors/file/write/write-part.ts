import type { SinkContext } from '../../../kit/context.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { encrypt } from '../../../lib/crypto/encryption.ts';
import { readBlocks } from '../../_files/lines/blocks.ts';
import { AppendingFile } from '../../_files/output/appending-file.ts';
import { continueCsv } from '../../_files/csv/csv-continue.ts';
import { JSON_RULES, ENCRYPTED_RULES, TEXT_RULES } from '../../_files/lines/line-rules.ts';
import type { ColumnKind } from '../../_files/typed/column-kinds.ts';
import { temporaryPath } from '../../_files/output/temporary-path.ts';
import { repairTornEnd } from '../../_files/lines/torn-end.ts';
import { wholeOf } from '../../_files/output/whole.ts';
import { render } from './render.ts';
import { encryptsLines, sinkCodec, sinkFormat, type FileSinkConfig } from './sink-config.ts';
import type { Spool } from './spool.ts';

interface PartOptions {
  readonly config: FileSinkConfig;
  readonly context: SinkContext;
  /** Where to write; holds a copy of the earlier file when that is continued. */
  readonly temporary: string;
  readonly continued: boolean;
  /** Columns of tables, in order. */
  readonly columns: readonly string[];
  /** Columns of Parquet and Avro. */
  readonly kinds: ReadonlyMap<string, ColumnKind>;
  /** Called for each field that no column can hold. */
  readonly onDropped: (path: string) => void;
}

/** Writes a complete file from its records: rendered, compressed, encrypted and synced. */
export async function writePart(spool: Spool, options: PartOptions): Promise<void> {
  const { config, context, temporary, continued } = options;
  const codec = sinkCodec(config);
  const before = continued ? await prepare(options) : undefined;
  const columns = before ?? options.columns;
  const unknown =
    before === undefined ? undefined : options.columns.find((field) => !before.includes(field));
  if (unknown !== undefined && config.csv.on_unknown_field !== 'warn') {
    throw new ConnectorError(
      'data',
      `the field ${JSON.stringify(unknown)} is no column of the file that is continued`,
      {
        hint: 'write to a new file, or set `csv.on_unknown_field: warn` to drop it',
      },
    );
  }
  if (before !== undefined) requireCommon(options.columns, before);
  const bytes = render(spool, {
    config,
    signal: context.signal,
    columns,
    kinds: options.kinds,
    onDropped: options.onDropped,
    continued: before !== undefined,
    temporary: temporaryPath(temporary),
  });
  const whole =
    config.encryption !== undefined && !encryptsLines(config) ? config.encryption.key : undefined;
  // Encryption as a whole comes last, because encrypted bytes cannot be compressed.
  const output = await AppendingFile.open({ path: temporary, codec, truncate: !continued });
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
  config,
  context,
  temporary,
}: PartOptions): Promise<readonly string[] | undefined> {
  const place = {
    path: temporary,
    codec: sinkCodec(config),
    log: context.env.log,
    signal: context.signal,
  };
  if (sinkFormat(config) === 'csv') {
    const dialect = {
      delimiter: config.csv.delimiter.charCodeAt(0),
      quote: config.csv.quote.charCodeAt(0),
    };
    const first = await continueCsv({ ...place, dialect });
    return config.csv.has_headers ? first : undefined;
  }
  await repairTornEnd(
    encryptsLines(config)
      ? ENCRYPTED_RULES
      : sinkFormat(config) === 'raw_text'
        ? TEXT_RULES
        : JSON_RULES,
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
