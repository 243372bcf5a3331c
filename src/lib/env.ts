import type { VariableAccess } from './access.ts';
import type { Clock } from './time/clock.ts';
import type { Ids } from './ids.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { Redactor } from './redact.ts';

/**
 * Everything a part may use of its surroundings. Made once in `main.ts` (or a worker) and passed
 * on.
 */
export interface Env {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly redactor: Redactor;
  readonly fetch: typeof fetch;
  /** Environment variables that `${env:…}` sees. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Which of them documents may read; absent: all. */
  readonly variableAccess?: VariableAccess;
  /** Relative paths in documents are relative to this folder. */
  readonly cwd: string;
}
