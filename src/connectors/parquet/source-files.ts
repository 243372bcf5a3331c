/** The files that a Parquet source reads: of this machine, or of a bucket. */
import type { z } from 'zod';
import type { SourceContext } from '../../kit/context.ts';
import { isInShare } from '../../kit/share.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { ObjectStore, StoredObject } from '../../lib/objects/object-store.ts';
import { listGlob } from '../_files/listing.ts';
import { isTemporaryName } from '../_files/output/temporary-path.ts';
import { ParquetReader } from '../_files/parquet/parquet-reader.ts';
import { resolvePath } from '../_files/paths.ts';
import { objectRanges } from '../_objects/object-ranges.ts';
import { openPlace } from '../_objects/places.ts';
import type { location } from './source-location.ts';

export interface ParquetInput {
  readonly name: string;
  readonly open: () => Promise<ParquetReader>;
}

interface Reading {
  readonly columns: readonly string[] | undefined;
  readonly context: SourceContext;
}

type Location = z.output<typeof location>;
type Bucket = Exclude<Location, { readonly type: 'local_path' | 'glob' }>;

/** What the location, as it is written, is many of. */
export function dividedIn(source: JsonValue | undefined): 'objects' | 'files' | undefined {
  if (!isObject(source) || source['type'] === 'local_path' || source['key'] !== undefined)
    return undefined;
  return source['type'] === 'glob' ? 'files' : 'objects';
}

/** In the order in which they are read. */
export async function localInputs(
  source: Exclude<Location, Bucket>,
  { columns, context }: Reading,
): Promise<readonly ParquetInput[]> {
  const paths = await pathsOf(source, context);
  const { signal } = context;
  return paths.map((path) => ({
    name: path,
    open: () => ParquetReader.open({ path, signal, columns, omitNulls: true }),
  }));
}

async function pathsOf(
  source: Exclude<Location, Bucket>,
  { env, signal }: SourceContext,
): Promise<readonly string[]> {
  if (source.type === 'local_path') return [resolvePath(env.cwd, source.path)];
  const { files } = await listGlob(resolvePath(env.cwd, source.pattern), signal);
  if (files.length === 0) throw new ConnectorError('missing', `no file matches ${source.pattern}`);
  return files.map((file) => file.path);
}

/** In the order of the keys; few of them are in memory. */
export async function* objectInputs(
  source: Bucket,
  { columns, context }: Reading,
): AsyncGenerator<ParquetInput> {
  const store = await openPlace(source, context);
  const { signal } = context;
  try {
    for await (const object of objectsOf(source, store, context)) {
      const name = store.address + object.key;
      const open = (): Promise<ParquetReader> =>
        ParquetReader.ofRanges(objectRanges({ store, object, context, signal }), {
          path: name,
          signal,
          columns,
          omitNulls: true,
        });
      yield { name, open };
    }
  } finally {
    store.close();
  }
}

async function* objectsOf(
  { key, prefix = '' }: Bucket,
  store: ObjectStore,
  { signal, share }: Pick<SourceContext, 'signal' | 'share'>,
): AsyncGenerator<StoredObject> {
  if (key !== undefined) {
    const object = await store.look(key, signal);
    if (object === undefined)
      throw new ConnectorError('missing', `there is no object ${store.address}${key}`);
    yield object;
    return;
  }
  let count = 0;
  for await (const page of store.list({ prefix, signal }))
    for (const object of page) {
      if (object.key.endsWith('/') || isTemporaryName(object.key)) continue;
      count += 1;
      if (isInShare(object.key, share)) yield object;
    }
  if (count === 0)
    throw new ConnectorError('missing', `no object begins with ${store.address}${prefix}`);
}
