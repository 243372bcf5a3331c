/** What the sources of objects have in common. */
import type { SourceContext } from '../../kit/context.ts';
import { encodingsOf } from '../../kit/declared-columns.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import type { Page } from '../../kit/page.ts';
import { rejectingLane, type RejectedRecord } from '../../kit/rejected-record.ts';
import type {
  Discovered,
  ReadRequest,
  Source,
  SourceCapabilities,
  SourceDefinition,
} from '../../kit/source.ts';
import { typedRecord } from '../../kit/typed-pages.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { withoutCodecSuffix } from '../_files/compression/compression.ts';
import { formatOfName, type Format } from '../_files/formats.ts';
import { jsonOf } from '../_files/json/json-lines-file.ts';
import { withParentValues } from '../_files/read/parent-values.ts';
import { folderFieldsLane, withFolderFields } from '../_files/read/folder-fields.ts';
import type { Input } from '../_files/read/input.ts';
import { isFromText, pagesOfInputs } from '../_files/read/read-inputs.ts';
import { bookmarkOf } from '../_files/read/read-position.ts';
import { objectInputs } from './object-inputs.ts';
import type { ObjectReading } from './source-fields.ts';

const LINES = [JSON_LINES.name];

export interface SourceOfObjects<C extends ObjectReading> {
  readonly openStore: (config: C, context: SourceContext) => Promise<ObjectStore>;
  /** What a record of `raw_text` has besides the content. */
  readonly origin?: (key: string) => JsonObject;
  /** The config that reads one key alone. */
  readonly patchForKey: (key: string, config: C) => JsonObject;
  /** The config that reads what is below a prefix. */
  readonly patchForPrefix?: (prefix: string) => JsonObject;
}

type Shared =
  | 'concurrencyKeys'
  | 'capabilities'
  | 'quarantines'
  | 'reread'
  | 'declares'
  | 'infersTypes'
  | 'divides'
  | 'open'
  | 'discover';

/** The members of a definition that are the same for every store. */
export function sourceOfObjects<C extends ObjectReading>(
  kind: SourceOfObjects<C>,
): Pick<SourceDefinition<C>, Shared> {
  return {
    concurrencyKeys: ['concurrency'],
    capabilities: capabilitiesOf,
    quarantines: ({ on_error: onError }) => onError === 'dlq',
    reread,
    declares: ({ columns }) => columns,
    infersTypes: ({ infer_types: infers }) => infers,
    divides: () => 'objects',
    open: (config, context) => openSource(kind, config, context),
    discover: (config, context) => discover(kind, config, context),
  };
}

function capabilitiesOf(config: ObjectReading): SourceCapabilities {
  return {
    replay: 'none',
    bookmarks: config.incremental !== undefined,
    columns: config.file_format === 'csv',
    ...encodingsOf(config, LINES),
    ...(config.on_error === 'dlq' ? rejectingLane(LINES) : {}),
    ...folderFieldsLane(config),
  };
}

async function openSource<C extends ObjectReading>(
  kind: SourceOfObjects<C>,
  config: C,
  context: SourceContext,
): Promise<Source> {
  const store = await kind.openStore(config, context);
  return {
    pages: (request) => pages(kind, { store, config, context, request }),
    close: async () => store.close(),
  };
}

interface Reading<C> {
  readonly store: ObjectStore;
  readonly config: C;
  readonly context: SourceContext;
  readonly request: ReadRequest;
}

function pages<C extends ObjectReading>(
  kind: SourceOfObjects<C>,
  { store, config, context, request }: Reading<C>,
): AsyncIterable<Page> {
  const prefix = withParentValues(config.prefix, context);
  const by = config.incremental?.by;
  const { file_format: format } = config;
  const inputs = {
    name: `${store.address}${prefix}`,
    ...(format === 'auto' || format === 'orc' ? {} : { formats: new Set([format]) }),
    each: objectInputs({
      store,
      config,
      prefix,
      context,
      bookmark: request.bookmark,
      origin: kind.origin ?? ((key) => ({ key })),
    }),
    loneRecords: false,
    bookmarkAfter: by === undefined ? undefined : (input: Input) => bookmarkOf(input, by),
  };
  return pagesOfInputs(inputs, { config, context, request });
}

function reread(
  config: ObjectReading,
  { payload, input: name }: Pick<RejectedRecord, 'payload' | 'input'>,
): JsonValue | undefined {
  const format = formatOf(config, name);
  if (typeof payload === 'string' && format !== 'json_lines') return undefined;
  const fromText = format !== undefined && isFromText(new Set([format]));
  const read = jsonOf(payload, { name });
  const record = config.hive_partitioning ? withFolderFields(read, name) : read;
  return typedRecord(record, config, { name, fromText });
}

function formatOf({ file_format: format }: ObjectReading, name: string): Format | undefined {
  const known = format === 'auto' ? formatOfName(withoutCodecSuffix(name)) : format;
  return known === 'orc' ? undefined : known;
}

/** The next level of keys: folders, or the objects where there are none. */
async function discover<C extends ObjectReading>(
  kind: SourceOfObjects<C>,
  config: C,
  context: SourceContext,
): Promise<Discovered[]> {
  const store = await kind.openStore(config, context);
  try {
    const { signal } = context;
    const { prefixes, objects } = await store.level({ prefix: config.prefix, signal });
    if (prefixes.length > 0)
      return prefixes.map((prefix) => ({
        name: prefix,
        kind: 'prefix',
        config_patch: kind.patchForPrefix?.(prefix) ?? { prefix },
      }));
    return objects
      .filter(({ key }) => !key.endsWith('/'))
      .map(({ key }) => ({
        name: key,
        kind: 'object',
        config_patch: kind.patchForKey(key, config),
      }));
  } finally {
    store.close();
  }
}
