/** What the suite of sources is told about one way to configure a source. */
import type { SourceContext } from './context.ts';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';

export interface SourceFixture {
  /** Tells fixtures of one source apart: `with columns`, `incremental by name`. */
  readonly name?: string;
  /** Why its server is not here; its clauses are then skipped with this sentence. */
  readonly missing?: string;
  /** Prepares what all clauses share (a server, a database). `stop` removes it. */
  start?(): Promise<void>;
  stop?(): Promise<void>;
  /** A config whose data set holds `records`, in this order. Called once for each clause. */
  config(): Promise<JsonObject> | JsonObject;
  /** At least 12 records. */
  readonly records: readonly JsonValue[];
  /** Configs that must fail with a `ConnectorError`, by what is wrong with them. */
  readonly broken?: Readonly<Record<string, JsonObject | (() => JsonObject)>>;
  /** Text that must not appear in any message. */
  readonly secret?: string;
  /** Clauses that this fixture cannot keep, each with the reason. */
  readonly skip?: Readonly<Record<string, string>>;
  /** Lanes that this config leaves for the records lane once it reads, each with the reason. */
  readonly fallsBack?: Readonly<Record<string, string>>;
  /** Lanes whose pages may be larger than `batch_size`, each with the reason. */
  readonly largePages?: Readonly<Record<string, string>>;
  /** Only these of the lanes, where the others are shown by another fixture. */
  readonly lanes?: readonly string[];
  /** The `batch_size`s that are tried; 1, 5 and 7 unless given. */
  readonly batchSizes?: readonly number[];
  /** Fields that count within one read: one that goes on from a bookmark counts anew. */
  readonly ofOneRead?: readonly string[];
  /** Sources whose bookmark may stand before the end of its page. */
  readonly overlap?: Overlap;
  /** Changes the data set of this config and returns the records it then holds. */
  change?(config: JsonObject): Promise<readonly JsonValue[]>;
  /** A data set without records. */
  empty?(): Promise<JsonObject> | JsonObject;
  /** A config whose first page never comes. */
  endless?(): Promise<JsonObject> | JsonObject;
  /** Column of integers by which the result can be read in slices. */
  readonly sliceKey?: string;
  readonly context?: Partial<SourceContext>;
  /** The other side of an unbounded source. */
  readonly upstream?: Upstream;
}

export interface Overlap {
  readonly because: string;
  /** Whether `repeated`, the records before the position that come again, are as they may be. */
  allows(repeated: readonly JsonValue[], rest: readonly JsonValue[]): boolean;
}

/** How a test plays the other side of an unbounded source. Each config has its own. */
export interface Upstream {
  /** A config of an upstream that holds nothing yet. */
  fresh(): Promise<JsonObject> | JsonObject;
  send(config: JsonObject, records: readonly JsonValue[]): Promise<void>;
  /** How many records upstream holds to be done: it will not deliver them again. */
  acknowledged(config: JsonObject): Promise<number> | number;
  /** How many heartbeats reached it. */
  heartbeats?(config: JsonObject): Promise<number> | number;
}
