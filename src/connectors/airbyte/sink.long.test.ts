import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { testContext, type TestContext } from '../../../test/fakes/env.ts';
import { installProgram } from '../../../test/fakes/singer/install-program.ts';
import { isGone } from '../../../test/fakes/singer/is-gone.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import { restrictFiles } from '../../lib/files/file-access.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { airbyteSink } from './index.ts';
import { airbyteSinkConfig } from './sink-config.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-airbyte-destination-'));
const command = [installProgram(folder, '../airbyte/destination')];
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => restrictFiles(undefined));

const path = join(folder, 'out.jsonl');
const told = join(folder, 'told.jsonl');
const linesIn = (file: string): JsonObject[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as JsonObject)
    : [];
const written = (): JsonObject[] => linesIn(path);
const toldStream = (): JsonObject => {
  const [first = {}] = linesIn(told);
  return first['catalog'] as JsonObject;
};
const textOf = ({ lines }: TestContext): string => lines.map(({ line }) => line).join('\n');

function configOf(destination: JsonObject, more: JsonObject = {}) {
  const given = { command, stream: 'orders', destination_config: { path, told, ...destination } };
  const checked = check(airbyteSinkConfig, { ...given, ...more });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

async function open(
  destination: JsonObject = {},
  more: JsonObject = {},
  context: TestContext = testContext(folder),
  role: 'main' | 'dlq' = 'main',
) {
  for (const file of [path, told]) rmSync(file, { force: true });
  const sink = await airbyteSink.open(configOf(destination, more), { ...context, role });
  const write = (records: JsonObject[], schema?: RecordSchema) =>
    sink.write(Page.ofRecords(records, schema === undefined ? {} : { schema }), { partial: false });
  return { sink, write, context };
}

describe('a flush', () => {
  it('ends when the destination has given its state back, for all records before it', async () => {
    const { sink, write } = await open();
    await write([{ id: 1 }, { id: 2 }]);
    await write([{ id: 3 }]);
    expect(written()).toEqual([]);
    await sink.flush();
    expect(written()).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    await sink.flush();
    await write([{ id: 4 }]);
    await sink.finish('failed');
    await sink.close();
    expect(written()).toHaveLength(3);
    expect(linesIn(told).slice(1)).toEqual([
      {
        type: 'STATE',
        state: {
          type: 'STREAM',
          stream: { stream_descriptor: { name: 'orders' }, stream_state: { headgate_flush: 1 } },
          sourceStats: { recordCount: 3 },
        },
      },
    ]);
  });

  it('of destinations that give states back at their end waits for that end', async () => {
    const { sink, write } = await open({ at_end: true }, { flush_on: 'exit' });
    await write([{ id: 1 }]);
    await sink.flush();
    expect(linesIn(told).some(({ type }) => type === 'STATE')).toBe(false);
    await sink.finish('success');
    await sink.close();
    expect(written()).toEqual([{ id: 1 }]);
    expect(linesIn(told).map(({ type }) => type)).toEqual([undefined, 'STATE', 'TRACE']);
  });

  it('of dead letters is durable, whatever the config says', async () => {
    const more = { flush_on: 'exit', write_mode: 'overwrite' };
    const { sink, write } = await open({}, more, testContext(folder), 'dlq');
    await write([{ id: 1 }]);
    await sink.flush();
    expect(written()).toEqual([{ id: 1 }]);
    await sink.close();
  });
});

describe('a destination is told', () => {
  const how = async (more: JsonObject) => {
    const { sink, write } = await open({}, { namespace: 'shop', ...more });
    await write([{ id: 1, at: 'x' }]);
    await sink.finish('success');
    await sink.close();
    const { stream, ...rest } = toldStream();
    return { stream, rest, last: linesIn(told).at(-1) };
  };

  it('the stream with its types, and that it is complete', async () => {
    const { stream, rest, last } = await how({});
    expect(stream).toEqual({
      name: 'orders',
      namespace: 'shop',
      json_schema: {
        type: 'object',
        properties: { id: { type: ['integer', 'null'] }, at: { type: ['string', 'null'] } },
      },
      supported_sync_modes: ['full_refresh', 'incremental'],
    });
    expect(rest).toEqual({
      sync_mode: 'incremental',
      destination_sync_mode: 'append',
      cursor_field: [],
      primary_key: [],
      generation_id: 0,
      minimum_generation_id: 0,
      sync_id: expect.any(Number) as unknown,
    });
    expect(last).toMatchObject({
      type: 'TRACE',
      trace: {
        type: 'STREAM_STATUS',
        stream_status: {
          stream_descriptor: { name: 'orders', namespace: 'shop' },
          status: 'COMPLETE',
        },
      },
    });
  });

  it('the key and the cursor of an upsert', async () => {
    const more = { write_mode: 'upsert', key: ['id'], cursor_field: 'at' };
    expect((await how(more)).rest).toMatchObject({
      sync_mode: 'incremental',
      destination_sync_mode: 'append_dedup',
      cursor_field: ['at'],
      primary_key: [['id']],
      minimum_generation_id: 0,
    });
  });

  it('that an overwrite is a new generation, which no older one outlives', async () => {
    const { rest } = await how({ write_mode: 'overwrite' });
    expect(rest).toMatchObject({ sync_mode: 'full_refresh', destination_sync_mode: 'overwrite' });
    expect(rest['generation_id']).toBeGreaterThan(0);
    expect(rest['minimum_generation_id']).toBe(rest['generation_id']);
  });

  it('the types of the source, with what Airbyte says of times', async () => {
    const { sink, write } = await open();
    const fields = (
      [
        ['moment', { kind: 'timestamp', unit: 'us', zone: 'UTC' }],
        ['local', { kind: 'timestamp', unit: 'us' }],
        ['day', { kind: 'date' }],
        ['hour', { kind: 'time' }],
        ['digits', { kind: 'decimal' }],
      ] as const
    ).map(([name, type]) => ({ name, type, nullable: true }));
    await write([{ moment: null }], { fields });
    await sink.finish('success');
    await sink.close();
    const { stream } = toldStream();
    expect((stream as JsonObject)['json_schema']).toEqual({
      type: 'object',
      properties: {
        moment: {
          type: ['string', 'null'],
          format: 'date-time',
          airbyte_type: 'timestamp_with_timezone',
        },
        local: {
          type: ['string', 'null'],
          format: 'date-time',
          airbyte_type: 'timestamp_without_timezone',
        },
        day: { type: ['string', 'null'], format: 'date' },
        hour: { type: ['string', 'null'], format: 'time', airbyte_type: 'time_without_timezone' },
        digits: { type: ['string', 'null'] },
      },
    });
  });
});

describe('fields that come later', () => {
  it('are for a destination that starts anew, behind one that has stored the others', async () => {
    const { sink, write, context } = await open();
    await write([{ id: 1 }]);
    await write([{ id: 2, name: 'x' }]);
    expect(written()).toEqual([{ id: 1 }]);
    await write([{ id: 3 }]);
    await sink.finish('success');
    await sink.close();
    expect(written()).toEqual([{ id: 1 }, { id: 2, name: 'x' }, { id: 3 }]);
    expect(linesIn(told).filter((line) => 'catalog' in line)).toHaveLength(2);
    expect(textOf(context)).toContain('the connector starts anew');
  });

  it.for<[JsonObject, string]>([
    [{ write_mode: 'overwrite' }, 'give the fields in `schema`'],
    [{ flush_on: 'exit' }, 'give the fields in `schema`, or set `flush_on: state`'],
  ])('fail where all is stored at the end: %o', async ([more, hint]) => {
    const { sink, write } = await open({}, more);
    await write([{ id: 1 }]);
    await expect(write([{ id: 2, name: 'x' }])).rejects.toMatchObject({
      message: expect.stringMatching(/was not told of when it started: `name`$/) as unknown,
      hint,
    });
    await sink.finish('failed');
    await sink.close();
    expect(written()).toEqual([]);
  });

  it('and that the document leaves out are counted, and not written', async () => {
    const schema = { type: 'object', properties: { id: { type: 'integer' } } };
    const { sink, write } = await open({}, { schema });
    const result = await write([{ id: 1, name: 'x' }, { id: 2 }]);
    expect(result).toEqual({ written: 2, rejected: [], unknownFields: new Map([['name', 1]]) });
    await sink.finish('success');
    await sink.close();
    expect(written()).toEqual([{ id: 1 }, { id: 2 }]);
    const all = await open({}, { schema: { ...schema, additionalProperties: true } });
    await expect(all.write([{ id: 1, name: 'x' }])).resolves.not.toHaveProperty('unknownFields');
    await all.sink.close();
  });
});

describe('an upsert', () => {
  const upsert = { write_mode: 'upsert', key: ['id'] };

  it('sends the last record of a key, and a time that only grows', async () => {
    const times = join(folder, 'times');
    const { sink, write } = await open({ times }, upsert);
    await write([
      { id: 1, v: 'a' },
      { id: 2, v: 'b' },
      { id: 1, v: 'c' },
    ]);
    await write([{ id: 2, v: 'd' }]);
    await sink.finish('success');
    await sink.close();
    expect(written()).toEqual([
      { id: 1, v: 'c' },
      { id: 2, v: 'd' },
    ]);
    const [one, same, later] = readFileSync(times, 'utf8').split('\n').map(Number);
    expect(same).toBe(one);
    expect(later).toBeGreaterThan(same ?? NaN);
  });

  it('of a record without its key fails before the destination hears of it', async () => {
    const { sink, write } = await open({}, upsert);
    await expect(write([{ id: 1 }, { v: 'x' }])).rejects.toMatchObject({
      message: expect.stringContaining('key column `id`') as string,
      record: 1,
    });
    await sink.close();
    expect(linesIn(told)).toEqual([]);
  });
});

describe('an overwrite', () => {
  it('replaces nothing when it fails, and all without a record', async () => {
    const { sink, write } = await open({}, { write_mode: 'overwrite' });
    writeFileSync(path, '{"id":9}\n');
    await write([{ id: 1 }]);
    await sink.flush();
    await sink.finish('failed');
    await sink.close();
    expect(written()).toEqual([{ id: 9 }]);
    const empty = await open({}, { write_mode: 'overwrite' });
    writeFileSync(path, '{"id":9}\n');
    await empty.sink.finish('success');
    await empty.sink.close();
    expect(written()).toEqual([]);
  });
});

describe('a destination that', () => {
  const SHORT = { flush_timeout_secs: 0.5 };
  type Told = Readonly<Record<string, string | RegExp>>;
  it.for<[string, JsonObject, JsonObject, Told]>([
    [
      'fails is told with its words',
      { fails_after: 1 },
      {},
      { code: 'connector_data', message: /failed: the table is locked$/ },
    ],
    [
      'says that its config is wrong',
      { fails_after: 1, failure_type: 'config_error' },
      {},
      { code: 'connector_refused', hint: 'check `destination_config`' },
    ],
    [
      'may be tried again',
      { fails_after: 1, failure_type: 'transient_error' },
      {},
      { code: 'connector_connection' },
    ],
    [
      'dies is told with its last words',
      { dies_after: 1 },
      {},
      { code: 'connector_refused', message: /ended with code 7: FATAL out of memory$/ },
    ],
    [
      'ends well before it has stored all is no success',
      { dies_after: 1, code: 0, noise: true },
      {},
      {
        message: /ended before it had stored all records$/,
        hint: /2 lines of it were no messages/,
      },
    ],
    [
      'never gives a state back',
      { silent: true },
      SHORT,
      { code: 'connector_timeout', hint: /needs `flush_on: exit`/ },
    ],
    [
      'gives back another state',
      { unknown_state: { cursor: 17 } },
      {},
      { code: 'connector_data', message: /gave back a state that it was not given$/ },
    ],
    [
      'gives back a state that is still to come',
      { unknown_state: { headgate_flush: 2 } },
      {},
      { code: 'connector_data', message: /gave back a state that it was not given$/ },
    ],
    [
      'says that it stored less',
      { loses: 1 },
      {},
      { code: 'connector_data', message: /stored 1 of 2 records$/ },
    ],
    [
      'writes lines that are no messages',
      { noise: true },
      { on_malformed: 'fail' },
      { message: /line 1 of .* is no message of the Airbyte protocol$/ },
    ],
  ])('%s', async ([, destination, more, failure]) => {
    const { sink, write } = await open(destination, more);
    const work = async (): Promise<void> => {
      await write([{ id: 1 }, { id: 2 }]);
      await sink.flush();
    };
    const expected = Object.entries(failure).map(([name, one]) => [
      name,
      one instanceof RegExp ? (expect.stringMatching(one) as unknown) : one,
    ]);
    await expect(work()).rejects.toMatchObject(Object.fromEntries(expected));
    // What it is asked afterwards fails in the same way, and at once.
    await expect(write([{ id: 3 }])).rejects.toThrow();
    await sink.finish('failed');
    await sink.close();
  });

  it('gives back an earlier state has not stored what is behind it', async () => {
    const { sink, write } = await open({ repeats: true }, SHORT);
    await write([{ id: 1 }]);
    await sink.flush();
    await write([{ id: 2 }]);
    await expect(sink.flush()).rejects.toMatchObject({ code: 'connector_timeout' });
    await sink.close();
  });

  it('ends without its last state is no success', async () => {
    const { sink, write } = await open({ silent: true }, { flush_on: 'exit' });
    await write([{ id: 1 }]);
    await expect(sink.finish('success')).rejects.toThrow('before it had stored all records');
    await sink.close();
  });

  it('fails at its end is no success', async () => {
    const { sink, write } = await open({ end_code: 5 });
    await write([{ id: 1 }]);
    await sink.flush();
    await expect(sink.finish('success')).rejects.toThrow('ended with code 5');
    await sink.close();
  });

  it('does not end is ended', async () => {
    const { sink, write } = await open({ lingers: true }, SHORT);
    await write([{ id: 1 }]);
    await expect(sink.finish('success')).rejects.toMatchObject({
      code: 'connector_timeout',
      message: expect.stringContaining('did not end within 0.5 s') as unknown,
    });
    await sink.close();
  });

  it('takes no records is not waited for longer than it may take', async () => {
    const { sink, write } = await open({ deaf: true }, SHORT);
    const many = Array.from({ length: 20 }, (_, id) => ({ id, text: 'x'.repeat(65_536) }));
    await expect(write(many)).rejects.toMatchObject({
      code: 'connector_timeout',
      message: expect.stringContaining('took no records within 0.5 s') as unknown,
    });
    await sink.close();
  });

  it('cannot write in a mode says so before it gets a record', async () => {
    const wrapped = join(folder, 'appends-only');
    const script = `#!/bin/sh\nDESTINATION_MODES=append,overwrite exec '${command[0]}' "$@"\n`;
    writeFileSync(wrapped, script, { mode: 0o755 });
    const more = { command: wrapped, write_mode: 'upsert', key: ['id'] };
    const { sink, write } = await open({}, more);
    await expect(write([{ id: 1 }])).rejects.toMatchObject({
      code: 'connector_refused',
      hint: 'it can with: append, overwrite',
    });
    await sink.close();
    const found = await airbyteSink.probe?.(configOf({}, more), {
      ...testContext(folder),
      role: 'main',
    });
    expect(found?.map(({ name, status }) => [name, status])).toEqual([
      ['executable', 'pass'],
      ['check', 'pass'],
      ['write_mode', 'fail'],
    ]);
  });
});

it('a run that is stopped ends the destination, and what it has started', async () => {
  const wrapped = join(folder, 'wrapped-destination');
  const pidFile = join(folder, 'pid');
  const lines = ['exec 3<&0', `'${command[0]}' "$@" <&3 &`, `echo $! > '${pidFile}'`, 'wait'];
  writeFileSync(wrapped, `#!/bin/sh\n${lines.join('\n')}\n`, { mode: 0o755 });
  const stop = new AbortController();
  const context = testContext(folder, { signal: stop.signal });
  const { sink, write } = await open(
    { silent: true, stubborn: true },
    { command: wrapped },
    context,
  );
  await write([{ id: 1 }]);
  const flushing = sink.flush();
  await eventually(() => expect(linesIn(told).some(({ type }) => type === 'STATE')).toBe(true));
  stop.abort(new Error('stopped'));
  await expect(flushing).rejects.toThrow('stopped');
  await sink.close();
  expect(isGone(Number(readFileSync(pidFile, 'utf8')))).toBe(true);
});

it('what it says is logged, without what its spec calls secret', async () => {
  const word = 'open-sesame';
  const { sink, write, context } = await open({
    word,
    noise: true,
    files: true,
    fails_after: 2,
    says: `no ${word}`,
  });
  await write([{ id: 1 }]);
  await sink.flush();
  const failing = write([{ id: 2 }]).then(() => sink.flush());
  await expect(failing).rejects.toThrow('failed: no ***');
  await sink.close();
  expect(textOf(context)).toMatch(/WARN .*this is an old table/);
  expect(textOf(context)).not.toContain(word);
  const file = /--config (\S+\.json)/.exec(textOf(context))?.[1] ?? '';
  expect(file).not.toBe('');
  expect(existsSync(file)).toBe(false);
});

it('lines that are no messages are counted in the log', async () => {
  const { sink, write, context } = await open({ noise: true });
  await write([{ id: 1 }]);
  await sink.finish('success');
  await sink.close();
  expect(textOf(context)).toMatch(/no messages were left out.*lines=2/);
});

it('a record that is no object is refused before the destination hears of it', async () => {
  const { sink } = await open();
  const page = Page.ofRecords([{ id: 1 }, 'text']);
  await expect(sink.write(page, { partial: false })).rejects.toMatchObject({ record: 1 });
  await sink.close();
  expect(linesIn(told)).toEqual([]);
});

it('no destination is started where documents are kept to a folder', async () => {
  restrictFiles({ root: folder, refused: [] });
  const { write } = await open();
  await expect(write([{ id: 1 }])).rejects.toThrow('programs cannot be kept to it');
});

it('the probe tells what the connector says of its config', async () => {
  const word = 'open-sesame';
  const context = testContext(folder);
  const found = await airbyteSink.probe?.(configOf({ refuses: true, word }), {
    ...context,
    role: 'main',
  });
  expect(found?.map(({ name, status }) => [name, status])).toEqual([
    ['executable', 'pass'],
    ['check', 'fail'],
  ]);
  expect(found?.[1]).toMatchObject({
    reason: expect.stringContaining('no login with ***') as unknown,
    hint: 'check `destination_config`',
  });
});

it('a cursor is only of use to an upsert', () => {
  expect(() => configOf({}, { cursor_field: 'at' })).toThrow(
    'works only with `write_mode: upsert`',
  );
});
