import { blockOf } from '../../../blocks/define-block.ts';
import { contractBlock } from '../../../blocks/contract/index.ts';
import { defineLintRule } from '../define-rule.ts';
import { everyRow, writingOf } from '../writing.ts';

export const noContract = defineLintRule({
  code: 'no-contract',
  severity: 'advice',
  summary: 'A table has readers, and nothing says what they can rely on.',
  why: 'Without a contract a field that is gone or of another type is noticed by whoever reads the table.',
  fix: 'Add `pipeline.contract` with the fields and types that readers need; `headgate init --from` writes one from the data.',
  example: {
    bad: `version: 1
name: orders
pipeline:
  source: { type: csv, config: { path: orders.csv } }
  sink: { type: sqlite, config: { database_url: out.db, table_name: orders, column_mapping: auto_map } }
`,
    good: `version: 1
name: orders
pipeline:
  source: { type: csv, config: { path: orders.csv } }
  contract: { version: '1', fields: [{ name: id, type: string }] }
  sink: { type: sqlite, config: { database_url: out.db, table_name: orders, column_mapping: auto_map } }
`,
  },
  check: ({ plan }) =>
    everyRow(plan)
      .filter((row) => blockOf(row, contractBlock) === undefined)
      .filter((row) => (writingOf(row)?.schema ?? 'none') !== 'none')
      .map(({ id, sink }) => ({
        path: sink.path,
        message: `${id} writes to a table of ${sink.type} without a contract`,
      })),
});
