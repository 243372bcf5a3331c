import { z } from 'zod';
import type { SinkContext } from '../../kit/context.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import type { Page } from '../../kit/page.ts';
import { batchSize, boolean, integer, optional } from '../../kit/schema.ts';
import {
  APPEND_ONLY,
  defineSink,
  requireOpen,
  type Sink,
  type WriteResult,
} from '../../kit/sink.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { cellsOf, CsvFormat, requireObjects } from '../_files/csv/csv-writer.ts';
import { fileError } from '../_files/io-error.ts';
import { codeOf } from '../../lib/files/file-fault.ts';

const COMMA = 44;
const QUOTE = 34;

const config = z.lazy(() =>
  z.strictObject({
    destination: z
      .enum(['stdout', 'stderr'])
      .default('stdout')
      .meta({ description: 'Which stream of the process to write to.' }),
    format: z
      .preprocess(
        (value) => (value === 'jsonl' ? 'json_lines' : value),
        z.enum(['json_lines', 'pretty_json', 'tsv', 'csv']),
      )
      .default('json_lines')
      .meta({
        description:
          'How a record is written; tsv and csv sort the fields by name and write no header.',
      }),
    flush_per_record: boolean()
      .default(false)
      .meta({ description: 'Whether every record is handed to the system on its own.' }),
    max_records: optional(integer({ min: 0 })).meta({
      description: 'After this many records, further ones are accepted but not shown.',
    }),
    batch_size: batchSize().meta({
      description: 'Accepted for uniformity; records are written as they come.',
    }),
  }),
);

type StdoutSinkConfig = z.infer<typeof config>;

export const stdoutSink = defineSink<StdoutSinkConfig>({
  type: 'stdout',
  description: 'Prints records to standard output or standard error.',
  config,
  examples: [
    {},
    { format: 'pretty_json', max_records: 10 },
    { destination: 'stderr', format: 'tsv', flush_per_record: true },
  ],
  capabilities: (value) => ({
    ...APPEND_ONLY,
    encodings: value.format === 'json_lines' && !value.flush_per_record ? [JSON_LINES.name] : [],
  }),
  datasetUri: (value) => `${value.destination}://`,
  open: async (value, context) =>
    openStdout(value, { context, stream: process[value.destination] }),
});

/** What is written to; the streams of the process are. */
export interface Output {
  write(bytes: Uint8Array, done: (error?: Error | null) => void): boolean;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
}

export function openStdout(
  value: StdoutSinkConfig,
  place: { context: SinkContext; stream: Output },
): Sink {
  const format = FORMATTERS[value.format];
  const { stream, context } = place;
  // A failed write reports the error itself; without a listener the stream would end the process.
  const ignore = (): void => {};
  stream.on('error', ignore);
  let left = value.max_records ?? Infinity;
  let gone = false;
  let isClosed = false;

  const print = async (bytes: Uint8Array): Promise<void> => {
    if (!gone) gone = (await written(stream, bytes, value.destination)) === 'closed';
  };

  const write = async (page: Page): Promise<WriteResult> => {
    requireOpen(isClosed);
    context.signal.throwIfAborted();
    const shown = page.slice(0, Math.min(page.count, left));
    left -= shown.count;
    if (shown.count > 0 && !gone) {
      if (value.flush_per_record)
        for (const record of shown.records()) await print(Buffer.from(format([record])));
      else
        await print(
          value.format === 'json_lines'
            ? shown.block(JSON_LINES)
            : Buffer.from(format(shown.records())),
        );
    }
    return { written: page.count, rejected: [] };
  };

  return {
    write,
    flush: async () => {},
    finish: async () => {},
    close: async () => {
      isClosed = true;
      stream.off('error', ignore);
    },
  };
}

/** A reader that stops early (`| head`) is a clean end. */
function written(stream: Output, bytes: Uint8Array, name: string): Promise<'open' | 'closed'> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => {
      if (error === undefined || error === null) resolve('open');
      else if (codeOf(error) === 'EPIPE' || codeOf(error) === 'ERR_STREAM_DESTROYED')
        resolve('closed');
      else reject(fileError(error, 'write to', name));
    });
  });
}

const CSV = new CsvFormat({ delimiter: COMMA, quote: QUOTE });

type Formatter = (records: readonly JsonValue[]) => string;

const FORMATTERS: Readonly<Record<StdoutSinkConfig['format'], Formatter>> = {
  json_lines: (records) => records.map((record) => `${stringifyJson(record)}\n`).join(''),
  pretty_json: (records) => records.map((record) => `${stringifyJson(record, 2)}\n`).join(''),
  csv: (records) =>
    sortedCells(records, 'csv')
      .map((cells) => CSV.row(cells))
      .join(''),
  tsv: (records) =>
    sortedCells(records, 'tsv')
      .map((cells) => `${cells.map(withoutControls).join('\t')}\n`)
      .join(''),
};

function sortedCells(records: readonly JsonValue[], format: string): string[][] {
  return requireObjects(records, format).map((record) =>
    cellsOf(record, Object.keys(record).sort()),
  );
}

function withoutControls(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ');
}
