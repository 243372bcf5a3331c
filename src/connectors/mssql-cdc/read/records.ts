/** Changes as records: `{op, schema, table, lsn, seqval, before, after}`. */
import { mapFields, type RecordSchema } from '../../../kit/record-schema.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { setField, type JsonObject } from '../../../lib/text/json.ts';
import type { Cell, ResultColumn } from '../../_mssql/result-types.ts';
import type { Instance } from '../server.ts';
import { lsnOf, type Lsn } from './lsn.ts';

export const CHANGE_SCHEMA: RecordSchema = Object.freeze<RecordSchema>({
  fields: [
    { name: 'op', type: { kind: 'utf8' }, nullable: false },
    { name: 'schema', type: { kind: 'utf8' }, nullable: false },
    { name: 'table', type: { kind: 'utf8' }, nullable: false },
    { name: 'lsn', type: { kind: 'utf8' }, nullable: false },
    { name: 'seqval', type: { kind: 'utf8' }, nullable: false },
    { name: 'before', type: { kind: 'json' }, nullable: true },
    { name: 'after', type: { kind: 'json' }, nullable: true },
  ],
});

/** Names of the columns of an image whose large values did not change, and were not captured. */
const UNCHANGED = '__unchanged_lob__';

/** Values of `__$operation`; 3 is the row before an update, which is not asked for. */
const OPS: Readonly<Record<number, 'd' | 'i' | 'u'>> = { 1: 'd', 2: 'i', 4: 'u' };

/** The columns that describe a change, before those of its table. */
const HEAD = ['__$start_lsn', '__$seqval', '__$operation', '__$update_mask'] as const;

/** A row of a change function. */
export interface Change {
  /** Of the transaction. */
  readonly lsn: Lsn;
  /** Of the change in it. */
  readonly seqval: Lsn;
  readonly operation: number;
  readonly cells: readonly Cell[];
}

export function changeOf(cells: readonly Cell[]): Change {
  const [lsn, seqval] = [lsnOf(cells[0]), lsnOf(cells[1])];
  const operation = Number(cells[2]);
  if (lsn === undefined || seqval === undefined || !(operation >= 1 && operation <= 4))
    throw new ConnectorError('data', 'the server gives a change without its place or its kind');
  return { lsn, seqval, operation, cells };
}

/** Changes of a transaction are in the order in which they were made, whatever their tables. */
export function isBefore(one: Change, other: Change): boolean {
  if (one.lsn !== other.lsn) return one.lsn < other.lsn;
  if (one.seqval !== other.seqval) return one.seqval < other.seqval;
  return one.operation < other.operation;
}

interface CapturedColumn {
  readonly name: string;
  /** Its place in the result, and its bit in the mask. */
  readonly at: number;
  readonly bit: number;
  /** Its value may be missing from the row after an update that did not change it. */
  readonly isLarge: boolean;
}

/** Makes records of the rows of one result. */
export class ChangeRecords {
  readonly schema: RecordSchema;
  readonly #instance: Instance;
  readonly #columns: readonly CapturedColumn[];

  constructor(instance: Instance, columns: readonly ResultColumn[]) {
    const isHeaded = HEAD.every((name, at) => columns[at]?.name === name);
    if (!isHeaded)
      throw new ConnectorError('data', 'the change function gives other columns than documented');
    this.#instance = instance;
    // Versions of the server differ in further columns of their own.
    const captured = columns
      .map((column, at) => ({ column, at }))
      .filter(({ column }) => !column.name.startsWith('__$'));
    this.#columns = captured.map(({ column: { name, field }, at }, bit) => ({
      name,
      at,
      bit,
      isLarge: /\(max\)$|^xml$/.test(field.native?.name ?? ''),
    }));
    const inside = captured.map(({ column }) => ({ ...column.field, nullable: true }));
    this.schema = mapFields(CHANGE_SCHEMA, (field) =>
      field.type.kind === 'json' ? { ...field, inside } : field,
    );
  }

  /** `undefined` for the row before an update. */
  record({ lsn, seqval, operation, cells }: Change): JsonObject | undefined {
    const op = OPS[operation];
    if (op === undefined) return undefined;
    const row = this.#image(cells, op === 'u');
    return {
      op,
      schema: this.#instance.schema,
      table: this.#instance.table,
      lsn,
      seqval,
      before: op === 'd' ? row : null,
      after: op === 'd' ? null : row,
    };
  }

  #image(cells: readonly Cell[], isUpdate: boolean): JsonObject {
    const mask = isUpdate ? Buffer.from(String(cells[3] ?? ''), 'base64') : undefined;
    const image: JsonObject = {};
    const unchanged: string[] = [];
    for (const { name, at, bit, isLarge } of this.#columns) {
      const value = cells[at] ?? null;
      if (isLarge && value === null && mask !== undefined && !isSet(mask, bit))
        unchanged.push(name);
      else setField(image, name, value);
    }
    if (unchanged.length > 0) setField(image, UNCHANGED, unchanged);
    return image;
  }
}

/** The last byte of a mask has the first columns. A mask that is too short says nothing. */
function isSet(mask: Buffer, bit: number): boolean {
  const byte = mask[mask.length - 1 - Math.floor(bit / 8)];
  return byte === undefined || (byte & (1 << (bit % 8))) !== 0;
}
