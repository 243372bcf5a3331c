/**
 * Masking of columns without lists and objects: every scalar is replaced by a text made of its
 * text.
 */
import { ColumnBuilder, readText } from '../../kit/cells.ts';
import { ESCAPED, NULL, TEXT, type Column, type Columns } from '../../kit/columns.ts';
import { MOST_TEXT_BYTES, ROOM_BEHIND } from '../../fast/sha256/short-digests.ts';
import type { DigestSpelling } from './masking-actions.ts';

export interface MaskedTexts {
  readonly column: Column;
  /** Cells that are neither missing nor null. */
  readonly changed: number;
}

type Hide = (text: string) => string;

// oxlint-disable-next-line max-params
export function maskTexts(
  columns: Columns,
  column: Column,
  hide: Hide,
  spelling: DigestSpelling | undefined,
): MaskedTexts {
  return spelling === undefined
    ? hideTexts(columns, column, hide)
    : digestTexts(columns, column, hide, spelling);
}

function hideTexts(columns: Columns, column: Column, hide: Hide): MaskedTexts {
  const { rows, cells } = columns;
  const { starts, ends, kinds } = column;
  const builder = new ColumnBuilder(columns);
  let changed = 0;
  for (let index = 0; index < rows.length; index += 1) {
    const row = rows[index] as number;
    const kind = kinds[row] as number;
    if (kind <= NULL) builder.copy(row, column);
    else {
      builder.set(
        row,
        hide(readText(cells.bytes, starts[row] as number, ends[row] as number, kind)),
      );
      changed += 1;
    }
  }
  return { column: builder, changed };
}

/** Short texts are digested where they stand, and the digits are written where they will stand. */
// oxlint-disable-next-line max-params
function digestTexts(
  columns: Columns,
  column: Column,
  hide: Hide,
  { prefix, digits, digests: digestsOf }: DigestSpelling,
): MaskedTexts {
  const { rows, cells } = columns;
  const { starts, ends, kinds } = column;
  const builder = new ColumnBuilder(columns);
  const size = prefix.length + digits;
  // All of it at once: the bytes must not move while digests wait.
  cells.ensure(rows.length * size + ROOM_BEHIND);
  const { bytes } = cells;
  const digests = digestsOf();
  digests?.begin(bytes);
  let changed = 0;
  for (let index = 0; index < rows.length; index += 1) {
    const row = rows[index] as number;
    const kind = kinds[row] as number;
    if (kind <= NULL) {
      builder.copy(row, column);
      continue;
    }
    const start = starts[row] as number;
    const end = ends[row] as number;
    changed += 1;
    if (digests === undefined || kind === ESCAPED || end - start > MOST_TEXT_BYTES) {
      builder.setPlain(row, hide(readText(bytes, start, end, kind)));
      continue;
    }
    const to = cells.length;
    for (let at = 0; at < prefix.length; at += 1) bytes[to + at] = prefix[at] as number;
    digests.add(start, end, to + prefix.length);
    cells.length = to + size;
    builder.mark(row, to, TEXT);
  }
  digests?.flush();
  return { column: builder, changed };
}
