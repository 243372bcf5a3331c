/** Bounds and counts of nulls of one data file, by which readers pass over files. */
import {
  isObject,
  jsonText,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { exactField, literalValue } from '../../../lib/text/json-literal.ts';
import { daysOf, dateText, nanosOfTimestamp, timestampText } from '../../../lib/time/iso-text.ts';
import { decimalText, unscaledOf } from '../../_files/parquet/exact-values.ts';
import type { DeltaField, DeltaType } from '../schema/delta-types.ts';

/** Readers expect statistics of so many columns at the beginning of the schema. */
const COLUMNS = 32;
const TEXT_CHARS = 32;
/** Behind every text that begins like a bound. */
const LAST_CHARACTER = '\u{10FFFF}';
const NANOS_OF_MILLI = 1_000_000n;
/** A double holds so many digits of a decimal. */
const DOUBLE_DIGITS = 15;
const INTEGERS: ReadonlySet<string> = new Set(['long', 'integer', 'short', 'byte']);

type Comparable = number | bigint | string;

interface Leaf {
  readonly path: readonly string[];
  readonly type: DeltaType;
  nulls: number;
  min: Comparable | undefined;
  max: Comparable | undefined;
  /** False when a value was none that can be compared, such as NaN. */
  isBounded: boolean;
}

export class FileStatistics {
  #records = 0;
  readonly #leaves: readonly Leaf[];

  constructor(fields: readonly DeltaField[]) {
    this.#leaves = leavesOf(fields, []).slice(0, COLUMNS);
  }

  add(records: readonly JsonObject[]): void {
    this.#records += records.length;
    for (const leaf of this.#leaves)
      for (const record of records) takeValue(leaf, valueAt(record, leaf.path));
  }

  /** As the log has it. */
  text(): string {
    const bounded = this.#leaves.filter((leaf) => leaf.isBounded && leaf.min !== undefined);
    return stringifyJson({
      numRecords: this.#records,
      minValues: tree(bounded, (leaf) => boundOf(leaf.min as Comparable, leaf.type, 'min')),
      maxValues: tree(bounded, (leaf) => boundOf(leaf.max as Comparable, leaf.type, 'max')),
      nullCount: tree(this.#leaves, (leaf) => leaf.nulls),
    });
  }
}

function leavesOf(fields: readonly DeltaField[], above: readonly string[]): Leaf[] {
  return fields.flatMap(({ name, type }): Leaf[] => {
    const path = [...above, name];
    if (type.is === 'struct') return leavesOf(type.fields, path);
    const isBounded = type.is === 'decimal' || (type.is === 'primitive' && hasBounds(type.name));
    return [{ path, type, nulls: 0, min: undefined, max: undefined, isBounded }];
  });
}

function hasBounds(name: string): boolean {
  return name !== 'boolean' && name !== 'binary';
}

function valueAt(record: JsonObject, path: readonly string[]): JsonValue {
  let value: JsonValue = record;
  for (const name of path) {
    if (!isObject(value)) return null;
    value = literalValue(exactField(value, name) ?? null);
  }
  return value;
}

function takeValue(leaf: Leaf, value: JsonValue): void {
  if (value === null || value === undefined) {
    leaf.nulls += 1;
    return;
  }
  if (!leaf.isBounded) return;
  const found = comparable(value, leaf.type);
  if (found === undefined) {
    leaf.isBounded = false;
    return;
  }
  if (leaf.min === undefined || isBelow(found, leaf.min)) leaf.min = found;
  if (leaf.max === undefined || isBelow(leaf.max, found)) leaf.max = found;
}

function comparable(value: JsonValue, type: DeltaType): Comparable | undefined {
  if (type.is === 'decimal')
    return unscaledOf(typeof value === 'string' ? value : jsonText(value), type.scale);
  if (type.is !== 'primitive') return undefined;
  if (INTEGERS.has(type.name) || type.name === 'float' || type.name === 'double')
    return typeof value === 'number' || typeof value === 'bigint' ? value : undefined;
  if (typeof value !== 'string') return undefined;
  if (type.name === 'date') return daysOf(value);
  return type.name === 'string' ? value : nanosOfTimestamp(value);
}

/** Texts by their code points, which is not how the language compares them. */
function isBelow(a: Comparable, b: Comparable): boolean {
  if (typeof a !== 'string' || typeof b !== 'string') return a < b;
  if (!SURROGATE.test(a) && !SURROGATE.test(b)) return a < b;
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
}

const SURROGATE = /[\uD800-\uDFFF]/;

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

/** The values of leaves at their places in nested objects. */
function tree(leaves: readonly Leaf[], valueOf: (leaf: Leaf) => JsonValue | undefined): JsonObject {
  const out: JsonObject = {};
  for (const leaf of leaves) {
    const value = valueOf(leaf);
    if (value === undefined) continue;
    let at = out;
    for (const name of leaf.path.slice(0, -1)) at = (at[name] ??= {}) as JsonObject;
    at[leaf.path.at(-1) ?? ''] = value;
  }
  return out;
}
