import { defineLintRule } from '../define-rule.ts';
import { everyRow, writingOf } from '../writing.ts';

export const noDlq = defineLintRule({
  code: 'no-dlq',
  severity: 'advice',
  summary: 'The first record that the destination refuses fails the run.',
  why: 'The sink can refuse single records (a value that does not fit its column, a key that is missing), and there is no dead-letter queue to take them.',
  fix: 'Add `pipeline.dlq` with a sink, such as a file of JSON lines; `headgate dlq inspect` and `dlq replay` work on it.',
  example: {
    bad: `version: 1
name: orders
pipeline:
  source: { type: csv, config: { path: orders.csv } }
  sink: { type: sqlite, config: { database_url: out.db, table_name: orders, column_mapping: auto_map, write_mode: upsert, key: [id] } }
`,
    good: `version: 1
name: orders
pipeline:
  source: { type: csv, config: { path: orders.csv } }
  sink: { type: sqlite, config: { database_url: out.db, table_name: orders, column_mapping: auto_map, write_mode: upsert, key: [id] } }
  dlq: { sink: { type: jsonl, config: { path: rejected.jsonl } } }
`,
  },
  check: ({ plan }) =>
    everyRow(plan)
      // Exactly once and a dead-letter queue exclude each other.
      .filter((row) => row.dlq === undefined && row.delivery !== 'exactly_once')
      .filter((row) => writingOf(row)?.perRow === true)
      .map(({ id, sink }) => ({
        path: sink.path,
        message: `${id} has no dead-letter queue: one record that ${sink.type} refuses ends its run`,
      })),
});
