/** Changes as records: `{op, schema, table, lsn, ts_ms, before, after}`. */
import { mapFields, type RecordField, type RecordSchema } from '../../../kit/record-schema.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import { hasField, setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { isOwnTable } from '../../_cdc/own-tables.ts';
import type { Decoder } from '../../_postgres/decode.ts';
import { formatLsn } from './lsn.ts';
import type { Message, OldTuple, Relation, SentValue } from './messages.ts';

/** Names of the columns of an image whose large values did not change, and were not logged. */
const UNCHANGED = '__unchanged_toast__';

export const CHANGE_SCHEMA: RecordSchema = Object.freeze<RecordSchema>({
  fields: [
    { name: 'op', type: { kind: 'utf8' }, nullable: false },
    { name: 'schema', type: { kind: 'utf8' }, nullable: false },
    { name: 'table', type: { kind: 'utf8' }, nullable: false },
    { name: 'lsn', type: { kind: 'utf8' }, nullable: false },
    { name: 'ts_ms', type: { kind: 'int64' }, nullable: false },
    { name: 'before', type: { kind: 'json' }, nullable: true },
    { name: 'after', type: { kind: 'json' }, nullable: true },
  ],
});

/** Bytes of the names and punctuation of a record, besides those of its table. */
const ENVELOPE_BYTES = 110;

interface Table {
  readonly relation: Relation;
  readonly decoders: readonly Decoder[];
  /** Of changes of this table, as it is described now. */
  readonly changes: RecordSchema;
  /** Bytes that a record has besides its values. */
  readonly frame: number;
  readonly isOwn: boolean;
}

type Change = Extract<Message, { kind: 'change' }>;

export class ChangeRecords {
  readonly #tables = new Map<number, Table>();
  /** Tables of which an image lacked values. */
  readonly #lacking = new Set<string>();
  readonly #log: Log;
  #lsn = '';
  #timeMs = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  begin(commit: bigint, timeMs: number): void {
    this.#lsn = formatLsn(commit);
    this.#timeMs = timeMs;
  }

  /** The server describes a table before its first change, and when it was changed. */
  learn(relation: Relation, decoders: readonly Decoder[], fields: readonly RecordField[]): void {
    const before = this.#tables.get(relation.id)?.relation;
    const { id, schema, table, columns } = relation;
    if (before !== undefined && shapeOf(before) !== shapeOf(relation))
      this.#log.warn('a table was changed', {
        table: `${schema}.${table}`,
        columns: columns.map(({ name }) => name).join(', '),
      });
    const isOwn = isOwnTable(table);
    if (isOwn && before === undefined)
      this.#log.info('changes of a table that holds positions of runs are left out', {
        table: `${schema}.${table}`,
      });
    const names = columns.reduce((sum, { name }) => sum + name.length + 4, 0);
    const frame = ENVELOPE_BYTES + schema.length + table.length + names;
    const changes = mapFields(CHANGE_SCHEMA, (field) =>
      field.type.kind === 'json' ? { ...field, inside: fields } : field,
    );
    this.#tables.set(id, { relation, decoders, changes, frame, isOwn });
  }

  /** Whether changes of the table are none of the records. */
  isOwn(id: number): boolean {
    return this.#table(id).isOwn;
  }

  frameOf(id: number): number {
    return this.#table(id).frame;
  }

  /** What is known of the fields of a change. */
  schemaOf(id: number): RecordSchema {
    return this.#table(id).changes;
  }

  record({ op, relation: id, old, values }: Change): JsonObject {
    const table = this.#table(id);
    const { schema, table: name } = table.relation;
    const after = values === undefined ? null : image(table, values, old);
    if (after !== null && hasField(after, UNCHANGED)) this.#tellLacking(`${schema}.${name}`);
    return {
      op,
      schema,
      table: name,
      lsn: this.#lsn,
      ts_ms: this.#timeMs,
      before: old === undefined ? null : oldImage(table, old),
      after,
    };
  }

  truncated(id: number): JsonObject {
    const { schema, table } = this.#table(id).relation;
    const [lsn, time] = [this.#lsn, this.#timeMs];
    return { op: 'truncate', schema, table, lsn, ts_ms: time, before: null, after: null };
  }

  /** An upsert leaves alone what it lacks, and a document that is replaced loses it. */
  #tellLacking(table: string): void {
    if (this.#lacking.has(table)) return;
    this.#lacking.add(table);
    this.#log.info('large values that updates did not change are not in the log', {
      table,
      hint: 'ALTER TABLE … REPLICA IDENTITY FULL where the sink replaces whole documents',
    });
  }

  #table(id: number): Table {
    const table = this.#tables.get(id);
    if (table !== undefined) return table;
    throw new ConnectorError('data', 'the server sends a change of a table it did not describe');
  }
}

function shapeOf({ schema, table, columns }: Relation): string {
  return JSON.stringify([schema, table, columns.map(({ name, oid }) => [name, oid])]);
}

/** An image lacks values that did not change and are stored elsewhere, unless the old ones are logged. */
function image(
  { relation, decoders }: Table,
  values: readonly SentValue[],
  old: OldTuple | undefined,
): JsonObject {
  const { columns } = relation;
  const found: JsonObject = {};
  let unchanged: string[] | undefined;
  for (let index = 0; index < values.length; index += 1) {
    const { name, isKey } = columns[index] ?? lacking();
    const kept = old?.isWhole === true || isKey ? old?.values[index] : undefined;
    const text = values[index] === undefined ? kept : values[index];
    if (text === undefined) (unchanged ??= []).push(name);
    else setField(found, name, decoded(text, decoders[index]));
  }
  if (unchanged !== undefined) setField(found, UNCHANGED, unchanged);
  return found;
}

/** What identifies a record, where the log holds no more of it. */
function oldImage(table: Table, { values, isWhole }: OldTuple): JsonObject {
  if (isWhole) return image(table, values, undefined);
  const { relation, decoders } = table;
  const found: JsonObject = {};
  for (const [index, { name, isKey }] of relation.columns.entries())
    if (isKey) setField(found, name, decoded(values[index] ?? null, decoders[index]));
  return found;
}

function decoded(text: string | null, decode: Decoder | undefined): JsonValue {
  return text === null || decode === undefined ? text : decode(text);
}

function lacking(): never {
  throw new ConnectorError('data', 'the server sends more values than the table has columns');
}
