import { defineLintRule } from '../define-rule.ts';
import { addsOnly, everyRow, goesOn } from '../writing.ts';

export const appendRepeatsAll = defineLintRule({
  code: 'append-repeats-all',
  severity: 'warning',
  summary: 'Every run appends all records again.',
  why: 'The row remembers no position, so each run reads everything, and its sink adds what it gets: after the second run each record is there twice.',
  fix: 'Write by key (`write_mode: upsert` and `key`), replace the table (`write_mode: overwrite`), or read only what is new (a source with a position, and `pipeline.state`).',
  example: {
    bad: `version: 1
name: orders
pipeline:
  source: { type: csv, config: { path: orders.csv } }
  sink: { type: sqlite, config: { database_url: out.db, table_name: orders } }
`,
    good: `version: 1
name: orders
pipeline:
  source: { type: csv, config: { path: orders.csv } }
  sink:
    type: sqlite
    config: { database_url: out.db, table_name: orders, column_mapping: auto_map, write_mode: upsert, key: [id] }
`,
  },
  check: ({ plan }) =>
    everyRow(plan)
      .filter((row) => addsOnly(row) && !goesOn(row))
      .map(({ id, sink }) => ({
        path: sink.path,
        message: `each run of ${id} adds all its records to ${sink.type} again`,
      })),
});
