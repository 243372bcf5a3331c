import { blockOf } from '../../../blocks/define-block.ts';
import { qualityBlock } from '../../../blocks/quality/index.ts';
import { rollbackBlock } from '../../../blocks/rollback/index.ts';
import { slaBlock } from '../../../blocks/sla/index.ts';
import { defineLintRule } from '../define-rule.ts';
import { everyRow, writingOf } from '../writing.ts';

export const unboundedOverwrite = defineLintRule({
  code: 'unbounded-overwrite',
  severity: 'advice',
  summary:
    'A table is replaced by whatever the source gives, and nothing looks at how much that is.',
  why: 'A source that gives a few records, because its export was cut off, replaces a full table; without a check nobody is told, and without `rollback` the old rows are gone.',
  fix: 'Add a check of the number of records (`quality.batch` with `row_count`, or `sla: { min_rows_per_run: … }`), or `rollback`, which keeps the table that was replaced.',
  example: {
    bad: `version: 1
name: prices
pipeline:
  source: { type: csv, config: { path: prices.csv } }
  sink: { type: sqlite, config: { database_url: out.db, table_name: prices, column_mapping: auto_map, write_mode: overwrite } }
`,
    good: `version: 1
name: prices
pipeline:
  source: { type: csv, config: { path: prices.csv } }
  quality: { batch: [{ type: row_count, min: 100, on_failure: abort }] }
  sink: { type: sqlite, config: { database_url: out.db, table_name: prices, column_mapping: auto_map, write_mode: overwrite } }
`,
  },
  check: ({ plan }) =>
    everyRow(plan)
      .filter((row) => {
        if (writingOf(row)?.writeMode !== 'overwrite') return false;
        const checks = [slaBlock, rollbackBlock].map((block) => blockOf<unknown>(row, block));
        const batch = blockOf(row, qualityBlock)?.batch ?? [];
        return checks.every((one) => one === undefined) && batch.length === 0;
      })
      .map(({ id, sink }) => ({
        path: sink.path,
        message: `${id} replaces its table, however few records it reads`,
      })),
});
