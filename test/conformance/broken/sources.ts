/**
 * Sources that break the contract on purpose, each with the one clause that must catch it. They show
 * that the suite notices; `broken-sources.long.test.ts` runs them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { JSON_LINES } from '../../../src/kit/json-lines.ts';
import { Page } from '../../../src/kit/page.ts';
import type { RecordSchema } from '../../../src/kit/record-schema.ts';
import type { ReadRequest, Source, SourceDefinition } from '../../../src/kit/source.ts';
import type { JsonObject, JsonValue } from '../../../src/lib/text/json.ts';
import {
  memoryFixture,
  memorySource,
  pageOf,
  type MemoryConfig,
} from '../reference/memory-source.ts';
import type { SourceFixture } from '../../../src/kit/source-fixture.ts';

export interface BrokenSource {
  readonly what: string;
  readonly caughtBy: string;
  readonly definition: SourceDefinition;
  readonly fixture: SourceFixture;
}

type Definition = SourceDefinition<MemoryConfig>;

function broken(
  caughtBy: string,
  what: string,
  changes: Partial<Definition>,
  fixture: Partial<SourceFixture> = {},
): BrokenSource {
  const definition = { ...memorySource, ...changes };
  return { what, caughtBy, definition, fixture: { ...memoryFixture, ...fixture } };
}

/** The pages of the sound source, in other words or in another order. */
function reading(
  read: (sound: Source, request: ReadRequest, config: MemoryConfig) => AsyncIterable<Page>,
): Partial<Definition> {
  return {
    open: async (config, context) => {
      const sound = await memorySource.open(config, context);
      return { ...sound, pages: (request) => read(sound, request, config) };
    },
  };
}

const positionOf = (bookmark: JsonValue | undefined): number =>
  bookmark === undefined ? 0 : Number((bookmark as JsonObject)['at']);

function from(request: ReadRequest, position: number): ReadRequest {
  return { ...request, bookmark: { at: Math.max(0, position) } };
}

async function* mapped(
  pages: AsyncIterable<Page>,
  change: (page: Page, index: number) => Page,
): AsyncGenerator<Page> {
  let index = 0;
  for await (const page of pages) yield change(page, index++);
}

function withBookmark(page: Page, request: ReadRequest, bookmark: JsonValue | undefined): Page {
  const options = bookmark === undefined ? {} : { bookmark };
  return pageOf(request.lane, page.records() as JsonObject[], options);
}

/** The bookmark of a page, moved by so many records. */
function moved(page: Page, request: ReadRequest, by: number): Page {
  return withBookmark(page, request, { at: positionOf(page.bookmark) + by });
}

const INTEGERS: RecordSchema = {
  fields: ['id', 'half'].map((name) => ({ name, type: { kind: 'int32' }, nullable: false })),
  others: true,
};

export const BROKEN_SOURCES: readonly BrokenSource[] = [
  broken(
    'schema',
    'says that its halves are integers',
    reading((sound, request) => mapped(sound.pages(request), (page) => page.withSchema(INTEGERS))),
  ),
  broken(
    'schema',
    'knows its types in one lane only',
    reading((sound, request) =>
      mapped(sound.pages(request), (page) =>
        request.lane.form === 'columns' ? page.withSchema({ fields: [], others: true }) : page,
      ),
    ),
  ),
  broken(
    'resume',
    'skips seven records at every resume',
    reading((sound, request) =>
      sound.pages(
        request.bookmark === undefined ? request : from(request, positionOf(request.bookmark) + 7),
      ),
    ),
  ),
  broken(
    'resume',
    'repeats the last page at a resume',
    reading((sound, request, { batch_size: size }) =>
      sound.pages(
        request.bookmark === undefined
          ? request
          : from(request, positionOf(request.bookmark) - size),
      ),
    ),
  ),
  broken(
    'resume',
    'gives the records in another order after a resume',
    reading((sound, request) =>
      request.bookmark === undefined
        ? sound.pages(request)
        : mapped(sound.pages(request), (page) =>
            pageOf(
              request.lane,
              (page.records() as JsonObject[]).toReversed(),
              page.bookmark === undefined ? {} : { bookmark: page.bookmark },
            ),
          ),
    ),
  ),
  broken(
    'resume',
    'gives bookmarks that are right only at the end',
    reading((sound, request) =>
      mapped(sound.pages(request), (page) =>
        positionOf(page.bookmark) === 30 ? page : moved(page, request, -1),
      ),
    ),
  ),
  broken(
    'resume',
    'gives a first bookmark that stands one record too far',
    reading((sound, request) =>
      mapped(sound.pages(request), (page, index) =>
        index === 0 && request.bookmark === undefined ? moved(page, request, 1) : page,
      ),
    ),
  ),
  broken(
    'resume',
    'counts from its own start in the bookmarks of a resumed read',
    reading((sound, request) =>
      mapped(sound.pages(request), (page) => moved(page, request, -positionOf(request.bookmark))),
    ),
  ),
  broken(
    'resume',
    'loses a record when it resumes in the columns lane only',
    reading((sound, request) =>
      sound.pages(
        request.bookmark !== undefined && request.lane.form === 'columns'
          ? from(request, positionOf(request.bookmark) + 1)
          : request,
      ),
    ),
  ),
  broken(
    'resume',
    'gives the bookmark of the end when a limit ends it before',
    reading((sound, request) =>
      mapped(sound.pages(request), (page) =>
        request.limit === undefined ? page : withBookmark(page, request, { at: 30 }),
      ),
    ),
  ),
  broken(
    'bookmarks',
    'gives a bookmark that is no JSON',
    reading((sound, request) => {
      const at = request.bookmark as unknown as Map<string, number> | undefined;
      const pages = sound.pages(at === undefined ? request : from(request, at.get('at') ?? 0));
      return mapped(pages, (page) =>
        withBookmark(
          page,
          request,
          new Map([['at', positionOf(page.bookmark)]]) as unknown as JsonValue,
        ),
      );
    }),
  ),
  broken(
    'bookmarks',
    'says that it has bookmarks and gives none',
    reading((sound, request) =>
      mapped(sound.pages(request), (page) => withBookmark(page, request, undefined)),
    ),
  ),
  broken(
    'lanes',
    'gives another value in one record of the bytes lane',
    reading((sound, request) => changedIn('bytes', sound, request, { half: 6.500000001 })),
  ),
  broken(
    'lanes',
    'turns a number into its text in the bytes lane',
    reading((sound, request) => changedIn('bytes', sound, request, { id: '13' })),
  ),
  broken(
    'lanes',
    'turns null into the empty text in the columns lane',
    reading((sound, request) => changedIn('columns', sound, request, { none: '' })),
  ),
  broken(
    'records',
    'gives one record twice',
    reading((sound, request) => changedIn('any', sound, request, { id: 12, text: 't12' })),
    { skip: { lazy: 'it gives the same wrong record there' } },
  ),
  broken('cancel', 'ignores that it is stopped', {
    open: (config, context) =>
      memorySource.open(config, { ...context, signal: new AbortController().signal }),
  }),
  broken('pages', 'gives pages of one record more than `batch_size`', {
    open: (config, context) =>
      memorySource.open(
        { ...config, batch_size: config.batch_size === 0 ? 0 : config.batch_size + 1 },
        context,
      ),
  }),
  broken('single_page', 'takes `batch_size: 0` for the default', {
    open: (config, context) =>
      memorySource.open({ ...config, batch_size: config.batch_size || 9 }, context),
  }),
  broken('page_lifetime', 'writes the next page over the one before', {
    ...reading((sound, request) => overwriting(sound, request)),
  }),
  broken(
    'limit',
    'gives one record less than the limit asks for',
    reading((sound, request) =>
      sound.pages(request.limit === undefined ? request : { ...request, limit: request.limit - 1 }),
    ),
  ),
  broken('lazy', 'reads before anybody asks', {
    open: async (config, context) => {
      const sound = await memorySource.open(config, context);
      const early = new Map<string, Page[]>();
      for (const lane of [{ form: 'records' } as const]) {
        const pages: Page[] = [];
        try {
          for await (const page of sound.pages({ lane })) pages.push(page);
          early.set(lane.form, pages);
        } catch {
          // It fails once more when it is asked.
        }
      }
      return {
        ...sound,
        pages: (request) =>
          request.bookmark === undefined && request.limit === undefined && !context.signal.aborted
            ? mapped(
                sound.pages(request),
                (page, index) => early.get(request.lane.form)?.[index] ?? page,
              )
            : sound.pages(request),
      };
    },
  }),
  broken('close', 'fails when it is closed twice', {
    open: async (config, context) => {
      const sound = await memorySource.open(config, context);
      let closed = false;
      return {
        ...sound,
        close: () => {
          if (closed) return Promise.reject(new Error('it is closed already'));
          closed = true;
          return Promise.resolve();
        },
      };
    },
  }),
  broken('shares', 'reads everything in each share', { divides: () => 'files' }),
  broken('slices', 'gives the record at a cut in both slices', {
    slices: {
      bounds: (config, key) => memorySource.slices?.bounds(config, key) ?? config,
      within: (config, key, spans) =>
        memorySource.slices?.within(
          config,
          key,
          spans.map(({ to, ...span }) => ({
            ...span,
            ...(to === undefined ? {} : { to: to + 1n }),
          })),
        ) ?? config,
    },
  }),
  broken('discover', 'finds a data set that cannot be read', {
    discover: () =>
      Promise.resolve([{ name: 'none', kind: 'set', config_patch: { name: 'nothing' } }]),
  }),
  broken('describe', 'leaves a column out of its description', {
    describe: () => Promise.resolve({ columns: [{ name: 'id', type: 'any' }] }),
  }),
  broken(
    'errors',
    'fails with an error that is no ConnectorError',
    reading((sound, request) => untyped(sound.pages(request))),
  ),
  broken(
    'cancel_waiting',
    'does not notice a stop while it waits',
    reading((sound, request, { name }) => (name === 'waiting' ? waiting() : sound.pages(request))),
    { endless: () => ({ name: 'waiting' }) },
  ),
];

/** Changes the record with the id 13, in one lane or in all of them. */
function changedIn(
  lane: 'bytes' | 'columns' | 'any',
  sound: Source,
  request: ReadRequest,
  change: JsonObject,
): AsyncIterable<Page> {
  if (lane !== 'any' && request.lane.form !== lane) return sound.pages(request);
  return mapped(sound.pages(request), (page) => {
    const records = (page.records() as JsonObject[]).map((record) =>
      record['id'] === 13 ? { ...record, ...change } : record,
    );
    return pageOf(
      request.lane,
      records,
      page.bookmark === undefined ? {} : { bookmark: page.bookmark },
    );
  });
}

async function* overwriting(sound: Source, request: ReadRequest): AsyncGenerator<Page> {
  if (request.lane.form !== 'bytes') {
    yield* sound.pages(request);
    return;
  }
  const memory = new Uint8Array(1024 * 1024);
  for await (const page of sound.pages(request)) {
    const block = page.block(JSON_LINES);
    memory.set(block);
    yield Page.ofBlock(
      JSON_LINES,
      memory.subarray(0, block.length),
      page.count,
      page.bookmark === undefined ? {} : { bookmark: page.bookmark },
    );
  }
}

async function* untyped(pages: AsyncIterable<Page>): AsyncGenerator<Page> {
  try {
    yield* pages;
  } catch (error) {
    throw error instanceof Error && error.name === 'ConnectorError'
      ? new Error(error.message)
      : error;
  }
}

async function* waiting(): AsyncGenerator<Page> {
  await sleep(3000, undefined, { ref: false });
  yield Page.ofRecords([]);
}
