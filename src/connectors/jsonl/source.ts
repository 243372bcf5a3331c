import { z } from 'zod';
import type { SourceContext } from '../../kit/context.ts';
import { declaredColumns, encodingsOf, inferTypes } from '../../kit/declared-columns.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { pagesWithTypes, typedRecord } from '../../kit/typed-pages.ts';
import type { Lane, Page } from '../../kit/page.ts';
import { batchSize } from '../../kit/schema.ts';
import { onReadError, rejectingLane } from '../../kit/rejected-record.ts';
import { defineSource, type Source } from '../../kit/source.ts';
import { readBlocks } from '../_files/lines/blocks.ts';
import { textBlocks } from '../_files/lines/other-formats.ts';
import { chooseCodec } from '../_files/compression/compression.ts';
import { compression, encryption, filePath, readingKeys } from '../_files/config.ts';
import { jsonColumnPages } from '../_files/json/json-column-pages.ts';
import { jsonLinePages, type LinePageOptions } from '../_files/json/json-line-pages.ts';
import {
  jsonLines,
  jsonLinesOrRejected,
  jsonOf,
  decryptedLines,
} from '../_files/json/json-lines-file.ts';
import { NameOrder } from '../_files/json/name-order.ts';
import { LineDoubts } from '../_files/json/line-doubts.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import { cutPages } from '../_files/lines/cut-pages.ts';
import { fileUri, resolvePath } from '../_files/paths.ts';

const config = z.lazy(() =>
  z.strictObject({
    path: filePath('File to read; relative paths start at the folder the process runs in.'),
    columns: declaredColumns(),
    infer_types: inferTypes(),
    on_error: onReadError('A line that is no JSON, or a value that does not fit its type,'),
    batch_size: batchSize(),
    compression: compression('the file'),
    encryption: encryption(),
  }),
);

type JsonlSourceConfig = z.infer<typeof config>;

const LINES = [JSON_LINES.name];

export const jsonlSource = defineSource<JsonlSourceConfig>({
  type: 'jsonl',
  description: 'Reads a file of JSON values, one a line.',
  config,
  examples: [
    { path: 'events.jsonl' },
    { path: 'events.jsonl.gz', batch_size: 5000 },
    { path: 'orders.jsonl', columns: { amount: 'float64', paid_at: 'timestamp(us, UTC)' } },
    { path: 'encrypted.jsonl', encryption: { key: 'a long key text' } },
    { path: 'clicks.jsonl', on_error: 'dlq' },
  ],
  capabilities: (value) => ({
    replay: 'none',
    bookmarks: false,
    columns: true,
    ...encodingsOf(value, LINES),
    ...(value.on_error === 'dlq' ? rejectingLane(LINES) : {}),
  }),
  quarantines: ({ on_error: onError }) => onError === 'dlq',
  reread: (value, { payload, input: name }) =>
    typedRecord(jsonOf(payload, { name }), value, { name, fromText: false }),
  declares: ({ columns }) => columns,
  infersTypes: ({ infer_types: infers }) => infers,
  datasetUri: (value) => fileUri(value.path),
  localPath: (value) => value.path,
  open: async (value, context) => openJsonl(value, context),
});

function openJsonl(value: JsonlSourceConfig, context: SourceContext): Source {
  const file = resolvePath(context.env.cwd, value.path);
  const codec = chooseCodec(value.compression, value.path, context.env.log);
  const keys = readingKeys(value.encryption);
  return {
    pages: ({ lane, limit: wanted, rejects: takesRejected }) => {
      const { env, signal } = context;
      const rejects = value.on_error === 'dlq' && takesRejected === true;
      const { path: name } = value;
      const stored = textBlocks(readBlocks({ path: file, codec, signal, borrowed: true }), {
        name,
        hasEncodings: false,
      });
      const plain = keys === undefined ? stored : decryptedLines(stored, { name, keys });
      const bounds = pageBounds(value.batch_size, context.pageBytes);
      const types = { config: value, name, fromText: false, limit: wanted, log: env.log, rejects };
      const doubts = new LineDoubts(name, env.log);
      const read = async function* (limit: number | undefined): AsyncGenerator<Page> {
        const order = new NameOrder();
        const options = { name, bounds, limit, signal, rejects, doubts, order };
        yield* linePages(plain, lane, options);
        doubts.end();
      };
      return pagesWithTypes(read, types);
    },
    close: async () => {},
  };
}

function linePages(
  blocks: AsyncIterable<Uint8Array>,
  lane: Lane,
  { rejects, ...options }: LinePageOptions & { readonly rejects: boolean },
): AsyncGenerator<Page> {
  const cutting = { ...options, lane, schema: () => options.order?.schema };
  if (rejects) return cutPages(jsonLinesOrRejected(blocks, options), cutting);
  if (lane.form === 'bytes') return jsonLinePages(blocks, options);
  if (lane.form === 'columns') return jsonColumnPages(blocks, options);
  return cutPages(jsonLines(blocks, options), cutting);
}
