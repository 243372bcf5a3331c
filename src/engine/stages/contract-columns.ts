/** The contract over columns: the same checks, field by field, and plain texts are measured where they stand. */
import type { ContractConfig, ContractField } from '../../document/blocks/contract.ts';
import { hasCharacters, readCell } from '../../kit/cells.ts';
import { MISSING, TEXT, type Column, type Columns } from '../../kit/columns.ts';
import type { JsonValue } from '../../lib/json.ts';
import { compileField, extraField, type Breach } from './contract-breach.ts';

/** Puts down the first breach of every record by its position; records that keep the contract are not among them. */
export type ColumnContract = (columns: Columns) => Map<number, Breach>;

export function compileColumnContract(config: ContractConfig): ColumnContract {
  const checks = config.fields.map(compileCells);
  const listed = new Set(config.fields.map(({ name }) => name));
  return (columns) => {
    const found = new Map<number, Breach>();
    for (const { name, ofCell, missing } of checks) {
      const column = columns.column(name);
      if (column !== undefined) collect(columns, found, (row) => ofCell(columns.cells.bytes, column, row));
      else if (missing !== undefined) collect(columns, found, () => missing);
    }
    if (!config.allow_extra_fields) {
      for (const [index, name] of columns.names.entries()) {
        const { kinds } = columns.columns[index] as Column;
        const extra = extraField(name);
        if (!listed.has(name)) collect(columns, found, (row) => (kinds[row] === MISSING ? undefined : extra));
      }
    }
    return new Map([...found].sort(([a], [b]) => a - b));
  };
}

function collect({ rows }: Columns, found: Map<number, Breach>, breachOf: (row: number) => Breach | undefined): void {
  for (let position = 0; position < rows.length; position += 1) {
    const breach = breachOf(rows[position] as number);
    if (breach !== undefined && !found.has(position)) found.set(position, breach);
  }
}

interface CellsCheck {
  readonly name: string;
  /** For records that do not have the field. */
  readonly missing: Breach | undefined;
  readonly ofCell: (bytes: Buffer, column: Column, row: number) => Breach | undefined;
}

function compileCells(field: ContractField): CellsCheck {
  const { name, required, missing, check } = compileField(field);
  const absent = required ? missing : undefined;
  const keepsPlainText = plainTextCheck(field);
  return {
    name,
    missing: absent,
    ofCell(bytes, { starts, ends, kinds }, row) {
      const kind = kinds[row] as number;
      const start = starts[row] as number;
      const end = ends[row] as number;
      if (kind === TEXT && keepsPlainText?.(bytes, start, end) === true) return undefined;
      return kind === MISSING ? absent : check(readCell(bytes, start, end, kind) as JsonValue);
    },
  };
}

/** Tells plain texts that surely keep the promise; absent when only their value tells. */
function plainTextCheck(field: ContractField): ((bytes: Uint8Array, start: number, end: number) => boolean) | undefined {
  if (field.type !== 'string' || field.enum !== undefined || field.pattern !== undefined) return undefined;
  const { min_length: min = 0, max_length: max = Infinity } = field;
  return (bytes, start, end) => hasCharacters(bytes, start, end, { min, max });
}
