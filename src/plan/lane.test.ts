import { expect, test } from 'vitest';
import { load } from '../../test/fakes/documents.ts';
import { csvSink, csvSource } from '../connectors/csv/index.ts';
import { jsonlSink, jsonlSource } from '../connectors/jsonl/index.ts';
import { sqliteSink, sqliteSource } from '../connectors/sqlite/index.ts';
import { createParts } from '../kit/parts.ts';
import { TRANSFORMS } from '../transforms/index.ts';
import { planDocument } from './plan-document.ts';

const parts = createParts({
  sources: [csvSource, jsonlSource, sqliteSource],
  sinks: [csvSink, jsonlSink, sqliteSink],
  transforms: TRANSFORMS,
  states: [],
  credentials: [],
  secrets: [],
});

function laneOf(
  stages: string,
  { source = 'csv', sink = 'jsonl', more = '' } = {},
): string | undefined {
  return laneOfDocument(`version: 1
pipeline:
  source: { type: ${source}, config: { path: in } }
  sink: { type: ${sink}, config: { path: out } }
  ${stages}
${more}
`);
}

function laneOfDocument(text: string): string | undefined {
  const [row] = planDocument(load(text), parts, { cpus: 1 }).rows;
  expect(row?.lane.reason.startsWith(row.lane.lane.form)).toBe(true);
  return row?.lane.reason;
}

const SIDE_BY_SIDE = '; threads can work on several pages at once';
const RENAME = '{type: rename_field, config: {fields: {a: b}}}';
const JOIN = '{type: coalesce, config: {field: a, default: 0}}';

test('stages that can do with cells get columns', () => {
  expect(laneOf(`transforms: [${RENAME}]`)).toBe(
    `columns: transform \`rename_field\` reads \`a\`${SIDE_BY_SIDE}`,
  );
  expect(laneOf(`transforms: [${RENAME}]`, { source: 'jsonl' })).toBe(
    `columns: transform \`rename_field\` reads \`a\`${SIDE_BY_SIDE}`,
  );
  expect(laneOf('masking: {rules: [{match: {fields: [a]}, action: {type: hash}}]}')).toBe(
    `columns: \`masking\` looks at every field${SIDE_BY_SIDE}`,
  );
  expect(laneOf('contract: {version: "1", fields: [{name: a, type: string}]}')).toBe(
    `columns: \`contract\` checks every record${SIDE_BY_SIDE}`,
  );
});

test('threads are for stages that look at one page and forget it', () => {
  const contract = 'contract: {version: "1", on_breach: warn, fields: [{name: a, type: string}]}';
  expect(laneOf(contract)).toBe('columns: `contract` checks every record');
  expect(laneOf(`transforms: [${RENAME}, ${JOIN}]`)).not.toContain(SIDE_BY_SIDE);
});

test('the reason says from where on records are made', () => {
  const made = 'columns: transform `rename_field` reads `a`; records are made because';
  expect(laneOf(`transforms: [${RENAME}, ${JOIN}]`)).toBe(
    `${made} transform \`coalesce\` reads \`a\``,
  );
  const sqlite = `version: 1
pipeline:
  source: { type: csv, config: { path: in } }
  transforms: [${RENAME}]
  sink: { type: sqlite, config: { database_url: a.db, table_name: t } }
`;
  expect(laneOfDocument(sqlite)).toBe(`${made} sink \`sqlite\` takes records`);
  expect(laneOf('', { source: 'jsonl', sink: 'csv' })).toBe(
    'columns: `jsonl` and `csv` have no encoding in common',
  );
  expect(laneOf(`transforms: [${RENAME}]`, { more: 'metadata_columns: {columns: [run_id]}' })).toBe(
    `${made} \`metadata_columns\` adds fields to every record`,
  );
});

test('a first stage that needs records, or a source that has no columns, prevents them', () => {
  expect(laneOf(`transforms: [${JOIN}, ${RENAME}]`)).toBe(
    'records: transform `coalesce` reads `a`',
  );
  const sqlite = `version: 1
pipeline:
  source: { type: sqlite, config: { database_url: a.db, query: SELECT a FROM t } }
  transforms: [${RENAME}]
  sink: { type: jsonl, config: { path: out } }
`;
  expect(laneOfDocument(sqlite)).toBe('records: transform `rename_field` reads `a`');
  expect(laneOf('quality: {record: [{type: json_schema, schema: {}, on_failure: abort}]}')).toBe(
    'records: `quality` checks every record',
  );
});

test('bytes are better still', () => {
  expect(laneOf('')).toBe('bytes: source and sink both speak jsonl');
});

test('what a config keeps from travelling as bytes is reported where the parts are of one kind', () => {
  const between = (
    query: string,
    sink = '',
    into = 'column_mapping: auto_map',
  ): string | undefined =>
    laneOfDocument(`version: 1
pipeline:
  source: { type: sqlite, config: { database_url: a.db, query: "${query}" } }
  sink: ${sink === '' ? `{ type: sqlite, config: { database_url: b.db, table_name: t, ${into} } }` : sink}
`);
  expect(between('SELECT a FROM t WHERE b > 1')).toBe(
    'bytes: source and sink both speak sqlite_rows',
  );
  expect(between('SELECT max(a) AS a FROM t')).toBe(
    'records: the query does more than choose columns and rows of one table',
  );
  expect(between('SELECT a FROM t', '', 'column_mapping: json')).toBe(
    'records: the sink stores whole records',
  );
  expect(between('SELECT a FROM t', '', 'column_mapping: auto_map, write_mode: overwrite')).toBe(
    'records: `write_mode: overwrite` takes records',
  );
  expect(between('SELECT max(a) AS a FROM t', '{ type: csv, config: { path: out } }')).toBe(
    'records: `sqlite` and `csv` have no encoding in common',
  );
});

test('a file whose fields get types has no bytes to copy, and says so', () => {
  const typed = (source: string, sink: string, format = ''): string | undefined =>
    laneOfDocument(`version: 1
pipeline:
  source: {type: ${source}, config: {path: in, ${format} columns: {a: int64}}}
  sink: {type: ${sink}, config: {path: out}}
`);
  expect(typed('csv', 'jsonl')).toBe('columns: `columns` gives fields types');
  expect(typed('jsonl', 'jsonl')).toBe('columns: `columns` gives fields types');
  expect(typed('csv', 'csv')).toBe('columns: `csv` and `csv` have no encoding in common');
});
