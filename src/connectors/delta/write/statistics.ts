/** Bounds and counts of nulls of one data file, by which readers pass over files. */
import { stringifyJson, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { dateText, timestampText } from '../../../lib/time/iso-text.ts';
import { decimalText } from '../../_files/parquet/exact-values.ts';
import {
  ColumnBounds,
  type BoundColumn,
  type Comparable,
  type Comparison,
} from '../../_lake/column-bounds.ts';
import type { DeltaField, DeltaType } from '../schema/delta-types.ts';

/** Readers expect statistics of so many columns at the beginning of the schema. */
const COLUMNS = 32;
const TEXT_CHARS = 32;
/** Behind every text that begins like a bound. */
const LAST_CHARACTER = '\u{10FFFF}';
const NANOS_OF_MILLI = 1_000_000n;
/** A double holds so many digits of a decimal. */
const DOUBLE_DIGITS = 15;

interface Leaf extends BoundColumn {
  readonly type: DeltaType;
}

export class FileStatistics {
  readonly #bounds: ColumnBounds<Leaf>;

  constructor(fields: readonly DeltaField[]) {
    this.#bounds = new ColumnBounds(leavesOf(fields, []).slice(0, COLUMNS));
  }

  add(records: readonly JsonObject[]): void {
    this.#bounds.add(records);
  }

  /** As the log has it. */
  text(): string {
    const leaves = this.#bounds.columns();
    const bound = (side: 'min' | 'max') =>
      leaves.map(({ column, [side]: value }) => ({
        path: column.path,
        value: value === undefined ? undefined : boundOf(value, column.type, side),
      }));
    return stringifyJson({
      numRecords: this.#bounds.records,
      minValues: tree(bound('min')),
      maxValues: tree(bound('max')),
      nullCount: tree(leaves.map(({ column, nulls }) => ({ path: column.path, value: nulls }))),
    });
  }
}

function leavesOf(fields: readonly DeltaField[], above: readonly string[]): Leaf[] {
  return fields.flatMap(({ name, type }): Leaf[] => {
    const path = [...above, name];
    if (type.is === 'struct') return leavesOf(type.fields, path);
    return [{ path, type, comparison: comparisonOf(type) }];
  });
}

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  long: { as: 'number' },
  integer: { as: 'number' },
  short: { as: 'number' },
  byte: { as: 'number' },
  float: { as: 'number' },
  double: { as: 'number' },
  string: { as: 'text' },
  date: { as: 'day' },
  timestamp: { as: 'moment' },
  timestamp_ntz: { as: 'moment' },
};

function comparisonOf(type: DeltaType): Comparison | undefined {
  if (type.is === 'decimal') return { as: 'decimal', scale: type.scale };
  return type.is === 'primitive' ? COMPARISONS[type.name] : undefined;
}

function boundOf(value: Comparable, type: DeltaType, side: 'min' | 'max'): JsonValue | undefined {
  if (type.is === 'decimal') {
    const text = decimalText(value as bigint, type.scale);
    return text.replaceAll(/[-.]/g, '').length <= DOUBLE_DIGITS ? Number(text) : undefined;
  }
  if (typeof value === 'string') return shortened(value, side);
  const { name } = type as Extract<DeltaType, { is: 'primitive' }>;
  if (name === 'date') return dateText(Number(value));
  return typeof value === 'bigint' && name.startsWith('timestamp')
    ? moment(value, name, side)
    : value;
}

/** Readers compare milliseconds: what is below them makes a bound wider. */
function moment(nanos: bigint, name: string, side: 'min' | 'max'): string {
  const below = ((nanos % NANOS_OF_MILLI) + NANOS_OF_MILLI) % NANOS_OF_MILLI;
  const up = side === 'max' && below > 0n ? NANOS_OF_MILLI : 0n;
  return timestampText(nanos - below + up, name === 'timestamp');
}

function shortened(text: string, side: 'min' | 'max'): string {
  const characters = text.length > TEXT_CHARS ? Array.from(text) : [];
  if (characters.length <= TEXT_CHARS) return text;
  return characters.slice(0, TEXT_CHARS).join('') + (side === 'max' ? LAST_CHARACTER : '');
}

/** Values at their places in nested objects. */
function tree(
  leaves: readonly { readonly path: readonly string[]; readonly value: JsonValue | undefined }[],
): JsonObject {
  const out: JsonObject = {};
  for (const { path, value } of leaves) {
    if (value === undefined) continue;
    let at = out;
    for (const name of path.slice(0, -1)) at = (at[name] ??= {}) as JsonObject;
    at[path.at(-1) ?? ''] = value;
  }
  return out;
}
