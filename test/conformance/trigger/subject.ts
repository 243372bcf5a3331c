/** What a kind of trigger is tested with. */
import type { TriggerRequest } from '../../../src/kit/trigger.ts';

export type TriggerFixture = WatchedFixture | RequestedFixture;

interface AnyFixture {
  readonly name?: string;
  /** Why it cannot be tested here: the suite says so and goes on. */
  readonly missing?: string;
  start?(): Promise<void>;
  stop?(): Promise<void>;
}

export interface WatchedFixture extends AnyFixture {
  readonly events: 'watching';
  /** A system of its own, in which nothing has happened yet. */
  fresh(): Promise<WatchedSystem>;
}

export interface WatchedSystem {
  /** Fields of a trigger that looks at the system, at another address when one is given. */
  fields(address?: string): Readonly<Record<string, unknown>>;
  /** Makes one more event. */
  happen(): Promise<void>;
  /** Whether several events can be noticed by one look; otherwise only the first since `settle`. */
  readonly severalAtOnce: boolean;
  /** What has to be before the next event can happen. */
  settle(): Promise<void>;
  /** Whether what happened before the very first look counts. */
  readonly countsWhatWas: boolean;
  /** Stands in `fields`, and in no message. */
  readonly secret?: string;
}

export interface RequestedFixture extends AnyFixture {
  readonly events: 'request';
  readonly fields: Readonly<Record<string, unknown>>;
  /** Two requests that are two events. */
  readonly taken: readonly [TriggerRequest, TriggerRequest];
  /** One event, sent twice. */
  readonly repeated?: TriggerRequest;
  /** What it does not take, and the code that says so. */
  readonly refused: readonly (readonly [TriggerRequest, string])[];
  readonly secret?: string;
}
