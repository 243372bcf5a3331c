/** One execution of a row: what it is made of while it runs. */
import type { Env } from '../../lib/env.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { Sink, SinkCapabilities } from '../../kit/sink.ts';
import type { Source, SourceCapabilities } from '../../kit/source.ts';
import type { StateStore } from '../../kit/state-store.ts';
import type { RowPlan } from '../../plan/plan.ts';
import type { HitFailpoint } from '../failpoints.ts';
import type { DeadLetters } from '../dlq/dead-letters.ts';
import type { SeenKeys } from '../delivery/seen-keys.ts';
import type { Watermark } from '../delivery/watermark.ts';
import type { RowSampler } from '../observe/samples.ts';
import type { StagePool } from '../threads/ordered-prefetch.ts';
import type { Tally } from './tally.ts';

export interface Invocation {
  readonly env: Env;
  /** Id of this execution of the row. */
  readonly id: string;
  readonly row: RowPlan;
  readonly labels: { readonly pipeline: string; readonly row: string };
  readonly source: Source;
  readonly sink: Sink;
  /** Judged on the config of this invocation. */
  readonly capabilities: SinkCapabilities;
  readonly replay: SourceCapabilities['replay'];
  /**
   * Whether a flush makes records and dead letters durable; otherwise bookmarks wait for `finish`.
   */
  readonly flushDurable: boolean;
  readonly deadLetters: DeadLetters | undefined;
  /** Works on pages: transforms and governance stages. */
  readonly pool: StagePool;
  readonly state: StateStore | undefined;
  readonly stateKey: string;
  /** Present when pages are committed together with a watermark. */
  readonly watermark: Watermark | undefined;
  readonly tally: Tally;
  /** Keys that went to the sink, where rows that vanished at the source are to be removed. */
  readonly seen?: SeenKeys;
  /** Records kept for child rows, when there are any. */
  readonly capture: Capture | undefined;
  /** Looks at what records look like, when somebody wants to know. */
  readonly sampler: RowSampler | undefined;
  /** Present when a test or `--chaos` watches the failpoints. */
  readonly hitFailpoint: HitFailpoint | undefined;
  /** Cooperative stop. */
  readonly stop: AbortSignal;
  /** Everything ends now. */
  readonly kill: AbortSignal;
}

/** Keeps what child rows need of each record that reaches the sink. */
export class Capture {
  readonly records: JsonValue[] = [];
  readonly #fields: ReadonlySet<string> | 'record';

  constructor(fields: ReadonlySet<string> | 'record') {
    this.#fields = fields;
  }

  take(records: readonly JsonValue[]): void {
    for (const record of records) this.records.push(this.#project(record));
  }

  #project(record: JsonValue): JsonValue {
    if (
      this.#fields === 'record' ||
      typeof record !== 'object' ||
      record === null ||
      Array.isArray(record)
    )
      return record;
    const kept: JsonObject = {};
    for (const field of this.#fields) {
      const value = record[field];
      if (value !== undefined) kept[field] = value;
    }
    return kept;
  }
}
