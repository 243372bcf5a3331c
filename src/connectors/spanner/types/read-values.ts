/** Values of a result as values of records. */
import { ConnectorError } from '../../../lib/errors.ts';
import { shortestFloat } from '../../../lib/text/shortest-float.ts';
import { setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { document, float, wholeNumber } from '../../_google/cells.ts';
import { refuseEqualNames } from '../../_sql/equal-names.ts';
import { CODES, type StructField, type ValueType } from '../api.ts';
import type { Cell } from '../cells.ts';
import { fieldsOf } from './fields.ts';

type Read = (cell: Cell) => JsonValue;

export function rowReader(fields: readonly StructField[]): (row: readonly Cell[]) => JsonObject {
  refuseEqualNames(fields.map(({ name }) => name));
  const readers = fields.map(({ name, type }) => ({ name, read: readerOf(type) }));
  return (row) => {
    if (row.length !== readers.length)
      throw new ConnectorError('data', 'a row of the result does not have the columns of it');
    const record: JsonObject = {};
    for (const [at, { name, read }] of readers.entries())
      setField(record, name, orNull(row[at] ?? null, read));
    return record;
  };
}

function orNull(cell: Cell, read: Read): JsonValue {
  return cell === null ? null : read(cell);
}

function readerOf({ code, item, struct }: ValueType = { code: 0 }): Read {
  switch (code) {
    case CODES.INT64:
    case CODES.ENUM:
      return (cell) => wholeNumber(cell as string);
    case CODES.FLOAT64:
      return (cell) => float(cell as number | string);
    case CODES.FLOAT32:
      return (cell) => (typeof cell === 'number' ? shortestFloat(cell) : (cell as string));
    case CODES.JSON:
      return (cell) => document(cell as string);
    case CODES.ARRAY: {
      const read = readerOf(item);
      return (cell) => listOf(cell).map((one) => orNull(one, read));
    }
    case CODES.STRUCT: {
      const read = rowReader(fieldsOf(struct));
      return (cell) => read(listOf(cell));
    }
    default:
      return (cell) => cell as string | boolean;
  }
}

function listOf(cell: Cell): readonly Cell[] {
  if (Array.isArray(cell)) return cell as readonly Cell[];
  throw new ConnectorError('data', 'a list of the result is none');
}
