/**
 * A source that keeps the whole contract, over data sets in memory: what broken sources are made
 * from, and an example of every member.
 */
import { z } from 'zod';
import { JSON_LINES } from '../../../src/kit/json-lines.ts';
import { Page, type Lane, type PageOptions } from '../../../src/kit/page.ts';
import { batchSize } from '../../../src/kit/schema.ts';
import {
  defineSource,
  type KeySpan,
  type ReadRequest,
  type Source,
} from '../../../src/kit/source.ts';
import type { SourceContext } from '../../../src/kit/context.ts';
import { ConnectorError } from '../../../src/lib/errors.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../../../src/lib/text/json.ts';
import { columnsOf } from '../../fakes/columns.ts';
import type { SourceFixture } from '../../../src/kit/source-fixture.ts';

const config = z.strictObject({
  name: z.string().meta({ description: 'Data set to read.' }),
  batch_size: batchSize(),
  spans: z.custom<readonly KeySpan[]>().optional(),
  bounds_of: z.string().optional(),
});
export type MemoryConfig = z.output<typeof config>;

const dataSets = new Map<string, readonly JsonObject[]>();

export const RECORDS: readonly JsonObject[] = Array.from({ length: 30 }, (_, id) => ({
  id,
  text: `t${id}`,
  half: id / 2,
  none: null,
}));

let made = 0;

function store(records: readonly JsonObject[]): JsonObject {
  const name = `set-${(made += 1)}`;
  dataSets.set(name, records);
  return { name };
}

export const memorySource = defineSource<MemoryConfig>({
  type: 'memory',
  description: 'Records in memory.',
  config,
  examples: [],
  capabilities: () => ({
    replay: 'positional',
    bookmarks: true,
    encodings: [JSON_LINES.name],
    columns: true,
  }),
  datasetUri: ({ name }) => `memory://${name}`,
  open: (value, context) => Promise.resolve(openMemory(value, context)),
  describe: ({ name }) => {
    const [first = {}] = dataSets.get(name) ?? [];
    return Promise.resolve({
      columns: Object.keys(first).map((column) => ({ name: column, type: 'any' })),
    });
  },
  discover: ({ name }) => Promise.resolve([{ name, kind: 'set', config_patch: { name } }]),
  slices: {
    bounds: (value, key) => ({ ...value, bounds_of: key }),
    within: (value, _key, spans) => ({ ...value, spans }),
  },
});

function openMemory(value: MemoryConfig, context: SourceContext): Source {
  return {
    pages: (request) => readPages(value, context, request),
    close: () => Promise.resolve(),
  };
}

async function* readPages(
  value: MemoryConfig,
  context: SourceContext,
  { lane, bookmark, limit = Infinity }: ReadRequest,
): AsyncGenerator<Page> {
  const all = recordsOf(value);
  const end = Math.min(all.length, startOf(bookmark) + limit);
  for (let from = startOf(bookmark); from < end;) {
    context.signal.throwIfAborted();
    const to = pageEnd(all, { from, end, batchSize: value.batch_size }, context.pageBytes);
    yield pageOf(lane, all.slice(from, to), { bookmark: { at: to } });
    from = to;
    await Promise.resolve();
  }
}

function startOf(bookmark: JsonValue | undefined): number {
  return bookmark === undefined ? 0 : Number((bookmark as JsonObject)['at']);
}

function pageEnd(
  all: readonly JsonObject[],
  { from, end, batchSize: size }: { from: number; end: number; batchSize: number },
  pageBytes: number,
): number {
  if (size === 0) return end;
  let bytes = 0;
  for (let to = from; to < Math.min(end, from + size); to += 1) {
    bytes += stringifyJson(all[to] ?? null).length + 1;
    if (bytes > pageBytes && to > from) return to;
  }
  return Math.min(end, from + size);
}

export function pageOf(lane: Lane, records: readonly JsonObject[], options: PageOptions): Page {
  if (lane.form === 'records') return Page.ofRecords(structuredClone(records), options);
  if (lane.form === 'bytes')
    return Page.ofBlock(JSON_LINES, JSON_LINES.encode(records), records.length, options);
  const names = Object.keys(records[0] ?? {});
  return Page.ofColumns(
    columnsOf(
      names,
      records.map((record) => names.map((name) => record[name])),
    ),
    options,
  );
}

function recordsOf({ name, spans, bounds_of: key }: MemoryConfig): readonly JsonObject[] {
  const all = dataSets.get(name);
  if (all === undefined) throw new ConnectorError('missing', `there is no data set ${name}`);
  if (key !== undefined) {
    const keys = all.map((record) => Number(record[key]));
    return [{ low: Math.min(...keys), high: Math.max(...keys), strange: 0 }];
  }
  return all.filter(({ id = null }) => spans?.some((span) => lies(Number(id), span)) ?? true);
}

function lies(id: number, { from, to }: KeySpan): boolean {
  return (from === undefined || BigInt(id) >= from) && (to === undefined || BigInt(id) < to);
}

export const memoryFixture: SourceFixture = {
  config: () => store(RECORDS),
  records: RECORDS,
  broken: { 'a missing data set': { name: 'nothing' } },
  sliceKey: 'id',
  empty: () => store([]),
  change: ({ name }) => {
    const changed = RECORDS.slice(0, 20).map((record) => ({ ...record, text: 'changed' }));
    dataSets.set(name as string, changed);
    return Promise.resolve(changed);
  },
};
