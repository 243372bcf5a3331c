/** The rows of an event: what changed in one table. */
import type { JsonObject } from '../../../lib/text/json.ts';
import { setField } from '../../../lib/text/json.ts';
import { ByteReader } from './byte-reader.ts';
import { inflated } from './compressed.ts';
import type { ValueReader } from './column-values.ts';
import type { RowsKind } from './events.ts';

export interface RowColumns {
  readonly names: readonly string[];
  readonly readers: readonly ValueReader[];
}

export interface RowChange {
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
  /** Bytes in the log. */
  readonly size: number;
}

/** Throws a `PartialRow` where the event does not hold all columns of its rows. */
export function* readRows(
  body: Buffer,
  { operation, version, isCompressed }: RowsKind,
  columns: RowColumns,
): Generator<RowChange, void> {
  const head = new ByteReader(body);
  // The number of the table, and flags.
  head.skip(8);
  if (version === 2) {
    const extra = head.uint(2);
    head.skip(extra - 2);
  }
  const count = head.length();
  const images = operation === 'update' ? 2 : 1;
  for (let image = 0; image < images; image += 1)
    if (!hasAll(head.take((count + 7) >> 3), count)) throw new PartialRow();
  if (count !== columns.readers.length)
    throw new RangeError(
      `a row has ${count} values, and the table ${columns.readers.length} columns`,
    );
  const from = isCompressed ? new ByteReader(inflated(head.rest())) : head;
  while (from.left > 0) {
    const start = from.at;
    const before = operation === 'insert' ? null : readImage(from, columns);
    const after = operation === 'delete' ? null : readImage(from, columns);
    yield { before, after, size: from.at - start };
  }
}

/** The event lacks columns: the session that made the change logs less than whole rows. */
export class PartialRow extends Error {}

function hasAll(bits: Buffer, count: number): boolean {
  for (let index = 0; index < count; index += 1)
    if (((bits[index >> 3] ?? 0) & (1 << (index & 7))) === 0) return false;
  return true;
}

function readImage(from: ByteReader, { names, readers }: RowColumns): JsonObject {
  const nulls = from.at;
  from.skip((readers.length + 7) >> 3);
  const image: JsonObject = {};
  for (let index = 0; index < readers.length; index += 1) {
    const isNull = ((from.bytes[nulls + (index >> 3)] ?? 0) & (1 << (index & 7))) !== 0;
    const read = readers[index] as ValueReader;
    setField(image, names[index] ?? '', isNull ? null : read(from));
  }
  return image;
}
