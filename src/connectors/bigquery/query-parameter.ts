import type { JsonValue } from '../../lib/text/json.ts';

/** A value that a query names, or has a place for. */
export interface QueryParameter {
  /** Absent where parameters have places. */
  readonly name?: string;
  readonly type: string;
  readonly value: JsonValue;
}
