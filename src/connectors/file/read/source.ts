import { encodingsOf } from '../../../kit/declared-columns.ts';
import { pagesWithTypes, typedPages, typedRecord } from '../../../kit/typed-pages.ts';
import type { SourceContext } from '../../../kit/context.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import { Page } from '../../../kit/page.ts';
import { rejectingLane, type RejectedRecord } from '../../../kit/rejected-record.ts';
import {
  defineSource,
  type Discovered,
  type ReadRequest,
  type Source,
} from '../../../kit/source.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, type JsonValue } from '../../../lib/text/json.ts';
import { withoutCodecSuffix } from '../../_files/compression/compression.ts';
import { jsonOf } from '../../_files/json/json-lines-file.ts';
import { requireOneSchema } from '../../_files/parquet/parquet-schemas.ts';
import { fileUri } from '../../_files/paths.ts';
import { formatOfName, isUrl, sourceConfig, type FileSourceConfig } from './source-config.ts';
import { inputsOf, type Input } from './inputs.ts';
import { openParquet, pagesOf, type Reading } from './read-input.ts';

const LINES = [JSON_LINES.name];

export const fileSource = defineSource<FileSourceConfig>({
  type: 'file',
  description:
    'Reads files of many formats: one, a folder, a pattern or an http(s) address; can read only what is new.',
  config: sourceConfig,
  concurrencyKeys: ['concurrency'],
  examples: [
    { path: 'data/orders.csv' },
    { path: 'inbox', recursive: true, incremental: { by: 'mtime' }, stable_for_secs: 30 },
    { path: 'drop/*.csv', incremental: { by: 'name' }, on_error: 'dlq' },
    { path: 'exports/*.xml.gz', format: 'xml', xml: { record_element: 'order' }, strict: true },
    {
      path: 'https://example.com/prices.jsonl',
      headers: { accept: 'application/x-ndjson' },
      http_retries: 5,
    },
  ],
  capabilities: (config) => ({
    replay: 'none',
    bookmarks: config.incremental !== undefined,
    columns: formatOf(config) === 'csv',
    ...encodingsOf(config, LINES),
    ...(config.on_error === 'dlq' ? rejectingLane(LINES) : {}),
  }),
  quarantines: ({ on_error: onError }) => onError === 'dlq',
  reread,
  declares: ({ columns }) => columns,
  infersTypes: ({ infer_types: infers }) => infers,
  datasetUri: (config) => (isUrl(config.path) ? withoutSecrets(config.path) : fileUri(config.path)),
  localPath: (config) => (isUrl(config.path) ? undefined : config.path),
  open: async (config, context) =>
    ({
      pages: (request) =>
        config.infer_types ? inferred(config, context, request) : pages(config, context, request),
      close: async () => {},
    }) satisfies Source,
  discover,
});

function withoutSecrets(address: string): string {
  const url = new URL(address);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

async function discover(config: FileSourceConfig, context: SourceContext): Promise<Discovered[]> {
  const inputs = await inputsOf(config, context);
  return inputs.map(({ name, format }) => ({
    name,
    kind: 'file',
    config_patch: { path: name, format },
  }));
}

/** One schema for the records of all files. */
async function* inferred(
  config: FileSourceConfig,
  context: SourceContext,
  { limit, ...request }: ReadRequest,
): AsyncGenerator<Page> {
  const inputs = newInputs(await inputsOf(config, context), config, request.bookmark);
  const read = (most: number | undefined): AsyncIterable<Page> =>
    pagesOfAll(inputs, { config, context, request, limit: most });
  yield* pagesWithTypes(read, {
    config,
    name: config.path,
    fromText: inputs.every(({ format }) => TEXT_FORMATS.has(format)),
    infersFromText: inputs.every(({ format }) => format === 'csv' || format === 'xml'),
    limit,
    log: context.env.log,
    rejects: isRejecting(config, request),
  });
}

async function* pages(
  config: FileSourceConfig,
  context: SourceContext,
  { limit, ...request }: ReadRequest,
): AsyncGenerator<Page> {
  const inputs = newInputs(await inputsOf(config, context), config, request.bookmark);
  yield* pagesOfAll(inputs, { config, context, request, limit });
}

interface ReadingAll extends Pick<Reading, 'config' | 'context'> {
  readonly request: Omit<ReadRequest, 'limit'>;
  readonly limit: number | undefined;
}

async function* pagesOfAll(
  inputs: readonly Input[],
  { config, context, request, limit }: ReadingAll,
): AsyncGenerator<Page> {
  const columnar = inputs.filter((input) => input.format === 'parquet');
  await requireOneSchema(columnar, {
    concurrency: config.concurrency,
    open: (input) => openParquet(input, config, context),
  });
  const reading: Reading = {
    config,
    context,
    lane: request.lane,
    rejects: isRejecting(config, request),
    left: limit ?? Infinity,
    avroSchema: config.avro.schema,
    fields: undefined,
  };
  const isOneFormat = inputs.every(({ format }) => format === inputs[0]?.format);
  for (const input of inputs) {
    if (reading.left === 0) return;
    const told = isOneFormat
      ? withFields(pagesOf(input, reading), reading)
      : pagesOf(input, reading);
    const read = typed(told, input, reading);
    yield* config.incremental === undefined
      ? counted(read, reading)
      : bookmarked(counted(read, reading), input, reading);
  }
}

function reread(
  config: FileSourceConfig,
  { payload, input: name }: Pick<RejectedRecord, 'payload' | 'input'>,
): JsonValue | undefined {
  const format = formatOf(config, name);
  if (typeof payload === 'string' && format !== 'json_lines') return undefined;
  const fromText = format !== undefined && TEXT_FORMATS.has(format);
  return typedRecord(jsonOf(payload, { name }), config, { name, fromText });
}

/** Of one file, or of all files that the path can mean. */
function formatOf({ format, path }: FileSourceConfig, name = path): string | undefined {
  return format === 'auto' ? formatOfName(withoutCodecSuffix(name)) : format;
}

const TEXT_FORMATS: ReadonlySet<string> = new Set(['csv', 'xml', 'xlsx']);

function typed(
  read: AsyncIterable<Page>,
  { name, format }: Input,
  { config: { columns, infer_types: infers }, rejects }: Reading,
): AsyncIterable<Page> {
  return columns === undefined || infers
    ? read
    : typedPages(read, columns, { name, fromText: TEXT_FORMATS.has(format), rejects });
}

function isRejecting(config: FileSourceConfig, { rejects }: Omit<ReadRequest, 'limit'>): boolean {
  return config.on_error === 'dlq' && rejects === true;
}

/** Files of several formats have no schema in common. */
async function* withFields(read: AsyncIterable<Page>, reading: Reading): AsyncGenerator<Page> {
  for await (const page of read) yield page.withSchema(reading.fields);
}

async function* counted(read: AsyncIterable<Page>, reading: Reading): AsyncGenerator<Page> {
  for await (const page of read) {
    reading.left -= page.count;
    yield page;
  }
}

/**
 * The last page of a file says that the file is done; a file without records says so with an empty
 * page.
 */
async function* bookmarked(
  read: AsyncIterable<Page>,
  input: Input,
  reading: Reading,
): AsyncGenerator<Page> {
  let last: Page | undefined;
  for await (const page of read) {
    if (last !== undefined) yield last;
    last = page;
  }
  // A file that the limit cut short is read again.
  if (last !== undefined && reading.left === 0) yield last;
  else yield withBookmark(last ?? Page.ofRecords([]), bookmarkOf(input, reading.config));
}

function withBookmark(page: Page, bookmark: JsonValue): Page {
  const { bytes, rejected, schema, columns } = page;
  const options = { bookmark, bytes, schema, rejected, release: () => page.release() };
  if (columns !== undefined) return Page.ofColumns(columns, options);
  return page.form.form === 'bytes'
    ? Page.ofBlock(JSON_LINES, page.block(JSON_LINES), page.count, options)
    : Page.ofRecords(page.records(), options);
}

function bookmarkOf(input: Input, config: FileSourceConfig): JsonValue {
  return config.incremental?.by === 'name'
    ? { name: input.key }
    : { mtime_ms: mtimeOf(input), path: input.key };
}

function mtimeOf(input: Input): number {
  if (input.mtimeMs !== undefined) return input.mtimeMs;
  throw new ConnectorError(
    'data',
    `${input.name} does not say when it changed (no Last-Modified)`,
    {
      hint: 'use `incremental: {by: name}`',
    },
  );
}

/** What the bookmark has not seen yet, in the order in which bookmarks grow. */
function newInputs(
  inputs: readonly Input[],
  config: FileSourceConfig,
  bookmark: JsonValue | undefined,
): readonly Input[] {
  if (config.incremental === undefined) return inputs;
  const { by } = config.incremental;
  const sorted = [...inputs].sort(by === 'name' ? byName : byTime);
  if (bookmark === undefined) return sorted;
  const seen = readBookmark(bookmark, by);
  return sorted.filter((input) =>
    by === 'name'
      ? input.key > seen.key
      : compareTimes({ mtimeMs: mtimeOf(input), key: input.key }, seen) > 0,
  );
}

interface Seen {
  readonly mtimeMs: number;
  readonly key: string;
}

function readBookmark(bookmark: JsonValue, by: 'mtime' | 'name'): Seen {
  if (isObject(bookmark)) {
    const { mtime_ms: mtimeMs, path, name } = bookmark;
    if (by === 'name' && typeof name === 'string') return { mtimeMs: 0, key: name };
    if (by === 'mtime' && typeof mtimeMs === 'number' && typeof path === 'string')
      return { mtimeMs, key: path };
  }
  throw new ConnectorError(
    'data',
    `the stored bookmark does not fit \`incremental: {by: ${by}}\``,
    {
      hint: 'delete the state of this row to start over',
    },
  );
}

function byName(a: Input, b: Input): number {
  return a.key < b.key ? -1 : 1;
}

function byTime(a: Input, b: Input): number {
  return compareTimes({ mtimeMs: mtimeOf(a), key: a.key }, { mtimeMs: mtimeOf(b), key: b.key });
}

function compareTimes(a: Seen, b: Seen): number {
  if (a.mtimeMs !== b.mtimeMs) return a.mtimeMs - b.mtimeMs;
  if (a.key === b.key) return 0;
  return a.key < b.key ? -1 : 1;
}
