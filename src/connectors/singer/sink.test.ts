import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { testContext, testEnv, type TestContext } from '../../../test/fakes/env.ts';
import { isGone } from '../../../test/fakes/singer/is-gone.ts';
import { installProgram } from '../../../test/fakes/singer/install-program.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { restrictFiles } from '../../lib/files/file-access.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { singerSink } from './index.ts';
import { singerSinkConfig } from './sink-config.ts';
import { StreamSchema } from '../_programs/stream-schema.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-singer-target-'));
const target = installProgram(folder, 'target');
const silent = installProgram(folder, 'silent-target');
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => restrictFiles(undefined));

const path = join(folder, 'out.jsonl');
const written = (): unknown[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown)
    : [];
const textOf = ({ lines }: TestContext): string => lines.map(({ line }) => line).join('\n');

async function open(more: JsonObject, context: TestContext = testContext(folder)) {
  rmSync(path, { force: true });
  const config = { target_command: target, stream: 'orders', target_config: { path }, ...more };
  const checked = check(singerSinkConfig, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const sink = await singerSink.open(checked.value, context);
  const write = (records: JsonObject[], schema?: RecordSchema) =>
    sink.write(Page.ofRecords(records, schema === undefined ? {} : { schema }), { partial: false });
  return { sink, write, context };
}

it('records and their schema reach the target, which has stored them when it has ended', async () => {
  const { sink, write, context } = await open({});
  await write([{ id: 1, name: null }]);
  await write([{ id: 2, name: 'é', price: 1.5 }]);
  await sink.flush();
  expect(written()).toEqual([]);
  await sink.finish('success');
  expect(written()).toEqual([
    { id: 1, name: null },
    { id: 2, name: 'é', price: 1.5 },
  ]);
  await sink.close();
  const told = [...textOf(context).matchAll(/INFO told (.*?)(?=\\n|" program|$)/gm)];
  expect(told.length).toBe(2);
});

it('a row that failed ends the target before it stores anything', async () => {
  const { sink, write } = await open({});
  await write([{ id: 1 }]);
  await sink.finish('failed');
  await sink.close();
  expect(written()).toEqual([]);
});

describe('a target that fails', () => {
  it('fails the flush with its last words', async () => {
    const { sink, write } = await open({ flush_on: 'state' });
    await write([{ id: 1, v: 'refuse me' }]);
    await expect(sink.flush()).rejects.toMatchObject({
      code: 'connector_refused',
      message: expect.stringMatching(
        /ended with code 4: CRITICAL a record was refused$/,
      ) as unknown,
    });
    await sink.close();
  });

  it('fails the end of the row', async () => {
    const { sink, write } = await open({});
    await write([{ id: 1, v: 'refuse me' }]);
    await expect(sink.finish('success')).rejects.toThrow('CRITICAL a record was refused');
    await sink.close();
  });

  it('that stops reading is not waited for longer than it may take, and is sent nothing more', async () => {
    const more = { target_command: silent, args: ['deaf'], flush_timeout_secs: 0.5 };
    const { sink, write } = await open(more);
    const long = [{ id: 1, text: 'x'.repeat(4_000_000) }];
    const late = {
      code: 'connector_timeout',
      message: expect.stringMatching(/did not read what it was sent within 0.5 s$/) as string,
    };
    await expect(write(long)).rejects.toMatchObject(late);
    await expect(write([{ id: 2 }])).rejects.toMatchObject(late);
    await sink.finish('failed');
    await sink.close();
  });

  it('is not waited for longer than it may take', async () => {
    for (const flushOn of ['state', 'exit']) {
      const more = { target_command: silent, flush_on: flushOn, flush_timeout_secs: 0.2 };
      const { sink, write } = await open(more);
      await write([{ id: 1 }]);
      const end = flushOn === 'state' ? sink.flush() : sink.finish('success');
      await expect(end).rejects.toMatchObject({ code: 'connector_timeout' });
      await sink.close();
    }
  });
});

it('a record that is no object is refused before the target hears of it', async () => {
  const { sink } = await open({});
  const page = Page.ofRecords([{ id: 1 }, 'text']);
  await expect(sink.write(page, { partial: false })).rejects.toMatchObject({ record: 1 });
  await sink.close();
});

it('a record without its key fails the page before the target hears of it', async () => {
  for (const bad of [{ name: 'x' }, { id: null }] as JsonObject[]) {
    const { sink, write } = await open({ write_mode: 'upsert', key: ['id'], flush_on: 'state' });
    await expect(write([{ id: 1 }, bad])).rejects.toThrow(/cannot be written.*key column `id`/);
    await sink.finish('success');
    await sink.close();
    expect(written()).toEqual([]);
  }
});

it('a target sees the variables that it may, and those of its config', async () => {
  const env = testEnv({
    cwd: folder,
    variables: { PATH: '/usr/bin', ETL_A: '1', SECRET_B: '2' },
    variableAccess: { credentials: ['SECRET_B'] },
  });
  for (const [more, seen] of [
    [{ env: { OWN: 'x' } }, 'INFO sees ETL_A OWN PATH'],
    [{ env: { OWN: 'x' }, inherit_env: false }, 'INFO sees OWN'],
  ] as const) {
    const { sink, write } = await open(more, { ...testContext(folder), env, lines: env.lines });
    await write([{ id: 1 }]);
    await sink.finish('success');
    await sink.close();
    // A shell adds some of its own.
    const names = env.lines.map(({ line }) => line.replace(/ (?:PWD|SHLVL|_|OLDPWD)\b/g, ''));
    expect(names.join('\n')).toContain(seen);
    expect(names.join('\n')).not.toContain('SECRET_B');
  }
});

it('a target that is on the PATH is found, also where it does not inherit that', async () => {
  const env = testEnv({ cwd: folder, variables: { PATH: `/nowhere:${folder}` } });
  const more = { target_command: 'target', inherit_env: false };
  const { sink, write } = await open(more, { ...testContext(folder), env, lines: env.lines });
  await write([{ id: 1 }]);
  await sink.finish('success');
  await sink.close();
  expect(written()).toEqual([{ id: 1 }]);
});

it('what a target has started ends with it when the row fails', async () => {
  const wrapped = join(folder, 'wrapped-target');
  const pidFile = join(folder, 'pid');
  const lines = ['exec 3<&0', `'${target}' "$@" <&3 &`, `echo $! > '${pidFile}'`, 'wait'];
  writeFileSync(wrapped, `#!/bin/sh\n${lines.join('\n')}\n`, { mode: 0o755 });
  const { sink, write, context } = await open({ target_command: wrapped });
  await write([{ id: 1 }]);
  await eventually(() => expect(textOf(context)).toContain('INFO told'));
  await sink.finish('failed');
  await sink.close();
  expect(isGone(Number(readFileSync(pidFile, 'utf8')))).toBe(true);
  // It would take the end of its input for the end of the run.
  expect(written()).toEqual([]);
});

it('no target is started where documents are kept to a folder', async () => {
  restrictFiles({ root: folder, refused: [] });
  const { write } = await open({});
  await expect(write([{ id: 1 }])).rejects.toThrow('programs cannot be kept to it');
});

describe('the schema that a target is told', () => {
  it('has the types of the source', () => {
    const fields = (
      [
        ['a', { kind: 'int64' }],
        ['b', { kind: 'float64' }],
        ['c', { kind: 'timestamp', unit: 'us', zone: 'UTC' }],
        ['d', { kind: 'date' }],
        ['e', { kind: 'json' }],
        ['f', { kind: 'decimal' }],
        ['g', { kind: 'bool' }],
      ] as const
    ).map(([name, type]) => ({ name, type, nullable: true }));
    const schema = new StreamSchema();
    expect(schema.before([], { fields })).toEqual({
      type: 'object',
      properties: {
        a: { type: ['integer', 'null'] },
        b: { type: ['number', 'null'] },
        c: { type: ['string', 'null'], format: 'date-time' },
        d: { type: ['string', 'null'], format: 'date' },
        e: {},
        f: { type: ['string', 'null'] },
        g: { type: ['boolean', 'null'] },
      },
    });
    const record = { a: 1, b: 2, c: '2026-01-02T03:04:05Z', d: '2026-01-02', f: '1.0', g: true };
    expect(schema.before([record], { fields })).toBeUndefined();
  });

  it('grows with the values, and is sent again only then', () => {
    const schema = new StreamSchema();
    const typesAfter = (...records: JsonObject[]) =>
      schema.before(records, undefined)?.['properties'];
    expect(typesAfter({ a: null }, { a: 1 })).toEqual({ a: { type: ['integer', 'null'] } });
    expect(typesAfter({ a: 2 }, { a: null })).toBeUndefined();
    expect(typesAfter({ a: 1.5 })).toEqual({ a: { type: ['number', 'null'] } });
    expect(typesAfter({ a: 3 })).toBeUndefined();
    expect(typesAfter({ a: 'x', b: [1] })).toEqual({
      a: { type: ['number', 'string', 'null'] },
      b: { type: ['array', 'null'] },
    });
  });
});
