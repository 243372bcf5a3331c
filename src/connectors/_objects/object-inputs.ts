/** Objects as inputs of the readers of files; several are requested ahead. */
import { ConnectorError } from '../../lib/errors.ts';
import type { ObjectContent, StoredObject } from '../../lib/objects/object-store.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { codecOfName, decompress, withoutCodecSuffix } from '../_files/compression/compression.ts';
import { formatOfName, type Format } from '../_files/formats.ts';
import { ORC_UNREAD } from '../_files/orc.ts';
import { decrypted } from '../_files/read/decrypt.ts';
import type { Input } from '../_files/read/input.ts';
import { objectsToRead, type Listing } from './listed-objects.ts';
import { objectRanges } from './object-ranges.ts';
import { readObject, requestObject, type ReadOptions } from './read-object.ts';

export interface ObjectListing extends Listing {
  /** What a record of `raw_text` has besides the content. */
  readonly origin: (key: string) => JsonObject;
}

interface Ahead {
  readonly input: Input;
  /** Sends the request for its content. */
  start(): void;
  /** Ends a request whose content nobody has read. */
  cancel(): void;
}

export async function* objectInputs(listing: ObjectListing): AsyncGenerator<Input> {
  const objects = objectsToRead(listing);
  const most = Math.max(1, listing.config.concurrency);
  const ahead: Ahead[] = [];
  let isAll = false;
  try {
    for (;;) {
      while (!isAll && ahead.length < most) {
        const next = await objects.next();
        if (next.done === true) isAll = true;
        else {
          const one = inputOf(next.value, listing);
          if (one !== undefined) ahead.push(one);
        }
      }
      const [head, ...others] = ahead;
      if (head === undefined) return;
      for (const one of others) one.start();
      ahead.shift();
      yield head.input;
    }
  } finally {
    for (const one of ahead) one.cancel();
    await objects.return(undefined);
  }
}

function inputOf(object: StoredObject, listing: ObjectListing): Ahead | undefined {
  const { store, config, context } = listing;
  const { key } = object;
  const name = `${store.address}${key}`;
  const format = formatFor(key, name, listing);
  if (format === undefined) return undefined;
  const { signal } = context;
  const codec = config.compression === 'auto' ? codecOfName(key) : config.compression;
  const reading: ReadOptions = {
    store,
    key,
    verifyLength: config.verify_length,
    verifyChecksum: config.verify_checksum,
    context,
    signal,
  };
  const isPlain = codec === 'none' && config.encryption === undefined;
  const inRanges = format === 'parquet' && isPlain;
  let first: Promise<ObjectContent> | undefined;
  const input: Input = {
    name,
    key,
    mtimeMs: object.lastModified.getTime(),
    format,
    origin: listing.origin(key),
    ranges: inRanges ? () => objectRanges({ store, object, context, signal }) : undefined,
    blocks: () => {
      const stored = readObject(reading, first);
      first = undefined;
      return decompress(decrypted(stored, { config, format, name }), codec, name);
    },
  };
  return {
    input,
    start: () => {
      if (inRanges || first !== undefined) return;
      first = requestObject(reading);
      first.catch(() => {});
    },
    cancel: () => void first?.then((content) => content.cancel()).catch(() => {}),
  };
}

function formatFor(key: string, name: string, { config, context }: Listing): Format | undefined {
  const { file_format: told, strict } = config;
  const format = told === 'auto' ? formatOfName(withoutCodecSuffix(key)) : told;
  if (format === 'orc')
    throw new ConnectorError('refused', `cannot read ${name}: ${ORC_UNREAD.message}`, {
      hint: ORC_UNREAD.hint,
    });
  if (format !== undefined) return format;
  if (strict || config.object_keys !== undefined)
    throw new ConnectorError('refused', `cannot tell the format of ${name} by its extension`, {
      hint: 'say the format in the config of the source',
    });
  context.env.log.warn('skipped an object of unknown extension', { object: name });
  return undefined;
}
