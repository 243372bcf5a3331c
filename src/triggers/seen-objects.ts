/**
 * Which objects of a bucket are new. Objects are compared with the newest one that was seen; those
 * that were stored shortly before it are remembered one by one, because an upload that takes long
 * may appear with the time at which it began.
 */
import { hash } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import type { StoredObject } from '../lib/objects/object-store.ts';

/** The objects that were seen, as data. */
export interface Seen {
  /** Which bucket and prefix it is about. */
  readonly of: string;
  /** The latest time of an object that was seen, in milliseconds. */
  readonly watermark: number | null;
  /** Objects of an earlier time are never new. */
  readonly floor: number;
  /** By identity: time and version of those within the window before the watermark. */
  readonly recent: ReadonlyMap<string, SeenObject>;
}

interface SeenObject {
  readonly at: number;
  readonly version: string;
}

const VERSION_CHARS = 16;
/** The list is cleaned only when it has grown: not for every object of a large bucket. */
const CLEANED_AT = 20_000;

export function nothingSeen(of: string, floor: number): Seen {
  return { of, watermark: null, floor, recent: new Map() };
}

/** Undefined for what is about another bucket, or nothing at all. */
export function readSeen(memory: JsonValue | undefined, of: string): Seen | undefined {
  if (memory === undefined || !isObject(memory) || memory['of'] !== of) return undefined;
  const { watermark, floor, recent } = memory as unknown as {
    readonly watermark: number | null;
    readonly floor: number;
    readonly recent: Readonly<Record<string, readonly [number, string]>>;
  };
  const entries = Object.entries(recent).map(
    ([id, [at, version]]) => [id, { at, version }] as const,
  );
  return { of, watermark, floor, recent: new Map(entries) };
}

export function writeSeen({ of, watermark, floor, recent }: Seen): JsonObject {
  const entries = [...recent].map(([id, { at, version }]): [string, JsonValue] => [
    id,
    [at, version],
  ]);
  return { of, watermark, floor, recent: Object.fromEntries(entries) };
}

export type Newness = 'new' | 'other version' | 'known';

export function newnessOf(object: StoredObject, seen: Seen, windowMs: number): Newness {
  const at = object.lastModified.getTime();
  if (at < seen.floor) return 'known';
  if (seen.watermark !== null && at <= seen.watermark - windowMs) return 'known';
  const before = seen.recent.get(identityOf(object));
  if (before === undefined) return 'new';
  return before.version === versionOf(object) ? 'known' : 'other version';
}

/** What is seen after these objects were. */
export class SeenObjects {
  readonly #before: Seen;
  readonly #windowMs: number;
  #watermark: number | null;
  readonly #recent: Map<string, SeenObject>;
  #cleanAt = CLEANED_AT;

  constructor(before: Seen, windowMs: number) {
    this.#before = before;
    this.#windowMs = windowMs;
    this.#watermark = before.watermark;
    this.#recent = new Map(before.recent);
  }

  add(object: StoredObject): void {
    const at = object.lastModified.getTime();
    if (this.#watermark === null || at > this.#watermark) this.#watermark = at;
    if (at <= this.#watermark - this.#windowMs) return;
    this.#recent.set(identityOf(object), { at, version: versionOf(object) });
    if (this.#recent.size < this.#cleanAt) return;
    this.#clean();
    this.#cleanAt = Math.max(CLEANED_AT, 2 * this.#recent.size);
  }

  result(): Seen {
    this.#clean();
    return { ...this.#before, watermark: this.#watermark, recent: this.#recent };
  }

  #clean(): void {
    const from = (this.#watermark ?? 0) - this.#windowMs;
    for (const [id, { at }] of this.#recent) if (at <= from) this.#recent.delete(id);
  }
}

/** The same for the same key and time. */
function identityOf({ key, lastModified }: StoredObject): string {
  return hash('sha256', `${lastModified.getTime()} ${key}`, 'base64url').slice(0, 16);
}

export function versionOf({ version }: StoredObject): string {
  return version.replaceAll(/[^\w-]/g, '').slice(0, VERSION_CHARS);
}
