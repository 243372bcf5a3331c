/** How rows get into a table: by an INSERT with their JSON, or by objects that the server reads. */
import type { SinkContext } from '../../../kit/context.ts';
import type { LiveColumn } from '../../_sql/driver.ts';
import type { ClickhouseSinkConfig } from '../config.ts';
import type { Link, ServerFacts, Settings } from '../link.ts';

export interface Rows {
  /** Every column that a row has. */
  readonly columns: readonly LiveColumn[];
  /** One JSON object each. */
  readonly lines: readonly string[];
  readonly bytes: number;
}

export interface Loader {
  load(rows: Rows): Promise<void>;
}

export interface Loading {
  readonly config: ClickhouseSinkConfig;
  readonly context: SinkContext;
  readonly link: Link;
  readonly facts: ServerFacts;
}

export const FILLS_DEFAULTS = 'input_format_defaults_for_omitted_fields';

/** What the server does with values; each is told where the server and the user allow it. */
const READING: Settings = {
  date_time_input_format: 'best_effort',
  input_format_null_as_default: 0,
  [FILLS_DEFAULTS]: 1,
  input_format_json_named_tuples_as_objects: 0,
  input_format_skip_unknown_fields: 0,
};

export const INSERT_SETTINGS = [
  ...Object.keys(READING),
  'async_insert',
  'wait_for_async_insert',
  'input_format_parallel_parsing',
  'insert_deduplicate',
  'insert_deduplication_token',
  'max_insert_block_size',
];

export function readingSettings(facts: ServerFacts): Settings {
  return Object.fromEntries(Object.entries(READING).filter(([name]) => facts.takes(name)));
}

/**
 * A replicated table drops a block that is equal to an earlier one, which may be no repetition: each
 * INSERT has a token of its own.
 */
export function dedupSettings(facts: ServerFacts, token: string): Settings {
  if (facts.takes('insert_deduplication_token')) return { insert_deduplication_token: token };
  return facts.takes('insert_deduplicate') ? { insert_deduplicate: 0 } : {};
}
