import { defineLintRule } from '../define-rule.ts';
import { everyRow, readingOf } from '../writing.ts';

export const noState = defineLintRule({
  code: 'no-state',
  severity: 'warning',
  summary: 'A source that could go on where it stopped has no state store, and starts over.',
  why: 'The source is set up to give a position, but nothing remembers it between runs.',
  fix: 'Add `pipeline.state`, such as `{ type: file, config: { path: .headgate/state } }`.',
  example: {
    bad: `version: 1
name: orders
pipeline:
  source:
    type: postgres
    config:
      connection_url: postgres://db.example/shop
      query: SELECT * FROM orders
      replication: { type: incremental, column: changed_at, initial_value: '2024-01-01' }
  sink: { type: jsonl, config: { path: out.jsonl } }
`,
    good: `version: 1
name: orders
pipeline:
  source:
    type: postgres
    config:
      connection_url: postgres://db.example/shop
      query: SELECT * FROM orders
      replication: { type: incremental, column: changed_at, initial_value: '2024-01-01' }
  state: { type: file, config: { path: state } }
  sink: { type: jsonl, config: { path: out.jsonl } }
`,
  },
  check: ({ plan }) =>
    everyRow(plan)
      .filter((row) => row.state === undefined && readingOf(row)?.bookmarks === true)
      .map(({ id, source }) => ({
        path: source.path,
        message: `each run of ${id} reads ${source.type} from the beginning`,
      })),
});
