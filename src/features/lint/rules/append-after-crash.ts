import { defineLintRule } from '../define-rule.ts';
import { addsOnly, everyRow, goesOn, readingOf, writingOf } from '../writing.ts';

export const appendAfterCrash = defineLintRule({
  code: 'append-after-crash',
  severity: 'advice',
  summary: 'After a crash, records since the last stored position are written twice.',
  why: 'The row appends and delivers at least once: what was written after the last stored position is read and written again when a run was killed.',
  fix: 'Write by key (`write_mode: upsert` and `key`), or set `delivery: exactly_once` where source and sink can do it.',
  example: {
    bad: `version: 1
name: events
pipeline:
  source: { type: file, config: { path: inbox, incremental: { by: name } } }
  state: { type: file, config: { path: state } }
  sink: { type: sqlite, config: { database_url: out.db, table_name: events } }
`,
    good: `version: 1
name: events
pipeline:
  source: { type: file, config: { path: inbox, incremental: { by: name } } }
  state: { type: file, config: { path: state } }
  sink:
    type: sqlite
    config: { database_url: out.db, table_name: events, column_mapping: auto_map, write_mode: upsert, key: [id] }
`,
  },
  check: ({ plan }) =>
    everyRow(plan)
      .filter((row) => addsOnly(row) && goesOn(row) && row.guarantee === 'at-least-once')
      .map((row) => ({
        path: row.sink.path,
        message: `${row.id} appends to ${row.sink.type}, and repeats records after a crash`,
        fix:
          writingOf(row)?.token === true && readingOf(row)?.replay === 'positional'
            ? 'set `delivery: exactly_once`: source and sink can do it'
            : undefined,
      })),
});
