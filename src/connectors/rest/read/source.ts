import type { Page } from '../../../kit/page.ts';
import type { ReadRequest, Source } from '../../../kit/source.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { readBookmark, type StoredBookmark } from '../../../kit/stored-bookmark.ts';
import { pageBounds } from '../../../kit/page-bounds.ts';
import { PageCutter } from '../../_files/lines/cut-pages.ts';
import { NOTHING_BOUND, place, type Placed } from '../incremental/bind.ts';
import type { Chunk } from './single-answer.ts';
import { mergedSequences } from '../../../lib/merged-sequences.ts';
import { warnForgetful, warnIncomparable, warnMany } from '../../_http/position-notes.ts';
import { Progress } from '../../_http/positions.ts';
import { keepsPosition } from '../config/config.ts';
import { BOOKMARK_TOKEN } from '../../_http/replication-fields.ts';
import { valuesOf } from '../../_http/placeholders.ts';
import { readResult, RunNotes } from './result.ts';
import type { RestSetup } from '../request/setup.ts';
import { requestOf } from '../request/shape.ts';
import { slices } from '../incremental/window.ts';

/** A part of the run with one bookmark at its end: a window, or the whole run. */
interface Stretch {
  readonly placed: Placed;
  /** The bookmark at its end; `undefined` when there is none. */
  bookmark(): JsonValue | undefined;
}

export class RestSource implements Source {
  readonly #setup: RestSetup;

  constructor(setup: RestSetup) {
    this.#setup = setup;
  }

  async *pages(request: ReadRequest): AsyncGenerator<Page> {
    const { config } = this.#setup;
    const notes = new RunNotes(config.replication_bind?.advance_from);
    const stored = this.#stored(request.bookmark);
    const progress = this.#progress(stored);
    let left = request.limit ?? Infinity;
    if (left <= 0) return;
    const cutter = this.#cutter(request);
    const keeps = keepsPosition(config);
    const { env, row } = this.#setup.context;
    const isFull = !config.persist_cursor && config.replication_method.type === 'FullTable';
    if (!keeps && !isFull) warnForgetful(env.log, row);
    for (const stretch of this.#stretches(stored?.value, progress, notes)) {
      for await (const chunk of this.#chunks(stretch.placed, request.bookmark, notes)) {
        const records =
          progress === undefined
            ? chunk.records
            : chunk.records.filter((record) => progress.keep(record));
        progress?.settle();
        const cursor = records.length > left || !keeps ? undefined : chunk.cursor;
        yield* this.#fill(cutter, { ...chunk, cursor, records: records.slice(0, left) });
        left -= records.length;
        // Records beyond the limit were not read, so no bookmark may come after them.
        if (left <= 0) break;
      }
      if (progress?.incomparable === true)
        warnIncomparable(env.log, config.replication_key, progress);
      if (progress?.isFull === true && keeps) warnMany(env.log, config.replication_key);
      const bookmark = notes.cut || left <= 0 || !keeps ? undefined : stretch.bookmark();
      if (bookmark !== undefined || (cutter.count > 0 && config.batch_size !== 0))
        yield cutter.take(bookmark);
      if (notes.cut || left <= 0) break;
    }
    if (cutter.count > 0) yield cutter.take();
  }

  async close(): Promise<void> {
    await this.#setup.connections.close().catch(() => {});
  }

  /**
   * Adds the records of an answer; yields every full page, and the page before when this answer starts
   * a new one.
   */
  *#fill(cutter: PageCutter, chunk: Chunk): Generator<Page> {
    const { config, context } = this.#setup;
    const oneByOne = config.batch_size !== 0;
    if (oneByOne && cutter.count > 0 && chunk.records.length > 0) yield cutter.take();
    const size =
      chunk.bytes === undefined || chunk.records.length === 0
        ? undefined
        : Math.ceil(chunk.bytes / chunk.records.length);
    for (const record of chunk.records) {
      if (cutter.add(record, size)) continue;
      context.signal.throwIfAborted();
      yield cutter.take();
      cutter.add(record, size);
    }
    if (chunk.cursor !== undefined) yield cutter.take(chunk.cursor);
    // Only the page that may get the bookmark is held back.
    else if (oneByOne && cutter.count > 0 && config.replication_method.type === 'FullTable')
      yield cutter.take();
  }

  #cutter(request: ReadRequest): PageCutter {
    const { config, context } = this.#setup;
    const size = config.batch_size ?? Number.POSITIVE_INFINITY;
    return new PageCutter(request.lane, pageBounds(size, context.pageBytes));
  }

  /**
   * Windows and positions from the API itself are exact: leaving out records here could only lose
   * some.
   */
  #progress(stored: StoredBookmark | undefined): Progress | undefined {
    const { config } = this.#setup;
    if (config.replication_method.type === 'FullTable' || config.replication_key === undefined)
      return undefined;
    if (config.window !== undefined || config.replication_bind?.advance_from !== undefined)
      return undefined;
    const { start_replication_value: value } = config;
    const start = value === undefined || value === null ? undefined : { value, seen: [] };
    return new Progress(config.replication_key, stored ?? start);
  }

  /** A kept page cursor is what the API says, in any form. */
  #stored(bookmark: JsonValue | undefined): StoredBookmark | undefined {
    if (bookmark === undefined) return undefined;
    return this.#setup.config.persist_cursor ? { value: bookmark } : readBookmark(bookmark);
  }

  *#stretches(
    bookmark: JsonValue | undefined,
    progress: Progress | undefined,
    notes: RunNotes,
  ): Generator<Stretch> {
    const { config, context } = this.#setup;
    const filter = config.odata?.filter;
    const from = bookmark ?? config.start_replication_value;
    if (config.window !== undefined && config.start_replication_value !== undefined) {
      const run = {
        env: context.env,
        window: config.window,
        start: config.start_replication_value,
        bookmark,
      };
      for (const slice of slices(run))
        yield { placed: place(slice.bounds, filter), bookmark: () => slice.bookmark };
      return;
    }
    const bind = config.replication_bind;
    const bounds =
      bind === undefined || from === undefined || from === null
        ? []
        : [{ bind, token: BOOKMARK_TOKEN, value: from }];
    yield {
      placed: bounds.length === 0 ? NOTHING_BOUND : place(bounds, filter),
      bookmark: () => notes.advanced ?? progress?.bookmark(),
    };
  }

  #chunks(placed: Placed, bookmark: JsonValue | undefined, notes: RunNotes): AsyncGenerator<Chunk> {
    const { config, context, shape } = this.#setup;
    const partitions = config.partitions.length === 0 ? [{}] : config.partitions;
    const resume = config.persist_cursor ? bookmark : undefined;
    const stop = new AbortController();
    const signal = AbortSignal.any([context.signal, stop.signal]);
    const setup = {
      ...this.#setup,
      context: { ...context, signal },
      client: this.#setup.client.under(signal),
    };
    const results = partitions.map((partition) => () => {
      const values = valuesOf(context.parent, partition, placed.pathValues);
      return readResult(
        setup,
        { base: requestOf(config, shape, values), bound: placed.overlay, resume },
        notes,
      );
    });
    return mergedSequences(results, config.partition_concurrency ?? 1, () =>
      stop.abort(new Error('another result ended the reading')),
    );
  }
}
