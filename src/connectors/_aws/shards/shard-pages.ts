/** Pages of the records of shards; the bookmark of each says where every shard stands behind it. */
import type { SourceContext } from '../../../kit/context.ts';
import { Page } from '../../../kit/page.ts';
import { PageFill, pageBounds } from '../../../kit/page-bounds.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { readAgain } from '../../_brokers/read-again.ts';
import type { RequestRetry } from '../../_http/retry.ts';
import { bookmarkOf } from './shard.ts';
import type { ShardReader, TakenRecord } from './shard-reader.ts';

/** How long a record waits until its page is given. */
export const IDLE_FLUSH_MS = 200;

export interface ShardPagesOptions<R> {
  readonly reader: ShardReader<R>;
  readonly context: SourceContext;
  /** Records of a page at most; 0: as many as come. */
  readonly batchSize: number;
  /** Seconds without a record after which the pages end. */
  readonly idleSeconds: number | undefined;
  readonly recordOf: (taken: TakenRecord<R>) => JsonObject;
  /** Unless the document says how often a request that failed is repeated. */
  readonly retry?: RequestRetry;
}

interface Silence {
  ms: number;
  /** When it was long enough. */
  endMs: number | undefined;
}

/** Of `most` records at most. */
export async function* shardPages<R>(
  options: ShardPagesOptions<R>,
  most: number,
): AsyncGenerator<Page> {
  const { reader, context, batchSize, recordOf } = options;
  const silence: Silence = { ms: 0, endMs: undefined };
  const next = nextRecord(options, silence);
  const fill = new PageFill(pageBounds(batchSize, context.pageBytes));
  let records: JsonObject[] = [];
  const cut = (before?: TakenRecord<R>): Page => {
    const bookmark = bookmarkOf(reader.positions(before));
    const page = Page.ofRecords(records, { bookmark, bytes: fill.bytes });
    records = [];
    fill.clear();
    return page;
  };
  for (let left = most; left > 0; left -= 1) {
    let taken = reader.take();
    while (taken === undefined) {
      const isFilling = records.length > 0 && batchSize !== 0;
      const found = await next(isFilling);
      if (found === 'end') break;
      if (found === 'pause' && isFilling) yield cut();
      if (found !== 'pause') taken = found;
    }
    if (taken === undefined) break;
    silence.ms = 0;
    silence.endMs = undefined;
    const record = recordOf(taken);
    if (!fill.add(taken.size)) {
      yield cut(taken);
      context.signal.throwIfAborted();
      fill.add(taken.size);
    }
    records.push(record);
  }
  context.signal.throwIfAborted();
  if (records.length > 0) yield cut();
}

/** `pause`: none has come for as long as a page may wait; `end`: none for as long as the run may. */
function nextRecord<R>(
  { reader, context, idleSeconds = Infinity, retry }: ShardPagesOptions<R>,
  silence: Silence,
) {
  const isFailing = (): boolean => reader.isFailing;
  const again = readAgain(context, { isFailing, ...(retry === undefined ? {} : { retry }) });
  const { clock } = context.env;
  const endMs = idleSeconds * 1000;
  return async (isFilling: boolean): Promise<TakenRecord<R> | 'pause' | 'end'> => {
    const leastMs = isFilling ? IDLE_FLUSH_MS / 2 : IDLE_FLUSH_MS;
    const restMs = endMs > silence.ms ? endMs - silence.ms : Infinity;
    const waitMs = Math.max(1, Math.min(leastMs, restMs));
    const from = clock.elapsedMs();
    const record = await again(() => reader.next(waitMs));
    if (record !== undefined) return record;
    // The time that an answer takes is no silence.
    if (reader.isQuiet) silence.ms += Math.max(1, Math.min(waitMs, clock.elapsedMs() - from));
    if (reader.hasEnded) return 'end';
    if (silence.ms < endMs) return 'pause';
    // A shard that has not answered yet may have more.
    return reader.hasAnswered((silence.endMs ??= clock.elapsedMs())) ? 'end' : 'pause';
  };
}
