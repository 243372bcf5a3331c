import type { JsonObject } from '../../lib/text/json.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import { z } from 'zod';
import { copyCells } from '../../fast/fast-paths.ts';
import { batchSize, boolean, finding, integer, optional, text } from '../../kit/schema.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { ReadBack, SinkCapabilities } from '../../kit/sink.ts';
import { checkWriteFields, isKeyed, writeFields, type WriteFields } from '../../kit/write-spec.ts';
import type { OnRounding } from './rounding.ts';
import { columnMapping, type ColumnMapping } from './column-mapping.ts';

/** Config fields of every SQL sink. */
export function sqlSinkFields() {
  return {
    table_name: text().meta({ description: 'Table to write to.', examples: ['customers'] }),
    column_mapping: columnMapping(),
    batch_size: batchSize(),
    on_rounding: optional(z.enum(['warn', 'error'])).meta({
      description:
        'What to do with a value that its column does not hold exactly, such as 1.105 in `numeric(10,2)`: write it rounded, warn and count it in the receipt (`warn`), or fail the run (`error`).',
    }),
    create_table: boolean().default(true).meta({
      description:
        'Create the table when it does not exist: its columns are taken from the first page and may be null; the key of an upsert becomes the primary key.',
    }),
    ...writeFields(['append', 'upsert', 'delete', 'overwrite']),
  };
}

/** An hour: loading and replacing tables may take long. */
export function statementTimeout() {
  return integer({ min: 0, max: 2_000_000 }).default(3600).meta({
    description:
      'Seconds after which a server that does not answer is given up and the write fails; 0 waits forever.',
    advanced: true,
  });
}

export interface SqlSinkConfig extends WriteFields {
  readonly table_name: string;
  readonly column_mapping: ColumnMapping;
  readonly create_table: boolean;
  readonly on_rounding?: OnRounding | undefined;
}

/** The field that tells deletes is no column of a table that is made. */
export function withoutMarker(
  schema: RecordSchema | undefined,
  { delete_marker: marker }: SqlSinkConfig,
): RecordSchema | undefined {
  if (schema === undefined || marker === undefined) return schema;
  return { ...schema, fields: schema.fields.filter(({ name }) => name !== marker.field) };
}

/** Whether pages may be written without reading their records. */
export function takesBlocks({ write_mode, delete_marker }: SqlSinkConfig): boolean {
  return write_mode === 'append' || (write_mode === 'upsert' && delete_marker === undefined);
}

/** Whether pages of columns may be written without making records, by a command that loads rows. */
export function takesColumns({
  write_mode,
  write_method,
  column_mapping,
}: SqlSinkConfig & { readonly write_method: string }): boolean {
  return (
    copyCells.isOn() &&
    write_mode === 'append' &&
    write_method !== 'insert' &&
    column_mapping.kind === 'auto'
  );
}

/** Whether rows that no longer exist at the source can be found by their key. */
export function canSweep({ write_mode, column_mapping }: SqlSinkConfig): boolean {
  return write_mode === 'upsert' && column_mapping.kind === 'auto';
}

/**
 * The config of a source of the same database that reads the table of a sink; `connection` says
 * where the database is.
 */
export function readTable(
  {
    schema,
    table_name: table,
    column_mapping: mapping,
  }: Pick<SqlSinkConfig, 'table_name' | 'column_mapping'> & {
    readonly schema?: string | undefined;
  },
  connection: JsonObject,
  quote = quoteName,
): Omit<ReadBack, 'type'> {
  const from = schema === undefined ? quote(table) : `${quote(schema)}.${quote(table)}`;
  if (mapping.kind === 'auto') return { config: { ...connection, query: `SELECT * FROM ${from}` } };
  return {
    config: { ...connection, query: `SELECT ${quote(mapping.column)} FROM ${from}` },
    recordIn: mapping.column,
  };
}

type Findings = { addIssue(issue: ReturnType<typeof finding>): void };

export function checkSqlSink(config: SqlSinkConfig, ctx: Findings): void {
  checkWriteFields(config, ctx);
  if (isKeyed(config.write_mode) && config.column_mapping.kind !== 'auto') {
    ctx.addIssue(
      finding(
        'invalid_value',
        `\`write_mode: ${config.write_mode}\` needs \`column_mapping: auto_map\`, because a key must be a real column`,
        {
          path: ['column_mapping'],
          hint: 'write `column_mapping: auto_map`',
        },
      ),
    );
  }
}

/**
 * One page is one transaction, so a failed page leaves nothing; the token can be part of the same
 * transaction.
 */
export function sqlSinkCapabilities(config: SqlSinkConfig): SinkCapabilities {
  const auto = config.column_mapping.kind === 'auto';
  const overwrite = config.write_mode === 'overwrite';
  return {
    writeModes: auto ? ['append', 'upsert', 'delete', 'overwrite'] : ['append', 'overwrite'],
    writeMode: config.write_mode,
    key: isKeyed(config.write_mode) ? config.key : [],
    atomicity: 'atomic',
    perRow: auto,
    token: !overwrite,
    rollback: auto
      ? true
      : 'stores whole records, which have no column for the id of a run (`column_mapping`)',
    schema: !auto ? 'none' : overwrite ? 'read' : 'evolve',
    flushDurable: !overwrite,
    encodings: [],
    idempotent: isKeyed(config.write_mode),
  };
}
