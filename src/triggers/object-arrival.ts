import { hash } from 'node:crypto';
import { z } from 'zod';
import { finding, integer, nullAsAbsent, optional, text } from '../kit/schema.ts';
import {
  defineTrigger,
  type Look,
  type LookRequest,
  type TriggerEvent,
  type Watcher,
} from '../kit/trigger.ts';
import { openGcs } from '../lib/objects/gcs-objects.ts';
import { openS3 } from '../lib/objects/s3-objects.ts';
import {
  newnessOf,
  nothingSeen,
  readSeen,
  SeenObjects,
  versionOf,
  writeSeen,
  type Seen,
} from './seen-objects.ts';
import type { ObjectStore, StoredObject } from '../lib/objects/object-store.ts';
import { pollInterval } from './poll-interval.ts';

const bucket = () => text().meta({ description: 'Name of the bucket.' });
const prefix = () =>
  nullAsAbsent(z.string().default('')).meta({
    description: 'What the keys of its objects start with; every object when absent.',
  });

const endpoint = (description: string) =>
  optional(
    text().superRefine((url, ctx) => {
      if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return;
      ctx.addIssue(finding('invalid_value', 'expected an address such as `https://host:port`'));
    }),
  ).meta({ description });

const store = () =>
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.enum(['s3', 'object_store_a']).meta({ description: 'Amazon S3, or compatible.' }),
      bucket: bucket(),
      prefix: prefix(),
      region: optional(text()).meta({ description: 'Region of the bucket.' }),
      endpoint: endpoint('Address of a compatible store.'),
    }),
    z.strictObject({
      type: z.enum(['gcs', 'object_store_b']).meta({ description: 'Google Cloud Storage.' }),
      bucket: bucket(),
      prefix: prefix(),
      endpoint: endpoint('Address of an emulator, or another way to the store.'),
    }),
  ]);

const fields = () =>
  z.strictObject({
    store: store().meta({ description: 'Where objects arrive.' }),
    poll_interval_secs: pollInterval(),
    mode: nullAsAbsent(z.enum(['per_object', 'batch']).default('per_object')).meta({
      description: 'Whether each new object starts a run, or all that were found together.',
    }),
    start_at: nullAsAbsent(z.enum(['now', 'beginning']).default('now')).meta({
      description: 'Whether objects count that were there before the server first started.',
    }),
    late_secs: nullAsAbsent(integer({ min: 0 }).default(3600)).meta({
      description:
        'How much older than the newest one an object may be when it appears; uploads may take so long.',
    }),
  });
export type ObjectArrival = z.output<ReturnType<typeof fields>>;
type Config = ObjectArrival;

/** Those behind are found by the next look: a run starts for each, and the queue is bounded. */
const MOST_EVENTS = 10_000;

export const objectArrival = defineTrigger<Config>({
  type: 'object_arrival',
  description: 'New objects in a bucket.',
  fields,
  examples: [
    { store: { type: 's3', bucket: 'landing', prefix: 'orders/', region: 'eu-north-1' } },
    { store: { type: 'gcs', bucket: 'landing' }, mode: 'batch', start_at: 'beginning' },
  ],
  tokens: ({ mode, store: { bucket: name } }) => {
    const ofBucket = { name: 'bucket', example: name, inRunName: true } as const;
    if (mode === 'batch') return [ofBucket, { name: 'object_count', example: '1' }];
    return [
      ofBucket,
      { name: 'object_key', example: 'key', inRunName: true },
      { name: 'size', example: '1' },
      { name: 'last_modified', example: '2026-01-31T08:00:00Z' },
    ];
  },
  starts: ({ mode, store: { bucket: name, prefix: start }, poll_interval_secs: every }) =>
    `${mode === 'batch' ? 'new objects' : 'each new object'} in ${name}/${start}, looked for every ${every} s`,
  secrets: () => [],
  events: {
    by: 'watching',
    intervalSecs: (config) => config.poll_interval_secs,
    open: async (config, { name }) => watchObjects(config, name, await openStore(config.store)),
  },
});

/** Lists every object whose key starts with the prefix, page by page, in any order. */
export type ListObjects = (signal: AbortSignal) => AsyncIterable<readonly StoredObject[]>;

interface OpenStore {
  readonly list: ListObjects;
  close?(): void;
}

async function openStore(place: Config['store']): Promise<OpenStore> {
  const opened = await openedStore(place);
  return {
    list: (signal) => opened.list({ prefix: place.prefix, signal }),
    close: () => opened.close(),
  };
}

/** Logins are those of the machine. */
function openedStore(place: Config['store']): Promise<ObjectStore> {
  const { bucket: name, endpoint: at } = place;
  if (place.type !== 's3' && place.type !== 'object_store_a')
    return openGcs({ bucket: name, endpoint: at, auth: undefined });
  const { region } = place;
  return openS3({ bucket: name, endpoint: at, region, login: undefined, pathStyle: undefined });
}

export function watchObjects(config: ObjectArrival, name: string, opened: OpenStore): Watcher {
  const windowMs = Math.max(1, config.late_secs * 1000);
  return {
    look: (request) => look(request, { config, name, windowMs, list: opened.list }),
    close: async () => opened.close?.(),
  };
}

interface Watching {
  readonly config: Config;
  readonly name: string;
  readonly windowMs: number;
  readonly list: ListObjects;
}

async function look(request: LookRequest, watching: Watching): Promise<Look> {
  const { config, windowMs, list } = watching;
  const known = knownBefore(request, config);
  const found = new Found(config.mode === 'batch' ? Infinity : MOST_EVENTS);
  // Without anything to compare with, everything that is there now is known.
  const all = new SeenObjects(known ?? nothingSeen(identityOf(config), 0), windowMs);
  for await (const page of list(request.signal))
    for (const object of page) {
      if (known === undefined) all.add(object);
      else if (newnessOf(object, known, windowMs) !== 'known') found.add(object);
    }
  if (known === undefined) return nothingNew(all.result());
  const objects = found.sorted();
  return config.mode === 'batch'
    ? batchOf(objects, known, watching)
    : oneByOne(objects, known, watching);
}

/** Undefined at the very first look, where what is there now does not count. */
function knownBefore({ memory, awaySince }: LookRequest, config: Config): Seen | undefined {
  const of = identityOf(config);
  const before = readSeen(memory, of);
  if (before !== undefined) return before;
  if (config.start_at === 'beginning') return nothingSeen(of, 0);
  // Some stores give times in whole seconds.
  return awaySince && nothingSeen(of, Math.floor(awaySince.getTime() / 1000) * 1000);
}

function nothingNew(seen: Seen): Look {
  return { events: [], memoryAfter: () => writeSeen(seen) };
}

function oneByOne(
  objects: readonly StoredObject[],
  known: Seen,
  { config, name, windowMs }: Watching,
): Look {
  const { bucket: from } = config.store;
  return {
    events: objects.map((object) => {
      const time = object.lastModified.toISOString();
      const key = `trig:${name}:${from}:${object.key}:${time}`;
      const isOther = newnessOf(object, known, windowMs) === 'other version';
      const values = {
        bucket: from,
        object_key: object.key,
        size: String(object.size),
        last_modified: time,
      };
      return eventOf(isOther ? `${key}:${versionOf(object)}` : key, values, {
        bucket: from,
        object_key: object.key,
      });
    }),
    memoryAfter: (taken) => writeSeen(seenWith(known, objects.slice(0, taken), windowMs)),
  };
}

function batchOf(
  objects: readonly StoredObject[],
  known: Seen,
  { config, name, windowMs }: Watching,
): Look {
  const newest = objects.at(-1);
  if (newest === undefined) return nothingNew(known);
  const { bucket: from } = config.store;
  const values = { bucket: from, object_count: String(objects.length) };
  const key = `trig:${name}:${newest.lastModified.toISOString()}`;
  const isUsed = known.watermark !== null && newest.lastModified.getTime() <= known.watermark;
  return {
    events: [eventOf(isUsed ? `${key}:${digestOf(objects)}` : key, values, values)],
    memoryAfter: (taken) => writeSeen(taken === 0 ? known : seenWith(known, objects, windowMs)),
  };
}

/** Tells late objects from those whose run had the same watermark. */
function digestOf(objects: readonly StoredObject[]): string {
  const names = objects.map(({ key, lastModified }) => `${lastModified.getTime()} ${key}`);
  return hash('sha256', names.join('\n')).slice(0, 16);
}

function seenWith(known: Seen, objects: readonly StoredObject[], windowMs: number): Seen {
  const seen = new SeenObjects(known, windowMs);
  for (const object of objects) seen.add(object);
  return seen.result();
}

function eventOf(
  key: string,
  values: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): TriggerEvent {
  return { key, labels, value: (token) => values[token] };
}

function identityOf({ store: { type, bucket: from, prefix: start } }: Config): string {
  const kind = type === 's3' || type === 'object_store_a' ? 's3' : 'gcs';
  return `${kind} ${from}/${start}`;
}

/** New objects, the oldest first; of very many the oldest. */
class Found {
  readonly #most: number;
  #objects: StoredObject[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  add(object: StoredObject): void {
    this.#objects.push(object);
    if (this.#objects.length >= 2 * this.#most) this.#objects = this.sorted();
  }

  sorted(): StoredObject[] {
    this.#objects.sort(
      (a, b) => a.lastModified.getTime() - b.lastModified.getTime() || (a.key < b.key ? -1 : 1),
    );
    return this.#objects.slice(0, this.#most);
  }
}
