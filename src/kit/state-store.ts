import type { ZodType } from 'zod';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import type { PartContext } from './context.ts';
import type { ProbeFinding } from './probe.ts';

/** Of stores in a database, where the document names no other table. */
export const STATE_TABLE = 'svc_state';

/**
 * Stores bookmarks. Keys match `STATE_KEY` below. In durable kinds `put` returns only when the
 * value survives a crash. Failures are `ConnectorError`s; a value that cannot be read is an error,
 * never "no value".
 */
export interface StateStore {
  get(key: string): Promise<JsonValue | undefined>;
  put(key: string, value: JsonValue): Promise<void>;
  /**
   * As `put`, only while this token has the lease of `lease`, ended or not, in one step with looking
   * at it. False: it has not; nothing was stored.
   */
  putHeld(key: string, value: JsonValue, holding: Holding): Promise<boolean>;
  delete(key: string): Promise<void>;
  /** As `delete`, on the same condition as `putHeld`. False: nothing was deleted. */
  deleteHeld(key: string, holding: Holding): Promise<boolean>;
  /**
   * What is stored for `key` and for keys that start with `key::`, in the order of the keys. Leases
   * are not among them.
   */
  entries(key: string): Promise<readonly StateEntry[]>;
  /**
   * Takes or renews the lease of a key and gives it, unless another token has one that has not
   * ended: then it gives that one. Of many who ask at once one gets it. Time is that of the store
   * where it has a clock.
   */
  lease(key: string, request: LeaseRequest): Promise<Lease>;
  /** Ends the lease of this token; one of another token stays. */
  release(key: string, token: string): Promise<void>;
  close(): Promise<void>;
}

export interface StateEntry {
  /** `get` and `delete` take it. */
  readonly key: string;
  /** When it was put; absent where the store does not know. */
  readonly at?: Date;
  /**
   * Present when the store knows the beginning of the key only: `key` names the value, and is not
   * what it was put with.
   */
  readonly isCut?: true;
}

/** By whom a value may be stored. */
export interface Holding {
  /** Key of the lease. */
  readonly lease: string;
  readonly token: string;
}

export interface LeaseRequest {
  readonly token: string;
  readonly ttlMs: number;
  /** What others are told of the holder. */
  readonly holder: JsonObject;
  /** Token of a lease that is over although it has not ended: its holder is known to be dead. */
  readonly instead?: string;
  /** Only extends: whoever has it not any more does not get it, even where nobody has it. */
  readonly renews?: true;
}

export interface Lease {
  readonly token: string;
  readonly holder: JsonObject;
  readonly remainingMs: number;
}

/** A store for what only one process uses. */
export type UnsharedStore = Omit<
  StateStore,
  'lease' | 'release' | 'putHeld' | 'deleteHeld' | 'entries'
>;

/** Where nobody has the lease. */
export const NO_LEASE: Lease = { token: '', holder: {}, remainingMs: 0 };

/** Stands before the keys of leases where they lie beside values: no key starts with a dot. */
export const LEASE_PREFIX = '.lease:';

/** Whether a stored key belongs to `key`: the key itself, or one below it. */
export function isBelow(stored: string, key: string): boolean {
  return stored === key || stored.startsWith(`${key}::`);
}

/** In the order of the keys, which is that of their characters in every store. */
export function sortedEntries(entries: readonly StateEntry[]): StateEntry[] {
  return entries.toSorted((one, other) => (one.key < other.key ? -1 : 1));
}

/** 1 to 256 characters, not starting with a dot; enough for `for_each` tuples and template ids. */
export const STATE_KEY = /^(?!\.)[A-Za-z0-9_\-:.=&/%]{1,256}$/;

// See SourceDefinition for why the type is erased.
// oxlint-disable-next-line typescript/no-explicit-any
export interface StateStoreDefinition<C = any> {
  readonly role: 'state';
  readonly type: string;
  readonly aliases?: readonly string[];
  readonly description: string;
  readonly config: ZodType<C>;
  readonly durable: boolean;
  readonly examples: readonly JsonObject[];
  open(config: C, context: PartContext): Promise<StateStore>;
  /** When absent, the doctor puts, gets and deletes a test key. */
  probe?(config: C, context: PartContext): Promise<ProbeFinding[]>;
}

export function defineStateStore<C>(
  definition: Omit<StateStoreDefinition<C>, 'role'>,
): StateStoreDefinition<C> {
  return Object.freeze({ role: 'state' as const, ...definition });
}
