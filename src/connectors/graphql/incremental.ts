/** Reading what is new since the last run: the position, and how it is sent. */
import { pageBounds } from '../../kit/page-bounds.ts';
import type { Page } from '../../kit/page.ts';
import { readBookmark } from '../../kit/stored-bookmark.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { ReadRequest, Source } from '../../kit/source.ts';
import { ConnectorError } from '../../lib/errors.ts';
import {
  hasField,
  isObject,
  jsonText,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { PageCutter } from '../_files/lines/cut-pages.ts';
import type { Connections } from '../_http/connections.ts';
import { warnForgetful, warnIncomparable, warnMany } from '../_http/position-notes.ts';
import { Progress, renderPosition, type FindKey } from '../_http/positions.ts';
import { BOOKMARK_TOKEN } from '../_http/replication-fields.ts';
import { withField } from '../_http/set-field.ts';
import { keepsPosition, type GraphqlConfig } from './config.ts';

export interface Answer {
  readonly records: readonly JsonValue[];
  /** Whether `max_pages` ends the reading with this answer, before the last one. */
  readonly isCut: boolean;
}

export interface IncrementalSetup {
  readonly config: GraphqlConfig;
  readonly context: SourceContext;
  readonly connections: Connections;
  /** Asks with these values of variables. */
  readonly answers: (bound: JsonObject) => AsyncIterable<Answer>;
}

export class IncrementalSource implements Source {
  readonly #setup: IncrementalSetup;

  constructor(setup: IncrementalSetup) {
    this.#setup = setup;
  }

  /** Pages do not span answers. The last page is held back: the bookmark comes with it. */
  async *pages({ bookmark, lane, limit = Infinity }: ReadRequest): AsyncGenerator<Page> {
    const { config, context, answers } = this.#setup;
    const { batch_size: size, start_replication_value: start = null } = config;
    const stored =
      readBookmark(bookmark) ?? (start === null ? undefined : { value: start, seen: [] });
    const progress = new Progress(finderOf(config), stored, config.on_missing_key);
    const cutter = new PageCutter(
      lane,
      pageBounds(size === 0 ? Infinity : size, context.pageBytes),
    );
    if (!keepsPosition(config)) warnForgetful(context.env.log, context.row);
    let left = limit;
    let isWhole = left > 0;
    for await (const answer of left > 0 ? answers(boundTo(config, stored?.value)) : []) {
      const kept = answer.records.filter((record) => progress.keep(record));
      progress.settle();
      if (size !== 0 && cutter.count > 0 && kept.length > 0) yield cutter.take();
      yield* this.#fill(cutter, kept.slice(0, left));
      left -= kept.length;
      // Records beyond the limit were not read, so no bookmark may come after them.
      isWhole = !answer.isCut && left > 0;
      if (left <= 0) break;
    }
    yield* this.#last(cutter, progress, isWhole);
  }

  close(): Promise<void> {
    return this.#setup.connections.close().catch(() => {});
  }

  *#fill(cutter: PageCutter, records: readonly JsonValue[]): Generator<Page> {
    for (const record of records) {
      if (cutter.add(record)) continue;
      this.#setup.context.signal.throwIfAborted();
      yield cutter.take();
      cutter.add(record);
    }
  }

  *#last(cutter: PageCutter, progress: Progress, isWhole: boolean): Generator<Page> {
    const { config, context } = this.#setup;
    const keeps = keepsPosition(config);
    context.signal.throwIfAborted();
    if (progress.incomparable) warnIncomparable(context.env.log, config.replication_key, progress);
    if (progress.isFull && keeps) warnMany(context.env.log, config.replication_key);
    const bookmark = isWhole && keeps ? progress.bookmark() : undefined;
    if (bookmark !== undefined || cutter.count > 0) yield cutter.take(bookmark);
  }
}

/** A name that a record has as it is goes before one with dots. */
function finderOf({ replication_key: key = '' }: GraphqlConfig): FindKey {
  const steps = key.startsWith('/')
    ? key
        .slice(1)
        .split('/')
        .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    : key.split('.');
  return (record) =>
    isObject(record) && hasField(record, key) ? record[key] : valueAt(record, steps);
}

function valueAt(record: JsonValue, steps: readonly string[]): JsonValue | undefined {
  let at: JsonValue | undefined = record;
  for (const step of steps) {
    if (!isObject(at ?? null) || !hasField(at as JsonObject, step)) return undefined;
    at = (at as JsonObject)[step];
  }
  return at;
}

/** The variables with the bookmark in them; as they are in a first run without a start. */
function boundTo(
  { variables, replication_bind: bind }: GraphqlConfig,
  position: JsonValue | undefined,
): JsonObject {
  if (bind === undefined || position === undefined || position === null) return variables;
  const written = renderPosition(position, bind, BOOKMARK_TOKEN);
  const value = written === undefined ? undefined : typed(written, bind.value_type);
  if (value === undefined)
    throw new ConnectorError(
      'data',
      `the bookmark ${jsonText(position)} cannot be written as \`${written === undefined ? bind.format : 'number'}\``,
      { hint: 'change `replication_bind`, or reset the stored state' },
    );
  return withField(variables, bind.variable, value) as JsonObject;
}

function typed(value: JsonValue, type: 'string' | 'number' | undefined): JsonValue | undefined {
  if (type === undefined) return value;
  if (type === 'string') return jsonText(value);
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  if (/^-?\d{16,}$/.test(value)) return BigInt(value);
  return Number.isFinite(Number(value)) ? Number(value) : undefined;
}
