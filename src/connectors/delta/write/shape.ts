/** With which columns files are written: those of the table, and those that records bring. */
import { ConnectorError } from '../../../lib/errors.ts';
import type { ColumnKind } from '../../_files/typed/column-kinds.ts';
import type { Snapshot } from '../log/snapshot.ts';
import { deltaText, type DeltaField } from '../schema/delta-types.ts';
import { canPartition } from '../schema/partition-values.ts';
import { missingFields, newField, storedKind } from '../schema/table-columns.ts';
import { noTable } from '../read/source.ts';
import type { TableShape } from './data-files.ts';

/** Not there, or made without columns to hold the mark of an execution. */
export function isBlank(snapshot: Snapshot | undefined): boolean {
  return snapshot === undefined || snapshot.schema.fields.length === 0;
}

/** Of a table that is made before there is a record. */
export const BLANK: TableShape = { fields: [], kinds: new Map(), partitionBy: [] };

interface ShapeOptions {
  /** For messages. */
  readonly table: string;
  readonly creates: boolean;
  readonly merges: boolean;
  readonly partitionBy: readonly string[];
  /** The columns of files that are written already and not committed. */
  readonly earlier?: readonly DeltaField[] | undefined;
}

export function shapeOf(
  snapshot: Snapshot | undefined,
  learned: ReadonlyMap<string, ColumnKind>,
  options: ShapeOptions,
): TableShape {
  const { table, creates, merges, partitionBy, earlier } = options;
  if (snapshot === undefined && !creates) throw noTable(table);
  const there = isBlank(snapshot) ? undefined : snapshot;
  const known = earlier ?? there?.schema.fields;
  // A field that was only null so far may become a column of any type later.
  const candidates = [...learned].filter(
    ([, kind]) => known === undefined || kind.is !== 'unknown',
  );
  const schema = known === undefined ? undefined : { is: 'struct' as const, fields: known };
  const brought =
    known === undefined || merges ? missingFields(schema, candidates.map(newField)) : [];
  const fields = [...(known ?? []), ...brought];
  const columns = there?.metadata.partitionColumns ?? partitionBy;
  if (there === undefined) requirePartitions(fields, partitionBy);
  else if (partitionBy.length > 0 && partitionBy.join('\n') !== columns.join('\n'))
    throw new ConnectorError('refused', `the table ${table} is partitioned by ${listed(columns)}`, {
      hint: 'remove `partition_by`, or make it the same; tables are partitioned when they are made',
    });
  const kinds = new Map(
    fields.map(({ name, type }) => [name, storedKind(type, learned.get(name))]),
  );
  return { fields, kinds, partitionBy: columns };
}

function requirePartitions(fields: readonly DeltaField[], names: readonly string[]): void {
  for (const name of names) {
    const field = fields.find((one) => one.name === name);
    if (field === undefined)
      throw refused(`\`partition_by\` names ${JSON.stringify(name)}, which no record has`);
    if (!canPartition(field.type))
      throw refused(
        `a table cannot be partitioned by ${JSON.stringify(name)}, which is ${deltaText(field.type)}`,
      );
  }
  if (names.length > 0 && names.length === fields.length)
    throw refused('a table cannot be partitioned by all of its columns');
}

function refused(message: string): ConnectorError {
  return new ConnectorError('data', message, { hint: 'name other fields in `partition_by`' });
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.map((name) => JSON.stringify(name)).join(', ');
}
