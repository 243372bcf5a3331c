/** One execution of a row while it runs. */
import type { Env } from '../../lib/env.ts';
import { keepStoredValue } from '../../lib/sql/sqlite-values.ts';
import { setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { PartContext } from '../../kit/context.ts';
import type { Sink, SinkCapabilities } from '../../kit/sink.ts';
import type { Source, SourceCapabilities } from '../../kit/source.ts';
import type { StateStore } from '../../kit/state-store.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import type { RuntimeTokens } from '../../plan/resolve.ts';
import type { HitFailpoint } from '../failpoints.ts';
import type { DeadLetters } from '../dlq/dead-letters.ts';
import type { SeenKeys } from '../delivery/seen-keys.ts';
import type { Watermark } from '../delivery/watermark.ts';
import type { RowSampler } from '../observe/samples.ts';
import type { StagePool } from '../threads/ordered-prefetch.ts';
import type { ExecutionFence } from './execution-fence.ts';
import type { StateLease } from './state-lease.ts';
import type { Tally } from './tally.ts';

/** What opening gives. */
export interface OpenedInvocation {
  readonly env: Env;
  /** What parts that are opened later are given. */
  readonly context: PartContext;
  /** Id of this execution of the row. */
  readonly id: string;
  readonly row: PlannedRow;
  readonly labels: { readonly pipeline: string; readonly row: string };
  /** Values of the run-time tokens in configs. */
  readonly tokens: RuntimeTokens;
  readonly source: Source;
  /** Tells the source that no more pages are wanted; may be called more than once. */
  leave(this: void): void;
  readonly sink: Sink;
  readonly sinkConfig: unknown;
  /** Judged on the config of this invocation. */
  readonly capabilities: SinkCapabilities;
  readonly replay: SourceCapabilities['replay'];
  /** Set when the source waits for records instead of ending. */
  readonly unbounded: SourceCapabilities['unbounded'];
  /**
   * Whether a flush makes records and dead letters durable; otherwise bookmarks wait for `finish`.
   */
  readonly flushDurable: boolean;
  readonly deadLetters: DeadLetters | undefined;
  /** Runs transforms and governance stages. */
  readonly pool: StagePool;
  readonly state: StateStore | undefined;
  readonly stateKey: string;
  /** Under which the position is that the read begins after, if the other side knows no later one. */
  readonly startKey: string;
  /** Present when no other run may use the state key. */
  readonly lease?: StateLease | undefined;
  /** Present where another server may take the run over and there is something to write. */
  readonly fence: ExecutionFence | undefined;
  /** False for dry and limited runs. */
  readonly storesPositions: boolean;
  /** Where the source starts, for the sink; filled in when it is known. */
  readonly start: { bookmark?: JsonValue | undefined };
  /** Records to write at most. */
  readonly limit: number | undefined;
  readonly tally: Tally;
  /** Keys written to the sink, present when rows that vanished at the source are removed. */
  readonly seen?: SeenKeys;
  /** Records kept for child rows, when there are any. */
  readonly capture: Capture | undefined;
  /** Present when an observer asks for the shape of records. */
  readonly sampler: RowSampler | undefined;
  /** Present when a test or `--chaos` watches the failpoints. */
  readonly hitFailpoint: HitFailpoint | undefined;
  /** Cooperative stop. */
  readonly stop: AbortSignal;
  /** Everything ends now. */
  readonly kill: AbortSignal;
}

/** What moving and finishing work on: the start position is known. */
export interface Invocation extends OpenedInvocation {
  /** Present when pages are committed together with a watermark. */
  readonly watermark: Watermark | undefined;
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
      if (value === undefined) continue;
      setField(kept, field, value);
      keepStoredValue(record, field, kept, field);
    }
    return kept;
  }
}
