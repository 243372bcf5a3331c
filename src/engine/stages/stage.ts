import type { Env } from '../../lib/env.ts';
import type { ErrorKind } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/json.ts';

/** Why a record was diverted. */
export type DeadReason = 'partial' | 'dlq_all' | 'quality' | 'schema_drift' | 'contract';

/** A record on its way to the dead-letter queue. */
export interface DeadRecord {
  readonly kind: ErrorKind;
  readonly reason: DeadReason;
  readonly message: string;
  readonly payload: JsonValue;
  /** Index in the page as it entered the governance stages. */
  readonly index: number;
}

/** A page between transforms and sink. Stages replace `records` (and `origins` with it) and add to `dead`. */
export interface PageInWork {
  records: readonly JsonValue[];
  /** For each record its index in the page as it entered the stages. */
  origins: readonly number[];
  readonly dead: DeadRecord[];
}

/** One governance step, compiled once per invocation. Throws `RunError` to end the run without writing the page. */
export interface Stage {
  readonly name: string;
  run(page: PageInWork): void | Promise<void>;
}

/** What a stage is told about the row it works for. */
export interface StageContext {
  readonly env: Env;
  readonly pipeline: string;
  readonly row: string;
  /** Sink template name (`default` for the singular block) and connector kind, for `applies_to`. */
  readonly sinkTemplate: string;
  readonly sinkType: string;
}
