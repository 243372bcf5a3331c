import { ConnectorError } from '../../../lib/errors.ts';
import type { ColumnKind } from '../typed/column-kinds.ts';

/** DuckDB counts the levels of a value in a byte, and reads no file that has more. */
const MOST_LEVELS = 255;

/** A file that hardly anybody can read is none. */
export function requireReadableDepth(columns: ReadonlyMap<string, ColumnKind>): void {
  for (const [name, kind] of columns) {
    const levels = levelsOf(kind);
    if (levels <= MOST_LEVELS) continue;
    throw new ConnectorError(
      'data',
      `the field ${JSON.stringify(name)} is nested ${levels} levels deep, and readers of Parquet take at most ${MOST_LEVELS}`,
      { hint: 'leave the field out, or flatten it with a transform before it is written' },
    );
  }
}

/** Each object counts one level, each list and map two, and the value inside of them one. */
function levelsOf(kind: ColumnKind): number {
  switch (kind.is) {
    case 'list':
      return 2 + levelsOf(kind.of);
    case 'map':
      return 2 + Math.max(levelsOf(kind.key), levelsOf(kind.value));
    case 'struct':
      return 1 + Math.max(0, ...[...kind.fields.values()].map(levelsOf));
    default:
      return 1;
  }
}
