/**
 * The contract over columns: the same checks, field by field, and plain texts are measured where
 * they stand.
 */
import type { ContractConfig, ContractField } from '../../blocks/contract/schema.ts';
import { hasCharacters, readCell } from '../../kit/cells.ts';
import {
  ESCAPED,
  FALSE,
  MISSING,
  NULL,
  NUMBER,
  TEXT,
  TRUE,
  type Column,
  type Columns,
} from '../../kit/columns.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { compileField, extraField, type Breach } from './contract-breach.ts';

/**
 * Puts down the first breach of every record by its position; records that keep the contract are
 * not among them.
 */
export type ColumnContract = (columns: Columns) => Map<number, Breach>;

export function compileColumnContract(config: ContractConfig): ColumnContract {
  const checks = config.fields.map(compileCells);
  const listed = new Set(config.fields.map(({ name }) => name));
  return (columns) => {
    const found = new Map<number, Breach>();
    for (const check of checks) check(columns, found);
    if (!config.allow_extra_fields)
      for (const name of columns.names) if (!listed.has(name)) findExtra(columns, name, found);
    return found.size === 0 ? found : new Map([...found].sort(([a], [b]) => a - b));
  };
}

/** Adds the breaches of one field, where a record has none yet. */
type CellsCheck = (columns: Columns, found: Map<number, Breach>) => void;

function compileCells(field: ContractField): CellsCheck {
  const { name, required, missing, check } = compileField(field);
  const plain = plainLengths(field);
  const isSure = sureKinds(field);
  const ofCell = (
    bytes: Buffer,
    { starts, ends, kinds }: Column,
    row: number,
  ): Breach | undefined => {
    const kind = kinds[row] ?? MISSING;
    if (kind === MISSING) return required ? missing : undefined;
    return check(readCell(bytes, starts[row] as number, ends[row] as number, kind) as JsonValue);
  };
  return (columns, found) => {
    const { rows } = columns;
    const { bytes } = columns.cells;
    const column = columns.column(name) ?? ABSENT;
    const { starts, ends, kinds } = column;
    for (let position = 0; position < rows.length; position += 1) {
      const row = rows[position] as number;
      const kind = kinds[row] ?? MISSING;
      if (isSure[kind] === 1) continue;
      if (
        plain !== undefined &&
        kind === TEXT &&
        hasCharacters(bytes, starts[row] as number, ends[row] as number, plain)
      )
        continue;
      const breach = ofCell(bytes, column, row);
      if (breach !== undefined && !found.has(position)) found.set(position, breach);
    }
  };
}

/** 1 for every kind of cell that keeps the promise whatever its value. */
function sureKinds(field: ContractField): Uint8Array {
  const {
    type,
    required,
    nullable,
    enum: values,
    pattern,
    min,
    max,
    min_length: shortest,
    max_length: longest,
  } = field;
  const isFree = [values, pattern, min, max, shortest, longest].every(
    (constraint) => constraint === undefined,
  );
  const sure = new Uint8Array(ESCAPED + 1);
  for (const kind of isFree ? KINDS_OF[type] : []) sure[kind] = 1;
  if (nullable) sure[NULL] = 1;
  if (!required) sure[MISSING] = 1;
  return sure;
}

/** What surely has the type: an integer is known by its value, and so is what is nested. */
const KINDS_OF: Readonly<Record<ContractField['type'], readonly number[]>> = {
  string: [TEXT, ESCAPED],
  number: [NUMBER],
  boolean: [FALSE, TRUE],
  integer: [],
  object: [],
  array: [],
};

/** No row of it has a cell. */
const ABSENT: Column = {
  starts: new Uint32Array(),
  ends: new Uint32Array(),
  kinds: new Uint8Array(),
};

/**
 * For fields of which a plain text needs nothing but a length; absent when its value has to be
 * looked at.
 */
function plainLengths(
  field: ContractField,
): { readonly min: number; readonly max: number } | undefined {
  if (field.type !== 'string' || field.enum !== undefined || field.pattern !== undefined)
    return undefined;
  return { min: field.min_length ?? 0, max: field.max_length ?? Infinity };
}

function findExtra(
  { rows, columns, names }: Columns,
  name: string,
  found: Map<number, Breach>,
): void {
  const { kinds } = columns[names.indexOf(name)] ?? ABSENT;
  const extra = extraField(name);
  for (let position = 0; position < rows.length; position += 1) {
    if (kinds[rows[position] as number] !== MISSING && !found.has(position))
      found.set(position, extra);
  }
}
