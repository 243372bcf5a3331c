/** Parts of the result of a query by the values of one integer column. */
import type { Slices } from '../../../kit/source.ts';
import { backticked } from '../../_google/backticked.ts';
import { keyColumn, PART, spansCondition } from '../../_sql/key-spans.ts';
import { withoutSemicolon } from '../../_sql/sql-text.ts';
import type { SpannerSourceConfig } from '../config.ts';
import { within } from './query.ts';

const WHOLE = "r'^-?[0-9]+$'";

export const spannerSlices: Slices<SpannerSourceConfig> = {
  bounds(config, key) {
    const column = keyColumn(key, backticked);
    const strange = `COUNTIF(NOT REGEXP_CONTAINS(CAST(${column} AS STRING), ${WHOLE}))`;
    return asking(
      config,
      (part) =>
        `SELECT MIN(${column}) AS low, MAX(${column}) AS high, ${strange} AS strange FROM ${part}`,
    );
  },
  within: (config, key, spans) =>
    asking(
      config,
      (part) => `SELECT * FROM ${part} WHERE ${spansCondition(key, spans, backticked)}`,
    ),
};

/** The same source with a statement about its query, and without incremental reading. */
function asking(
  config: SpannerSourceConfig,
  statement: (part: string) => string,
): SpannerSourceConfig {
  const { source, name } = within(withoutSemicolon(config.query, 'bigquery'), PART);
  const query = `${source} ${statement(name === PART ? PART : `${name} AS ${PART}`)}`;
  return { ...config, query, replication: { type: 'full' } };
}
