/** A source with the config of one fixture, and ways to read it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RECORDS_LANE, type Lane, type Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type {
  ReadRequest,
  Source,
  SourceCapabilities,
  SourceDefinition,
} from '../../kit/source.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { sourceContext } from '../contexts.ts';
import { assertThat, fail } from './difference.ts';
import type { SourceFixture } from '../../kit/source-fixture.ts';

export interface ReadOptions {
  readonly config?: JsonObject | undefined;
  readonly batchSize?: number | undefined;
  readonly lane?: Lane;
  readonly bookmark?: JsonValue | undefined;
  readonly limit?: number | undefined;
  readonly exact?: boolean | undefined;
  readonly pageBytes?: number;
  readonly signal?: AbortSignal;
  /** How many records should come; silence after them is the end of an unbounded source. */
  readonly expected?: number;
  /** So long is waited for a record that should come, or should not. */
  readonly lateMs?: number;
}

/** A page as it was when it came. */
export interface SeenPage {
  readonly page: Page;
  readonly form: Lane;
  readonly bookmark: JsonValue | undefined;
  readonly records: readonly JsonValue[];
  /** How many records of the run came up to the end of this page. */
  readonly position: number;
}

export interface SeenRun {
  readonly pages: readonly SeenPage[];
  readonly records: readonly JsonValue[];
}

/** What a source may take to end once it is asked to. */
export const STOP_MS = 1000;
/** What a server on a busy machine may take until records come that are expected. */
const LATE_MS = 10_000;
/** A source that is still at it then is stuck. */
const STUCK_MS = 20_000;

export class SourceSubject {
  readonly definition: SourceDefinition;
  readonly fixture: SourceFixture;
  readonly config: JsonObject;
  readonly #runs = new Map<string, Promise<SeenRun>>();

  private constructor(definition: SourceDefinition, fixture: SourceFixture, config: JsonObject) {
    this.definition = definition;
    this.fixture = fixture;
    this.config = config;
  }

  static async of(definition: SourceDefinition, fixture: SourceFixture): Promise<SourceSubject> {
    return new SourceSubject(definition, fixture, await fixture.config());
  }

  /** The same source with another config. */
  with(config: JsonObject): SourceSubject {
    return new SourceSubject(this.definition, this.fixture, config);
  }

  get capabilities(): SourceCapabilities {
    return this.definition.capabilities(this.parse(this.config));
  }

  /** Every lane that it offers and that the fixture shows. */
  get lanes(): readonly Lane[] {
    const { encodings, columns } = this.capabilities;
    const all: readonly Lane[] = [
      RECORDS_LANE,
      ...encodings.map((encoding): Lane => ({ form: 'bytes', encoding })),
      ...(columns === true ? [{ form: 'columns' } as const] : []),
    ];
    const { lanes } = this.fixture;
    return lanes === undefined ? all : all.filter((lane) => lanes.includes(laneName(lane)));
  }

  get hasBatchSize(): boolean {
    return check(this.definition.config, { ...this.config, batch_size: 1 }).ok;
  }

  /** `undefined` stands for the default of the source. */
  get batchSizes(): readonly (number | undefined)[] {
    if (!this.hasBatchSize) return [undefined];
    return this.fixture.batchSizes ?? [1, 5, 7];
  }

  /** In all requests that a source of its kind can be sent. */
  get exactness(): readonly (boolean | undefined)[] {
    return this.capabilities.replay === 'positional' ? [undefined, true] : [undefined];
  }

  parse(config: JsonObject): unknown {
    const checked = check(this.definition.config, config);
    if (checked.ok) return checked.value;
    return fail(`the config of the fixture is not valid: ${JSON.stringify(checked.issues)}`);
  }

  context(changes: Parameters<typeof sourceContext>[0] = {}): ReturnType<typeof sourceContext> {
    return sourceContext({ ...this.fixture.context, ...changes });
  }

  async open({ config, batchSize, pageBytes, signal }: ReadOptions = {}): Promise<Source> {
    const given = {
      ...(config ?? this.config),
      ...(batchSize === undefined ? {} : { batch_size: batchSize }),
    };
    const changes = {
      ...(pageBytes === undefined ? {} : { pageBytes }),
      ...(signal === undefined ? {} : { signal }),
    };
    return this.definition.open(this.parse(given), this.context(changes));
  }

  /** The whole of it in one lane, read once for a clause. */
  whole(lane: Lane = RECORDS_LANE): Promise<SeenRun> {
    const name = laneName(lane);
    const known = this.#runs.get(name) ?? this.read({ lane });
    this.#runs.set(name, known);
    return known;
  }

  /** To the end, or until an unbounded source has nothing more to give. */
  async read(options: ReadOptions = {}): Promise<SeenRun> {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, ...(options.signal ? [options.signal] : [])]);
    const source = await this.open({ ...options, signal });
    try {
      return await this.readFrom(source, options, stop);
    } finally {
      await source.close();
    }
  }

  async readFrom(source: Source, options: ReadOptions, stop: AbortController): Promise<SeenRun> {
    const pages: SeenPage[] = [];
    const records: JsonValue[] = [];
    const { limit = Infinity } = options;
    const expected = Math.min(limit, options.expected ?? this.fixture.records.length);
    const most = 10 * this.fixture.records.length + 1000;
    const iterator = source.pages(requestOf(options))[Symbol.asyncIterator]();
    for (;;) {
      const pending = iterator.next();
      const { lateMs = LATE_MS } = options;
      const next = await this.#unlessQuiet(pending, records.length >= expected ? 5 : lateMs);
      if (next === undefined) {
        stop.abort(new Error('the test has seen enough'));
        await within(STOP_MS, settled(pending), 'ends once it is stopped');
        break;
      }
      if (next.done === true) break;
      pages.push(seenPage(next.value, records));
      assertThat(pages.length <= most, 'it goes on giving pages and does not end');
    }
    await iterator.return?.();
    return { pages, records };
  }

  /** An unbounded source does not end by itself: silence is the end. */
  async #unlessQuiet<T>(pending: Promise<T>, lateMs: number): Promise<T | undefined> {
    const { unbounded } = this.capabilities;
    if (unbounded === undefined) return within(STUCK_MS, pending, 'gives a page or ends');
    const ended = new AbortController();
    const quietMs = unbounded.idleFlushMs + lateMs;
    const quiet = sleep(quietMs, undefined, { signal: ended.signal });
    quiet.catch(() => {});
    pending.catch(() => {});
    try {
      return await Promise.race([pending, quiet]);
    } finally {
      ended.abort();
    }
  }
}

function seenPage(page: Page, records: JsonValue[]): SeenPage {
  const { form, bookmark } = page;
  const copy = structuredClone([...page.records()]);
  for (const record of copy) records.push(record);
  return { page, form, bookmark, records: copy, position: records.length };
}

export function requestOf({
  lane = RECORDS_LANE,
  bookmark,
  limit,
  exact,
}: ReadOptions): ReadRequest {
  return {
    lane,
    ...(bookmark === undefined ? {} : { bookmark }),
    ...(limit === undefined ? {} : { limit }),
    ...(exact === undefined ? {} : { exact }),
  };
}

export function laneName(lane: Lane): string {
  return lane.form === 'bytes' ? `bytes:${lane.encoding}` : lane.form;
}

/**
 * What `work` gives, or a failure when that takes longer than it may. Time in which a busy machine
 * gave this process no processor does not count.
 */
export async function within<T>(ms: number, work: Promise<T>, what: string): Promise<T> {
  const done = new AbortController();
  const late = pass(ms, done.signal).then(() => fail(`not within ${ms} ms: ${what}`));
  late.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
  }
}

const STEP_MS = 50;

/** In steps: between two of them everything goes on that could not while the process stood still. */
async function pass(ms: number, signal: AbortSignal): Promise<void> {
  for (let left = ms; left > 0; left -= STEP_MS)
    await sleep(Math.min(left, STEP_MS), undefined, { signal });
}

/** Resolves when the work has ended, in whatever way. */
export function settled(work: Promise<unknown>): Promise<void> {
  return work.then(
    () => {},
    () => {},
  );
}
