import { rename, rm, truncate } from 'node:fs/promises';
import type { CsvDialect } from '../../../kit/csv-dialect.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { AppendingFile } from '../output/appending-file.ts';
import { readBlocks } from '../lines/blocks.ts';
import { CellReader } from './csv-cells.ts';
import { csvRows } from './csv-rows.ts';
import { onDisk } from '../io-error.ts';
import { temporaryPath } from '../output/temporary-path.ts';
import { sizeOf, type RepairContext } from '../lines/torn-end.ts';

export interface ContinueContext extends RepairContext {
  readonly dialect: CsvDialect;
}

/**
 * Prepares a delimited file for more rows and returns its first row (`undefined` when there is
 * none). A last row that a killed writer left short or with an open quote is cut off; a last row
 * that only lacks its line end gets one. The whole file is read for that, because only reading from
 * the start shows whether a line end is inside quotes.
 */
export async function continueCsv(
  context: ContinueContext,
): Promise<readonly string[] | undefined> {
  if ((await sizeOf(context.path)) === 0) return undefined;
  const found = await survey(context);
  if (found.torn) {
    await keepStart(context, found.wholeBytes);
    context.log.warn('the last row was cut off in the middle; dropped it', { path: context.path });
  } else if (found.lineEndMissing) {
    await appendLineEnd(context);
    context.log.warn('the last row had no line end; added it', { path: context.path });
  }
  return found.wholeBytes === 0 ? undefined : found.first;
}

interface Survey {
  readonly first: readonly string[] | undefined;
  /** Decompressed bytes up to the end of the last complete row. */
  readonly wholeBytes: number;
  readonly torn: boolean;
  readonly lineEndMissing: boolean;
}

async function survey(context: ContinueContext): Promise<Survey> {
  let first: readonly string[] | undefined;
  let last = { start: 0, end: 0, cells: 0 };
  let torn = false;
  const count = { bytes: 0 };
  try {
    for await (const { bytes, scanner, offset } of csvRows(
      counted(context, count),
      context.dialect,
      context.path,
    )) {
      const cells = new CellReader(context.dialect.quote);
      first ??= Array.from({ length: scanner.rowCells[1] ?? 0 }, (_, cell) =>
        cells.string(bytes, scanner, cell),
      );
      const row = scanner.rowCount - 1;
      last = {
        start: offset + (scanner.rowStarts[row] ?? 0),
        end: offset + (scanner.rowStarts[row + 1] ?? 0),
        cells: (scanner.rowCells[row + 1] ?? 0) - (scanner.rowCells[row] ?? 0),
      };
    }
  } catch (error) {
    if (!(error instanceof ConnectorError) || error.kind !== 'data') throw error;
    torn = true;
  }
  const lineEndMissing = last.end > count.bytes;
  const short = lineEndMissing && last.cells < (first?.length ?? 0);
  return {
    first: first?.map(withoutMark),
    wholeBytes: short ? last.start : last.end,
    torn: torn || short,
    lineEndMissing,
  };
}

function withoutMark(name: string, index: number): string {
  return index === 0 && name.startsWith('\uFEFF') ? name.slice(1) : name;
}

/**
 * The reader adds a missing line end at the end of the file; counting the bytes shows whether it
 * did.
 */
async function* counted(
  context: ContinueContext,
  count: { bytes: number },
): AsyncGenerator<Uint8Array> {
  for await (const block of readBlocks(context)) {
    count.bytes += block.length;
    yield block;
  }
}

async function keepStart(context: ContinueContext, length: number): Promise<void> {
  const { path, codec } = context;
  if (codec === 'none') {
    await onDisk('repair', path, () => truncate(path, length));
    return;
  }
  const temporary = temporaryPath(path);
  const output = await AppendingFile.open({ path: temporary, codec, truncate: true });
  try {
    for await (const block of firstBytes(context, length)) await output.write(block);
    await output.flush();
    await onDisk('repair', path, () => rename(temporary, path));
  } finally {
    await output.close();
    await rm(temporary, { force: true });
  }
}

async function* firstBytes(context: ContinueContext, length: number): AsyncGenerator<Uint8Array> {
  let left = length;
  if (left === 0) return;
  for await (const block of readBlocks(context)) {
    yield block.subarray(0, left);
    left -= block.length;
    if (left <= 0) return;
  }
}

async function appendLineEnd({ path, codec }: ContinueContext): Promise<void> {
  const file = await AppendingFile.open({ path, codec, truncate: false });
  try {
    await file.write(Buffer.from('\n'));
    await file.flush();
  } finally {
    await file.close();
  }
}
