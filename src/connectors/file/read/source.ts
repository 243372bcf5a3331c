import { encodingsOf } from '../../../kit/declared-columns.ts';
import { typedRecord } from '../../../kit/typed-pages.ts';
import type { SourceContext } from '../../../kit/context.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import type { Page } from '../../../kit/page.ts';
import { rejectingLane, type RejectedRecord } from '../../../kit/rejected-record.ts';
import {
  defineSource,
  type Discovered,
  type ReadRequest,
  type Source,
} from '../../../kit/source.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { withoutCodecSuffix } from '../../_files/compression/compression.ts';
import { formatOfName, type Format } from '../../_files/formats.ts';
import { jsonOf } from '../../_files/json/json-lines-file.ts';
import { isGlob } from '../../_files/listing.ts';
import { fileUri } from '../../_files/paths.ts';
import { folderFieldsLane, withFolderFields } from '../../_files/read/folder-fields.ts';
import type { Input } from '../../_files/read/input.ts';
import { isFromText, pagesOfInputs } from '../../_files/read/read-inputs.ts';
import {
  bookmarkOf,
  compareInputs,
  isAfter,
  readBookmark,
} from '../../_files/read/read-position.ts';
import { isUrl, sourceConfig, type FileSourceConfig } from './source-config.ts';
import { inputsOf } from './inputs.ts';

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
    { path: 'lake/**/*.parquet', hive_partitioning: true, columns: { year: 'int32' } },
    {
      path: 'https://example.com/prices.jsonl',
      headers: { accept: 'application/x-ndjson' },
      http_retries: 5,
    },
  ],
  divides: ({ path }) =>
    typeof path === 'string' && !isUrl(path) && (isGlob(path) || path.endsWith('/'))
      ? 'files'
      : undefined,
  capabilities: (config) => ({
    replay: 'none',
    bookmarks: config.incremental !== undefined,
    columns: formatOf(config) === 'csv',
    ...encodingsOf(config, LINES),
    ...(config.on_error === 'dlq' ? rejectingLane(LINES) : {}),
    ...folderFieldsLane(config),
  }),
  quarantines: ({ on_error: onError }) => onError === 'dlq',
  reread,
  declares: ({ columns }) => columns,
  infersTypes: ({ infer_types: infers }) => infers,
  datasetUri: (config) => (isUrl(config.path) ? withoutSecrets(config.path) : fileUri(config.path)),
  localPath: (config) => (isUrl(config.path) ? undefined : config.path),
  open: async (config, context) =>
    ({
      pages: (request) => pages(config, context, request),
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

function reread(
  config: FileSourceConfig,
  { payload, input: name }: Pick<RejectedRecord, 'payload' | 'input'>,
): JsonValue | undefined {
  const format = formatOf(config, name);
  if (typeof payload === 'string' && format !== 'json_lines') return undefined;
  const fromText = format !== undefined && format !== 'orc' && isFromText(new Set([format]));
  const read = jsonOf(payload, { name });
  const record = config.hive_partitioning ? withFolderFields(read, name) : read;
  return typedRecord(record, config, { name, fromText });
}

/** Of one file, or of all files that the path can mean. */
function formatOf({ format, path }: FileSourceConfig, name = path): Format | 'orc' | undefined {
  return format === 'auto' ? formatOfName(withoutCodecSuffix(name)) : format;
}

async function* pages(
  config: FileSourceConfig,
  context: SourceContext,
  request: ReadRequest,
): AsyncGenerator<Page> {
  const inputs = newInputs(await inputsOf(config, context), config, request.bookmark);
  const by = config.incremental?.by;
  const all = {
    name: config.path,
    formats: new Set(inputs.map(({ format }) => format)),
    each: inputs,
    compared: inputs.filter(({ format }) => format === 'parquet'),
    loneRecords: true,
    bookmarkAfter: by === undefined ? undefined : (input: Input) => bookmarkOf(input, by),
  };
  yield* pagesOfInputs(all, { config, context, request });
}

/** What the bookmark has not seen yet, in the order in which bookmarks grow. */
function newInputs(
  inputs: readonly Input[],
  config: FileSourceConfig,
  bookmark: JsonValue | undefined,
): readonly Input[] {
  if (config.incremental === undefined) return inputs;
  const { by } = config.incremental;
  const sorted = [...inputs].sort(compareInputs(by));
  if (bookmark === undefined) return sorted;
  const seen = readBookmark(bookmark, by);
  return sorted.filter((input) => isAfter(input, seen, by));
}
