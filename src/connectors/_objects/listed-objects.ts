/** Which objects a source reads, in order. However many a bucket has, few are in memory. */
import { posix } from 'node:path';
import type { SourceContext } from '../../kit/context.ts';
import { isInShare } from '../../kit/share.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { ObjectStore, StoredObject } from '../../lib/objects/object-store.ts';
import { isTemporaryName } from '../_files/output/temporary-path.ts';
import {
  compareInputs,
  isAfter,
  readBookmark,
  type Dated,
  type ReadPosition,
} from '../_files/read/read-position.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { ObjectReading } from './source-fields.ts';

export interface Listing {
  readonly store: ObjectStore;
  readonly config: ObjectReading;
  /** With the values of the parent record. */
  readonly prefix: string;
  readonly context: SourceContext;
  readonly bookmark: JsonValue | undefined;
}

/** So many objects are sorted by time at once; more are listed again. */
const SORTED = 50_000;
const STABLE_SECS = 2;

export async function* objectsToRead(listing: Listing): AsyncGenerator<StoredObject> {
  const { config, bookmark, context } = listing;
  const most = config.max_objects ?? Infinity;
  let count = 0;
  for await (const object of allObjects(listing, bookmark)) {
    if (isInShare(object.key, context.share)) yield object;
    count += 1;
    if (count >= most) return;
  }
}

function allObjects(
  listing: Listing,
  bookmark: JsonValue | undefined,
): AsyncIterable<StoredObject> {
  const { object_keys: keys, incremental } = listing.config;
  if (keys !== undefined) return namedObjects(listing, keys);
  if (incremental === undefined) return wanted(listing, undefined);
  const position = bookmark === undefined ? undefined : readBookmark(bookmark, incremental.by);
  return incremental.by === 'name' ? wanted(listing, position?.key) : byTime(listing, position);
}

async function* namedObjects(
  { store, context }: Listing,
  keys: readonly string[],
): AsyncGenerator<StoredObject> {
  for (const key of keys) {
    const object = await store.look(key, context.signal);
    if (object === undefined)
      throw new ConnectorError('missing', `there is no object ${store.address}${key}`);
    yield object;
  }
}

/** In the order of the keys. */
async function* wanted(listing: Listing, after: string | undefined): AsyncGenerator<StoredObject> {
  const { store, context, config, prefix } = listing;
  const { signal } = context;
  const secs = config.stable_for_secs ?? (config.incremental?.by === 'mtime' ? STABLE_SECS : 0);
  const newest = secs === 0 ? Infinity : context.env.clock.now().getTime() - secs * 1000;
  for await (const page of store.list({ prefix, after, signal }))
    for (const object of page)
      if (isContent(object) && matches(object.key, listing)) {
        if (object.lastModified.getTime() <= newest) yield object;
        // Those behind it would be read, and it would be taken for one that was.
        else if (config.incremental?.by === 'name') return;
      }
}

/** Not what stands for a folder, and no output that is not finished. */
function isContent({ key }: StoredObject): boolean {
  return !key.endsWith('/') && !isTemporaryName(key);
}

function matches(key: string, { config, prefix }: Listing): boolean {
  return (
    config.pattern === undefined || posix.matchesGlob(key.slice(prefix.length), config.pattern)
  );
}

/** In the order of the times, and of the keys among those of one time. */
async function* byTime(
  listing: Listing,
  position: ReadPosition | undefined,
): AsyncGenerator<StoredObject> {
  const compare = compareInputs('mtime');
  const oldestFirst = (a: StoredObject, b: StoredObject): number => compare(dated(a), dated(b));
  for (let from = position; ;) {
    const { objects, isAll } = await oldest(listing, from, oldestFirst);
    yield* objects;
    const last = objects.at(-1);
    if (isAll || last === undefined) return;
    from = { mtimeMs: last.lastModified.getTime(), key: last.key };
  }
}

async function oldest(
  listing: Listing,
  from: ReadPosition | undefined,
  oldestFirst: (a: StoredObject, b: StoredObject) => number,
): Promise<{ readonly objects: readonly StoredObject[]; readonly isAll: boolean }> {
  let objects: StoredObject[] = [];
  let isAll = true;
  for await (const object of wanted(listing, undefined)) {
    if (from !== undefined && !isAfter(dated(object), from, 'mtime')) continue;
    objects.push(object);
    if (objects.length < 2 * SORTED) continue;
    objects = objects.sort(oldestFirst).slice(0, SORTED);
    isAll = false;
  }
  return { objects: objects.sort(oldestFirst).slice(0, isAll ? undefined : SORTED), isAll };
}

export function dated({ key, lastModified }: StoredObject): Dated {
  return { name: key, key, mtimeMs: lastModified.getTime() };
}
