/** What the suite of sinks is told about one way to configure a sink. */
import type { Page } from './page.ts';
import type { JsonObject } from '../lib/text/json.ts';

/** A destination made for one check. */
export interface Destination {
  readonly config: JsonObject;
  /**
   * What the destination holds now, in stored order; `undefined` when it does not exist. Read
   * without the sink: through another connection or file handle, while the sink may still be open.
   */
  rows(): Promise<readonly JsonObject[] | undefined>;
  /** Takes what a process of the suite printed, for sinks whose destination is its output. */
  printed?(bytes: Uint8Array): void;
}

/** Makes a page of an encoding, which is good until `use` has ended. */
export type Encode = (
  records: readonly JsonObject[],
  use: (page: Page) => Promise<void>,
) => Promise<void>;

export interface SinkFixture {
  /** Tells fixtures of one sink apart: `compressed`, `by copy`. */
  readonly name?: string;
  /** Why its server is not here; its clauses are then skipped with this sentence. */
  readonly missing?: string;
  /** Prepares what all checks share (a server, a database). `stop` removes it. */
  start?(): Promise<void>;
  stop?(): Promise<void>;
  /** A new, empty destination for records `{id: integer, v: text}`, written by appending. */
  fresh(): Promise<Destination>;
  /** Settings with which a second run adds to what the first one left; `{}` where all runs do. */
  readonly continuing?: JsonObject;
  /** Configs that must fail with a `ConnectorError`, by what is wrong with them. */
  broken(): Readonly<Record<string, JsonObject>>;
  /** Text that must not appear in any message. */
  readonly secret?: string;
  /**
   * A record that the destination refuses and the sink can tell from the others. Needed where
   * `perRow` is claimed and the sink has no keyed mode.
   */
  readonly refused?: JsonObject;
  /** Why rows may be stored in another order than they were written in. */
  readonly unordered?: string;
  /** Makes pages of the encodings that only the connectors of one family know. */
  readonly encoded?: Readonly<Record<string, Encode>>;
  /**
   * Name of the fixture of the same sink that stands for this one where a process is killed at every
   * failpoint: only the bytes differ, not when they are durable.
   */
  readonly crashesLike?: string;
  /** Clauses that this fixture cannot keep, each with the reason. */
  readonly skip?: Readonly<Record<string, string>>;
}
