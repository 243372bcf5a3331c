import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { testContext, type TestContext } from '../../../test/fakes/env.ts';
import { installProgram } from '../../../test/fakes/singer/install-program.ts';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { schemaText } from '../../kit/type-text.ts';
import { restrictFiles } from '../../lib/files/file-access.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { airbyteSourceConfig } from './config.ts';
import { airbyteSource } from './index.ts';
import { readMessage } from './messages.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-airbyte-test-'));
const command = [installProgram(folder, '../airbyte/source')];
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => restrictFiles(undefined));

function configOf(source: JsonObject, more: JsonObject = {}) {
  const checked = check(airbyteSourceConfig, {
    command,
    stream: 'orders',
    sync_mode: 'incremental',
    source_config: { count: 12, ...source },
    ...more,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

interface Read {
  readonly pages: readonly Page[];
  readonly context: TestContext;
}

async function read(
  source: JsonObject,
  more: JsonObject = {},
  request: { bookmark?: JsonValue; limit?: number } = {},
  context = testContext(folder),
): Promise<Read> {
  const opened = await airbyteSource.open(configOf(source, more), context);
  const pages: Page[] = [];
  try {
    for await (const page of opened.pages({ lane: RECORDS_LANE, ...request })) pages.push(page);
  } finally {
    await opened.close();
  }
  return { pages, context };
}

const textOf = ({ lines }: TestContext): string => lines.map(({ line }) => line).join('\n');
const idsOf = (pages: readonly Page[]): JsonValue[] =>
  pages.flatMap((page) => page.records().map((record) => (record as JsonObject)['id'] ?? null));

const streamState = (id: number): JsonValue => [
  {
    type: 'STREAM',
    stream: { stream_descriptor: { name: 'orders' }, stream_state: { id } },
  },
];
const STATES: Readonly<Record<string, (id: number) => JsonValue>> = {
  stream: streamState,
  global: (id) => [
    {
      type: 'GLOBAL',
      global: {
        shared_state: { id },
        stream_states: [{ stream_descriptor: { name: 'orders' }, stream_state: { id } }],
      },
    },
  ],
  legacy: (id) => ({ orders: { id } }),
};

describe('states', () => {
  it.for(['stream', 'global', 'legacy'])(
    'of the kind `%s` end pages, and the connector goes on behind them',
    async (state) => {
      const { pages } = await read({ state });
      expect(pages.map((page) => page.count)).toEqual([5, 5, 2]);
      expect(pages.map(({ bookmark }) => bookmark)).toEqual(
        [5, 10, 12].map((id) => STATES[state]?.(id)),
      );
      const rest = await read({ state }, {}, { bookmark: STATES[state]?.(10) ?? null });
      expect(idsOf(rest.pages)).toEqual([11, 12]);
    },
  );

  it('of other streams are no bookmarks of this one', async () => {
    const { pages } = await read({ noise: true });
    expect(pages.map(({ bookmark }) => bookmark)).toEqual([5, 10, 12].map(streamState));
  });

  it('are only positions where `flush_on_state` is off', async () => {
    const { pages } = await read({ count: 2000, every: 300 }, { flush_on_state: false });
    expect(pages.map((page) => [page.count, page.bookmark])).toEqual([
      [900, streamState(900)],
      [900, streamState(1800)],
      [200, streamState(2000)],
    ]);
  });

  it('of a whole refresh are no bookmarks, and it begins anew', async () => {
    const more = { sync_mode: 'full_refresh' };
    const { pages, context } = await read({}, more, { bookmark: streamState(10) });
    expect(idsOf(pages)).toHaveLength(12);
    expect(pages.every(({ bookmark }) => bookmark === undefined)).toBe(true);
    expect(textOf(context)).toContain('files --config --catalog');
    expect(textOf(context)).not.toContain('--state');
    const { sync_mode: _mode, ...usual } = configOf({});
    expect(_mode).toBe('incremental');
    expect(airbyteSource.capabilities({ ...usual, sync_mode: 'full_refresh' }).bookmarks).toBe(
      false,
    );
  });

  it('that count more records than came end the run before they are stored', async () => {
    await expect(read({ cuts: 7 })).rejects.toMatchObject({
      code: 'connector_data',
      message: expect.stringContaining('counts 5 records before its state, and 4 came') as unknown,
    });
    const { pages } = await read({ cuts: 7, counts: false });
    expect(idsOf(pages)).not.toContain(7);
  });
});

describe('the catalog', () => {
  it('asks for this stream alone, with its mode, cursor and key', async () => {
    const { context } = await read({}, { cursor_field: 'at' });
    const how = {
      sync_mode: 'incremental',
      destination_sync_mode: 'append',
      cursor_field: ['at'],
      primary_key: [['id']],
    };
    expect(textOf(context)).toContain(`catalog ${JSON.stringify([['orders', how]])}`);
  });

  it('may stand in the document, and the connector is not asked for it', async () => {
    const stream = { name: 'orders', json_schema: {}, supported_sync_modes: ['incremental'] };
    for (const entry of [stream, { stream, sync_mode: 'full_refresh' }]) {
      const { pages } = await read({ hides: true }, { catalog: { streams: [entry] } });
      expect(idsOf(pages)).toHaveLength(12);
    }
  });

  it.for<[string, JsonObject, string]>([
    ['a stream that is not there', { stream: 'news' }, 'it has: orders, lists'],
    ['a mode that the stream does not have', { stream: 'lists' }, 'it can with: full_refresh'],
    ['a namespace that it does not have', { namespace: 'shop' }, 'it has: orders, lists'],
  ])('tells of %s', async ([_what, more, hint]) => {
    await expect(read({}, more)).rejects.toMatchObject({ hint });
  });

  it('of several namespaces needs to be told which one', async () => {
    const streams = ['a', 'b'].map((namespace) => ({ name: 'orders', namespace }));
    const catalog: JsonObject = { streams };
    await expect(read({}, { catalog })).rejects.toMatchObject({
      hint: 'say which one with `namespace`',
    });
    const { pages } = await read({ namespace: 'b' }, { catalog, namespace: 'b' });
    expect(idsOf(pages)).toHaveLength(12);
    const none = await read({ namespace: 'a' }, { catalog, namespace: 'b' });
    expect(idsOf(none.pages)).toEqual([]);
  });

  it('says the types of records', async () => {
    const [page] = (await read({})).pages;
    expect(page?.schema && schemaText(page.schema)).toBe(
      'id: int64, name: utf8, at: timestamp(us, UTC), local: utf8, price: float64, whole: int64, tags: json, …',
    );
  });
});

describe('failures', () => {
  it.for<[string, string, string]>([
    ['config_error', 'connector_refused', 'check `source_config`'],
    ['transient_error', 'connector_connection', 'standard error'],
    ['system_error', 'connector_data', 'standard error'],
  ])('of the kind %s', async ([type, code, hint]) => {
    await expect(read({ fails_after: 7, failure_type: type })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(/failed: the login was refused$/) as unknown,
      hint: expect.stringContaining(hint) as unknown,
    });
  });

  it('keep what was stored before them, and nothing behind the last state', async () => {
    const given: Page[] = [];
    const opened = await airbyteSource.open(configOf({ fails_after: 8 }), testContext(folder));
    const reading = async (): Promise<void> => {
      for await (const page of opened.pages({ lane: RECORDS_LANE })) given.push(page);
    };
    await expect(reading()).rejects.toThrow('the login was refused');
    expect(idsOf(given)).toEqual([1, 2, 3, 4, 5]);
  });

  it('without a word are told by code and last words', async () => {
    await expect(read({ fails_after: 3, bare: true })).rejects.toThrow(
      'ended with code 3: the login was refused',
    );
  });

  it('of a stream that gives up are no end', async () => {
    await expect(read({ gives_up: true })).rejects.toThrow('is not complete');
  });

  it('of `discover` are those of the read', async () => {
    await expect(read({ hides: true })).rejects.toMatchObject({
      code: 'connector_connection',
      message: expect.stringContaining('not today') as unknown,
    });
  });

  it('are nobody’s where no more is wanted', async () => {
    const { pages } = await read({ fails_after: 8 }, {}, { limit: 5 });
    expect(idsOf(pages)).toEqual([1, 2, 3, 4, 5]);
  });

  it('of a program that is no connector', async () => {
    await expect(read({}, { command: ['true'] })).rejects.toThrow('gave no SPEC for `spec`');
  });

  it('of a config without what the connector needs', async () => {
    await expect(read({}, { source_config: {} })).rejects.toThrow('needs `count`');
  });
});

describe('secrets', () => {
  it('that the spec names are hidden, whatever their fields are called', async () => {
    const context = testContext(folder);
    const failing = read(
      { fails_after: 1, says: 'no login with open-sesame', login: { word: 'open-sesame' } },
      {},
      {},
      context,
    );
    const failure: unknown = await failing.catch((error: unknown) => error);
    expect(String(failure)).toContain('no login with ***');
  });

  it('are in files that are gone at the end', async () => {
    const { context } = await read({});
    const file = /config in (\S+\.json)/.exec(textOf(context))?.[1] ?? '';
    expect(file).not.toBe('');
    expect(existsSync(file)).toBe(false);
  });
});

describe('a config that the connector asks to keep', () => {
  it('is kept for this user alone, and used by the next run', async () => {
    const path = join(folder, 'login.json');
    const more = { config_file: 'login.json' };
    await read({ rotates: true, token: 't' }, more);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ token: 't+', count: 12 });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await read({ rotates: true, token: 't' }, more);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ token: 't++' });
  });

  it('is told of where there is no place for it', async () => {
    const { context } = await read({ rotates: true, token: 't' });
    expect(textOf(context)).toContain('there is no `config_file`');
  });

  it('ends the run where it cannot be read', async () => {
    writeFileSync(join(folder, 'broken.json'), '{"token": hunter22}');
    await expect(read({}, { config_file: 'broken.json' })).rejects.toThrow(
      /cannot be read: it is not JSON(?:(?!hunter).)*$/,
    );
  });
});

it('what it says beside its records is logged', async () => {
  const said = textOf((await read({ noise: true })).context);
  expect(said).toContain('files --config --catalog');
  expect(said).toMatch(/estimates what is to come.*records=12/);
  expect(said).toMatch(/no messages were left out.*lines=2/);
});

it('no program is started where documents are kept to a folder', async () => {
  restrictFiles({ root: folder, refused: [] });
  await expect(read({})).rejects.toThrow('programs cannot be kept to it');
});

it('a connector that is silent is ended', async () => {
  await expect(read({ silent: true }, { idle_timeout_secs: 0.5 })).rejects.toMatchObject({
    code: 'connector_timeout',
  });
});

it('its streams are found, with what a document needs to read them', async () => {
  const found = await airbyteSource.discover?.(configOf({}), testContext(folder));
  expect(found?.map(({ name, config_patch: patch }) => [name, patch])).toEqual([
    ['orders', { stream: 'orders', sync_mode: 'incremental' }],
    ['lists', { stream: 'lists' }],
  ]);
});

describe('doctor', () => {
  const probe = async (source: JsonObject, more: JsonObject = {}) =>
    (await airbyteSource.probe?.(configOf(source, more), testContext(folder)))?.map(
      ({ name, status }) => `${name} ${status}`,
    );

  it('asks the connector', async () => {
    expect(await probe({})).toEqual(['executable pass', 'check pass', 'stream_in_catalog pass']);
    expect(await probe({ refuses: true })).toEqual(['executable pass', 'check fail']);
    expect(await probe({}, { command: ['no-such-program'] })).toEqual(['executable fail']);
    expect(await probe({}, { stream: 'news' })).toEqual([
      'executable pass',
      'check pass',
      'stream_in_catalog fail',
    ]);
  });
});

it.for([
  ['{"type":"RECORD","record":{"stream":"a","data":{"b":1},"emitted_at":1}}', 'RECORD'],
  ['{"type":"RECORD","record":{"stream":"a","data":[1]}}', undefined],
  ['{"type":"RECORD","record":{"data":{}}}', undefined],
  ['{"type":"STATE","state":{}}', undefined],
  ['{"type":"STATE","state":{"data":{}}}', 'STATE'],
  ['{"type":"STATE","state":{"type":"STREAM","stream":{}}}', undefined],
  ['{"type":"STATE","state":{"type":"GLOBAL"}}', undefined],
  ['{"type":"LOG","log":{"level":"INFO"}}', undefined],
  ['{"type":"NEWS"}', undefined],
  ['[]', undefined],
  ['INFO done', undefined],
])('the line %s is read as %s', ([line = '', type]) => {
  expect(readMessage(line)?.type).toBe(type);
});
