import { defineLintRule } from '../define-rule.ts';
import { everyRow, readingOf, writingOf } from '../writing.ts';

export const incrementalOverwrite = defineLintRule({
  code: 'incremental-overwrite',
  severity: 'warning',
  summary: 'A row that reads only what is new replaces everything with it.',
  why: 'The second run reads the records since the first one, and `write_mode: overwrite` puts them in the place of all that is there.',
  fix: 'Write by key (`write_mode: upsert` and `key`), or read everything each time (leave the state store or the incremental setting out).',
  example: {
    bad: `version: 1
name: events
pipeline:
  source: { type: file, config: { path: inbox, incremental: { by: name } } }
  state: { type: file, config: { path: state } }
  sink: { type: sqlite, config: { database_url: out.db, table_name: events, column_mapping: auto_map, write_mode: overwrite } }
`,
    good: `version: 1
name: events
pipeline:
  source: { type: file, config: { path: inbox, incremental: { by: name } } }
  state: { type: file, config: { path: state } }
  sink: { type: sqlite, config: { database_url: out.db, table_name: events, column_mapping: auto_map, write_mode: upsert, key: [id] } }
`,
  },
  check: ({ plan }) =>
    everyRow(plan)
      .filter(
        (row) =>
          row.state !== undefined &&
          readingOf(row)?.bookmarks === true &&
          writingOf(row)?.writeMode === 'overwrite',
      )
      .map(({ id, sink }) => ({
        path: sink.path,
        message: `${id} reads what is new since the last run, and overwrites everything with it`,
      })),
});
