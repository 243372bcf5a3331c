import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { testContext, type TestContext } from '../../../test/fakes/env.ts';
import { isGone } from '../../../test/fakes/singer/is-gone.ts';
import { installProgram } from '../../../test/fakes/singer/install-program.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { schemaText } from '../../kit/type-text.ts';
import { restrictFiles } from '../../lib/files/file-access.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { singerSourceConfig } from './config.ts';
import { singerSource } from './index.ts';
import { readMessage } from './messages.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-singer-test-'));
const executable = installProgram(folder, 'tap');
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => restrictFiles(undefined));

interface Read {
  readonly pages: readonly Page[];
  readonly context: TestContext;
}

async function read(
  tap: JsonObject,
  more: JsonObject = {},
  request: { bookmark?: JsonValue; limit?: number } = {},
  context = testContext(folder),
): Promise<Read> {
  const given = { executable, stream: 'orders', tap_config: tap, ...more };
  const checked = check(singerSourceConfig, given);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await singerSource.open(checked.value, context);
  const pages: Page[] = [];
  for await (const page of source.pages({ lane: RECORDS_LANE, ...request })) pages.push(page);
  await source.close();
  return { pages, context };
}

const textOf = ({ lines }: TestContext): string => lines.map(({ line }) => line).join('\n');
const idsOf = (page: Page): JsonValue[] =>
  page.records().map((record) => (record as JsonObject)['id'] ?? null);

describe('the pages of a tap', () => {
  it('end with a STATE, which is their bookmark', async () => {
    const { pages } = await read({ count: 12, every: 5 });
    expect(pages.map(({ bookmark }) => bookmark)).toEqual([{ id: 5 }, { id: 10 }, { id: 12 }]);
    expect(pages.map((page) => page.count)).toEqual([5, 5, 2]);
  });

  it('go on after the state that the tap is given', async () => {
    const { pages } = await read({ count: 12, every: 5 }, {}, { bookmark: { id: 10 } });
    expect(pages.map(idsOf)).toEqual([[11, 12]]);
  });

  it('are full where STATE is only a position, and are cut where it stood', async () => {
    const { pages } = await read({ count: 2000, every: 300 }, { flush_on_state: false });
    expect(pages.map((page) => [page.count, page.bookmark])).toEqual([
      [900, { id: 900 }],
      [900, { id: 1800 }],
      [200, { id: 2000 }],
    ]);
  });

  it('have no bookmark where the tap has no state', async () => {
    const { pages } = await read({ count: 1500, every: 0 });
    expect(pages.map((page) => [page.count, page.bookmark])).toEqual([
      [1000, undefined],
      [500, undefined],
    ]);
  });

  it('carry the types of the stream as long as its records are so', async () => {
    const { pages } = await read({ count: 12, every: 5 });
    const [first, second] = pages;
    expect(second?.schema).toBe(first?.schema);
    expect(first?.schema && schemaText(first.schema)).toBe(
      'id: int64 not null, name: utf8, at: timestamp(us, UTC) not null, price: float64, tags: json not null, …',
    );
    const wrong = await read({ count: 12, every: 5, wrong: true });
    expect(wrong.pages.map(({ schema }) => schema !== undefined)).toEqual([true, false, false]);
    expect(textOf(wrong.context)).toContain(
      'records are not as the tap says: their types are left open',
    );
  });
});

it('a state without records behind it is a bookmark, too', async () => {
  const { pages } = await read({ count: 10, every: 5 }, {}, { bookmark: { id: 10 } });
  expect(pages.map((page) => [page.count, page.bookmark])).toEqual([[0, { id: 10 }]]);
});

it('what a tap has started ends with it when the read is stopped', async () => {
  const script = join(folder, 'wrapped-tap');
  const pidFile = join(folder, 'pid');
  writeFileSync(script, `#!/bin/sh\nsleep 600 &\necho $! > '${pidFile}'\nwait\n`, { mode: 0o755 });
  const stop = new AbortController();
  const context = testContext(folder, { signal: stop.signal });
  const reading = read({}, { executable: script }, {}, context);
  await eventually(() => expect(readFileSync(pidFile, 'utf8')).toMatch(/\n/));
  stop.abort(new Error('stopped'));
  await expect(reading).rejects.toThrow('stopped');
  expect(isGone(Number(readFileSync(pidFile, 'utf8')))).toBe(true);
});

it('secrets in the config of a tap are hidden in what it says', async () => {
  const context = testContext(folder);
  const tap = { fails_after: 1, says: 'the login with hunter2-secret was refused' };
  const login = { user: 'anna', oauth: { client_secret: 'hunter2-secret' } };
  const failure: unknown = await read({ ...tap, ...login }, {}, {}, context).catch(
    (error: unknown) => error,
  );
  const shown = context.env.redactor.text(String(failure));
  expect(shown).toContain('the login with *** was refused');
  expect(context.env.redactor.text('anna')).toBe('anna');
});

describe('what a tap says beside its records', () => {
  it('is logged, and told at the end', async () => {
    const { context } = await read({ count: 5, noise: true });
    const said = textOf(context);
    expect(said).toContain('INFO starting with --config');
    expect(said).toContain('the tap sent ACTIVATE_VERSION, which is passed over');
    expect(said).toMatch(/no messages of Singer were left out.*lines"?[=:] ?2\b/);
  });

  it('fails the read with its last words', async () => {
    await expect(read({ fails_after: 3 })).rejects.toMatchObject({
      code: 'connector_refused',
      message: expect.stringMatching(/code 3: CRITICAL the login was refused$/) as unknown,
    });
  });

  it('is told from a stream that it does not know', async () => {
    const { pages, context } = await read({ count: 3 }, { stream: 'customers' });
    expect(pages).toEqual([]);
    expect(context.lines.map(({ level }) => level)).toContain('WARN');
  });
});

it('a tap gets catalog, state and further arguments in this order, and its files are removed', async () => {
  const catalog = { streams: [{ tap_stream_id: 'orders' }] };
  const { context } = await read(
    { count: 1 },
    { catalog, args: ['--loud'] },
    { bookmark: { id: 0 } },
  );
  expect(textOf(context)).toContain('INFO starting with --config --catalog --state --loud');
  const file = /INFO config in (\S+\.json)/.exec(textOf(context))?.[1] ?? '';
  expect(file).not.toBe('');
  expect(existsSync(file)).toBe(false);
});

it('a tap that is silent is ended', async () => {
  await expect(read({ silent: true }, { idle_timeout_secs: 0.2 })).rejects.toMatchObject({
    code: 'connector_timeout',
  });
});

it('no program is started where documents are kept to a folder', async () => {
  restrictFiles({ root: folder, refused: [] });
  await expect(read({ count: 1 })).rejects.toThrow('programs cannot be kept to it');
});

it('the probe looks for the program and the stream, and starts nothing', async () => {
  const found = async (more: JsonObject) => {
    const config = { executable, stream: 'orders', ...more };
    const checked = check(singerSourceConfig, config);
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const findings = (await singerSource.probe?.(checked.value, testContext(folder))) ?? [];
    return findings.map(({ name, status }) => [name, status]);
  };
  const catalog = { streams: [{ stream: 'orders' }] };
  expect(await found({ catalog })).toEqual([
    ['tap_executable', 'pass'],
    ['stream_in_catalog', 'pass'],
  ]);
  expect(await found({ catalog, stream: 'others', executable: 'no-such-tap' })).toEqual([
    ['tap_executable', 'fail'],
    ['stream_in_catalog', 'fail'],
  ]);
  expect((await found({}))[1]).toEqual(['stream_in_catalog', 'skip']);
});

it.for([
  ['{"type":"RECORD","stream":"a","record":{"b":1}}', 'RECORD'],
  ['{"type":"RECORD","stream":"a","record":[1]}', undefined],
  ['{"type":"RECORD","record":{}}', undefined],
  ['{"type":"STATE"}', undefined],
  ['{"type":"STATE","value":0}', 'STATE'],
  ['{"type":"SCHEMA","stream":"a"}', undefined],
  ['[]', undefined],
  ['INFO done', undefined],
])('the line %s is read as %s', ([line = '', type]) => {
  expect(readMessage(line)?.type).toBe(type);
});
