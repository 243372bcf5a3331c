import type { JsonObject } from '../../../lib/text/json.ts';
import type { TableField } from '../types/fields.ts';

export interface RowsOfResult {
  readonly fields: readonly TableField[];
  /** The records, as they come; called once. */
  parts(this: void): AsyncIterable<readonly JsonObject[]>;
}
