import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { loadDocument } from '../../document/load.ts';
import { StopReason } from '../../lib/errors.ts';
import { Redactor } from '../../lib/redact.ts';
import { encrypt } from '../../lib/crypto/encryption.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { purge } from './purge.ts';
import { inspect } from './inspect.ts';
import { replay, type ReplayRequest } from './replay.ts';

let cwd = '';
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'headgate-dlq-'));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const deadLetter = (payload: unknown, reason = 'quality', tsMs = 1000): string =>
  JSON.stringify({
    error: { kind: 'QualityFailure', message: 'no' },
    reason,
    payload,
    ts_ms: tsMs,
    sink: 'jsonl',
    pipeline: 'p',
    row: 'r',
    record_index: 0,
  });

const put = (name: string, lines: readonly string[]): Promise<void> =>
  writeFile(join(cwd, name), lines.map((line) => `${line}\n`).join(''));
const lines = async (name: string): Promise<string[]> =>
  (await readFile(join(cwd, name), 'utf8')).split('\n').filter((line) => line !== '');

function look(location: string, overrides: Partial<Parameters<typeof inspect>[0]> = {}) {
  return inspect({ location, limit: 5, keys: [], cwd, ...overrides });
}

describe('inspecting a queue', () => {
  it('counts dead letters by reason and kind, and everything else by what it is', async () => {
    await put('dead.jsonl', [
      deadLetter({ id: 1 }),
      deadLetter({ id: 2 }, 'contract'),
      'garbage',
      '{"id":3}',
      '{"payload":null}',
      '  ',
    ]);
    expect(await look('dead.jsonl')).toMatchObject({
      location: 'dead.jsonl',
      files_read: 1,
      total_envelopes: 3,
      malformed: 1,
      non_envelope: 1,
      undecryptable: 0,
      by_reason: { contract: 1, quality: 1, unknown: 1 },
      by_error_kind: { QualityFailure: 2, unknown: 1 },
      sample: [
        {
          reason: 'quality',
          error_kind: 'QualityFailure',
          error_message: 'no',
          pipeline: 'p',
          row: 'r',
          record_index: 0,
          payload: { id: 1 },
        },
        {
          reason: 'contract',
          error_kind: 'QualityFailure',
          error_message: 'no',
          pipeline: 'p',
          row: 'r',
          record_index: 0,
          payload: { id: 2 },
        },
        {
          reason: null,
          error_kind: null,
          error_message: null,
          pipeline: null,
          row: null,
          record_index: null,
          payload: null,
        },
      ],
    });
  });

  it('filters by reason; dead letters without one never match, and other lines are still counted', async () => {
    await put('dead.jsonl', [deadLetter(1), deadLetter(2, 'contract'), '{"payload":3}', 'garbage']);
    const found = await look('dead.jsonl', { reason: 'contract', limit: 0 });
    expect(found).toMatchObject({
      total_envelopes: 1,
      malformed: 1,
      by_reason: { contract: 1 },
      sample: [],
    });
  });

  it('opens sealed dead letters with any of the keys, and counts those it cannot open', async () => {
    const sealed = (key: string, text: string): string =>
      Buffer.from(encrypt(key, Buffer.from(text))).toString('base64');
    await put('dead.jsonl', [
      sealed('old', deadLetter(1)),
      sealed('new', deadLetter(2)),
      sealed('lost', deadLetter(3)),
    ]);
    expect(await look('dead.jsonl', { keys: ['new', 'old'] })).toMatchObject({
      total_envelopes: 2,
      undecryptable: 1,
      malformed: 0,
    });
  });

  it('refuses a compressed file, which would count as one without dead letters', async () => {
    const queue = `${deadLetter({ id: 1 })}\n`;
    await writeFile(join(cwd, 'dead.jsonl.gz'), gzipSync(queue));
    await writeFile(join(cwd, 'dead.jsonl.zst'), zstdCompressSync(queue));
    await expect(look('dead.jsonl.gz')).rejects.toMatchObject({
      code: 'bad_config',
      message: expect.stringContaining('dead.jsonl.gz is compressed with gzip') as string,
      hint: expect.stringContaining('`gzip -d`') as string,
    });
    await expect(look('dead.jsonl.zst')).rejects.toThrow('is compressed with zstd');
  });

  it.each([
    ['an Avro file', 'Obj\u0001', 'dead.avro'],
    ['a Parquet file', 'PAR1', 'dead.parquet'],
    ['an ORC file', 'ORC', 'dead.orc'],
    ['a SQLite database', 'SQLite format 3\0', 'dead.db'],
    ['an Excel file', 'PK\u0003\u0004', 'dead.xlsx'],
  ])('refuses %s, and says how it becomes a queue', async (what, begin, name) => {
    await writeFile(join(cwd, name), `${begin}\nmore`);
    await expect(look(name)).rejects.toMatchObject({
      code: 'bad_config',
      message: expect.stringContaining(`${name} is ${what}`) as string,
      hint: expect.stringContaining('sink is `jsonl`') as string,
    });
  });

  it('reads the files of a folder and of a glob, but no archive and nothing below', async () => {
    await mkdir(join(cwd, 'q/below'), { recursive: true });
    for (const name of [
      'q/b.jsonl',
      'q/a.jsonl',
      'q/a.archived.jsonl',
      'q/notes.txt',
      'q/below/c.jsonl',
    ])
      await put(name, [deadLetter(name)]);
    const payloads = async (location: string): Promise<unknown[]> =>
      (await look(location)).sample.map(({ payload }) => payload);
    expect(await payloads('q')).toEqual(['q/a.jsonl', 'q/b.jsonl']);
    expect(await payloads('q/[ab]*.jsonl')).toEqual(['q/a.jsonl', 'q/b.jsonl']);
  });

  it.each(['', 'nowhere.jsonl', 'empty', 'none-*.jsonl'])(
    'refuses a location without dead letters: %j',
    async (location) => {
      await mkdir(join(cwd, 'empty'));
      await expect(look(location)).rejects.toMatchObject({ code: 'bad_config' });
    },
  );
});

describe('purging', () => {
  it('archives the dead letters that match and leaves every other line as it is', async () => {
    await put('dead.jsonl', [deadLetter(1), 'garbage', deadLetter(2, 'contract'), '{"a": 1}']);
    await put('dead.archived.jsonl', ['earlier']);
    const report = await purge({
      location: 'dead.jsonl',
      filter: { reason: 'quality' },
      delete: false,
      keys: [],
      cwd,
    });
    expect(report).toEqual({
      discarded: 1,
      files_rewritten: 1,
      archived_to: [join(cwd, 'dead.archived.jsonl')],
    });
    expect(await lines('dead.jsonl')).toEqual(['garbage', deadLetter(2, 'contract'), '{"a": 1}']);
    expect(await lines('dead.archived.jsonl')).toEqual(['earlier', deadLetter(1)]);
  });

  it('starts a new line in an archive in which a killed purge left half a line', async () => {
    await put('dead.jsonl', [deadLetter(1), deadLetter(2)]);
    await writeFile(join(cwd, 'dead.archived.jsonl'), deadLetter(1).slice(0, 20));
    await purge({ location: 'dead.jsonl', filter: {}, delete: false, keys: [], cwd });
    expect(await lines('dead.archived.jsonl')).toEqual([
      deadLetter(1).slice(0, 20),
      deadLetter(1),
      deadLetter(2),
    ]);
  });

  it('runs one at a time, so that none restores what another removed', async () => {
    const reasons = ['quality', 'contract', 'partial'] as const;
    await put(
      'dead.jsonl',
      Array.from({ length: 900 }, (_, id) => deadLetter({ id }, reasons[id % 3])),
    );
    const request = { location: 'dead.jsonl', delete: false, keys: [], cwd };
    const reports = await Promise.all(
      [...reasons, ...reasons].map((reason) => purge({ ...request, filter: { reason } })),
    );
    expect(reports.map(({ discarded }) => discarded)).toEqual([300, 300, 300, 0, 0, 0]);
    expect(await lines('dead.jsonl')).toEqual([]);
    expect(await lines('dead.archived.jsonl')).toHaveLength(900);
  });

  it('deletes on request, and only what is strictly older', async () => {
    await put('dead.jsonl', [
      deadLetter(1, 'quality', 999),
      deadLetter(2, 'quality', 1000),
      '{"payload":3}',
    ]);
    const report = await purge({
      location: 'dead.jsonl',
      filter: { beforeMs: 1000 },
      delete: true,
      keys: [],
      cwd,
    });
    expect(report).toEqual({ discarded: 1, files_rewritten: 1, archived_to: [] });
    expect(await readdir(cwd)).toEqual(['dead.jsonl']);
    expect(await lines('dead.jsonl')).toEqual([deadLetter(2), '{"payload":3}']);
  });

  it('does not touch a file in which no line matches', async () => {
    await put('dead.jsonl', ['garbage', deadLetter(1)]);
    const report = await purge({
      location: 'dead.jsonl',
      filter: { reason: 'partial' },
      delete: false,
      keys: [],
      cwd,
    });
    expect(report).toEqual({ discarded: 0, files_rewritten: 0, archived_to: [] });
  });

  it('keeps every byte of all other lines, whatever the file contains, and ends the last one', async () => {
    const line = fc.oneof(
      fc.constantFrom(deadLetter(1), deadLetter(2, 'contract'), '', '  ', 'x\r', '{"payload":'),
      fc.string({ unit: 'grapheme' }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 12 }), fc.boolean(), async (texts, ended) => {
        const content =
          texts.map((text) => text.replaceAll('\n', ' ')).join('\n') + (ended ? '\n' : '');
        await writeFile(join(cwd, 'any.jsonl'), content);
        await purge({
          location: 'any.jsonl',
          filter: { reason: 'quality' },
          delete: true,
          keys: [],
          cwd,
        });
        const all = content.split(/(?<=\n)/);
        const kept = all.filter((text) => text.trim() !== deadLetter(1));
        const isEnded = kept.length === all.length || /(^|\n)$/.test(kept.join(''));
        const expected = kept.join('') + (isEnded ? '' : '\n');
        expect(await readFile(join(cwd, 'any.jsonl'), 'utf8')).toBe(expected);
      }),
      { numRuns: 60 },
    );
  });
});

interface Pipeline {
  readonly sink?: object;
  readonly dlq?: object;
  readonly more?: object;
  /** Blocks beside the pipeline. */
  readonly beside?: object;
}

function again(pipeline: Pipeline, overrides: Partial<ReplayRequest> = {}) {
  const { sink = { type: 'jsonl', config: { path: 'out.jsonl' } }, dlq, more, beside } = pipeline;
  const document = loadDocument(
    JSON.stringify({
      version: 1,
      name: 'p',
      ...beside,
      pipeline: {
        source: { type: 'csv', config: { path: 'in.csv' } },
        sink,
        ...(dlq === undefined ? {} : { dlq }),
        ...more,
      },
    }),
    {
      format: 'json',
      origin: { kind: 'file', path: 'p.json' },
      variables: {},
      redactor: new Redactor(),
      readFile: () => new Uint8Array(),
      secretManagers: parts.secrets,
    },
  );
  const plan = planDocument(document, parts, { cpus: 2 });
  const { signal } = new AbortController();
  return replay({
    plan,
    parts,
    env: testEnv({ cwd }),
    signal,
    from: 'dead.jsonl',
    dryRun: false,
    asWritten: false,
    keys: [],
    ...overrides,
  });
}

const needsName = {
  quality: { record: [{ type: 'not_null', field: 'name', on_failure: 'quarantine' }] },
};
const queue = { sink: { type: 'jsonl', config: { path: 'dead.jsonl' } } };

describe('replaying', () => {
  it('writes records that pass now, and puts those that fail again into a new file', async () => {
    await put('dead.jsonl', [deadLetter({ name: 'a' }), deadLetter({ name: null }), 'garbage']);
    const { report, failedAgain } = await again({ dlq: queue, more: needsName });
    expect(report).toEqual({
      candidates: 2,
      records_written: 1,
      failed_dlq: join(cwd, 'dead.replay-failed.jsonl'),
      dry_run: false,
      passed_over: { other_rows: 0, malformed: 1, non_envelope: 0, undecryptable: 0 },
    });
    expect(failedAgain).toBe(1);
    expect(await lines('out.jsonl')).toEqual(['{"name":"a"}']);
    expect(await lines('dead.jsonl')).toHaveLength(3);
    expect(
      (await lines('dead.replay-failed.jsonl')).map(
        (line) => (JSON.parse(line) as { payload: unknown }).payload,
      ),
    ).toEqual([{ name: null }]);
  });

  it('only counts in a dry run', async () => {
    await put('dead.jsonl', [deadLetter({ name: 'a' }), deadLetter({ name: 'b' }, 'contract')]);
    const { report } = await again({}, { dryRun: true, reason: 'contract' });
    expect(report).toMatchObject({ candidates: 1, records_written: 0, dry_run: true });
    expect(await readdir(cwd)).toEqual(['dead.jsonl']);
  });

  it.each([
    [{ type: 'jsonl', config: { path: 'out.jsonl' } }],
    [{ type: 'file', config: { path: 'out.jsonl', format: 'json_lines' } }],
  ])('appends to what a sink wrote before, also where a run would replace it: %j', async (sink) => {
    await put('out.jsonl', ['{"name":"before"}']);
    await put('dead.jsonl', [deadLetter({ name: 'a' })]);
    await again({ sink });
    expect(await lines('out.jsonl')).toEqual(['{"name":"before"}', '{"name":"a"}']);
  });

  it('refuses a sink that can only replace', async () => {
    await put('dead.jsonl', [deadLetter({ name: 'a' })]);
    const refused = again({
      sink: {
        type: 'parquet',
        config: { destination: { type: 'local_path', path: 'out.parquet' } },
      },
    });
    await expect(refused).rejects.toMatchObject({ code: 'unprocessable' });
  });

  it('applies transforms and masking to payloads, or skips both', async () => {
    await put('dead.jsonl', [deadLetter({ name: 'a' })]);
    const more = {
      transforms: [{ type: 'set', config: { values: { seen: true } } }],
      masking: { rules: [{ match: { fields: ['name'] }, action: { type: 'redact' } }] },
    };
    await again({ more });
    await again({ more }, { asWritten: true });
    expect(await lines('out.jsonl')).toEqual(['{"name":"***","seen":true}', '{"name":"a"}']);
  });

  it('opens and seals with the keys of the row when none is named', async () => {
    const dlq = {
      sink: {
        type: 'jsonl',
        config: { path: 'dead.jsonl', encryption: { key: 'now', previous_keys: ['before'] } },
      },
    };
    await put('dead.jsonl', [
      Buffer.from(encrypt('before', Buffer.from(deadLetter({ name: null })))).toString('base64'),
    ]);
    const { report } = await again({ dlq, more: needsName });
    expect(report).toMatchObject({ candidates: 1, records_written: 0 });
    expect(await look('dead.replay-failed.jsonl', { keys: ['now'] })).toMatchObject({
      total_envelopes: 1,
      malformed: 0,
    });
  });

  it('skips dead letters of other rows of the document', async () => {
    const of = (row: string | undefined, id: number): string =>
      JSON.stringify({ reason: 'quality', payload: { id }, row });
    await put('dead.jsonl', [
      of('a', 1),
      of('b', 2),
      of('kid', 3),
      of('gone', 4),
      of(undefined, 5),
      of('a', 6),
    ]);
    const into = (id: string, more: object = {}) => ({
      id,
      sink: { config: { path: `${id}.jsonl` } },
      ...more,
    });
    const matrix = [
      into('a'),
      into('b'),
      into('kid', {
        parent: 'a',
        source: { config: { path: '${a.id}.csv' } },
        sink: { config: { path: 'kid-${a.id}.jsonl' } },
      }),
    ];
    const first = await again({ beside: { matrix } });
    expect(first.report).toMatchObject({
      candidates: 4,
      records_written: 4,
      passed_over: { other_rows: 2 },
    });
    expect(await lines('a.jsonl')).toEqual([1, 4, 5, 6].map((id) => `{"id":${id}}`));
    await again({ beside: { matrix } }, { row: 'b' });
    expect(await lines('b.jsonl')).toEqual([2, 4, 5].map((id) => `{"id":${id}}`));
  });

  it('is refused when no line is a dead letter, as in a queue of delimited text', async () => {
    await put('dead.csv', ['reason,payload', 'quality,"{""id"":1}"']);
    for (const dryRun of [true, false])
      await expect(again({}, { from: 'dead.csv', dryRun })).rejects.toMatchObject({
        code: 'bad_config',
        message: expect.stringContaining('no dead letters in 2 lines') as string,
        hint: expect.stringContaining('sink is `jsonl`') as string,
      });
  });

  it('is refused, like purging, when no key opens any line: that is not an empty queue', async () => {
    await put('dead.jsonl', [
      Buffer.from(encrypt('lost', Buffer.from(deadLetter({ name: 'a' })))).toString('base64'),
    ]);
    for (const dryRun of [true, false]) {
      await expect(again({}, { keys: ['wrong'], dryRun })).rejects.toThrow(
        'no key opens the dead letters',
      );
    }
    const purging = purge({
      location: 'dead.jsonl',
      filter: {},
      delete: true,
      keys: ['wrong'],
      cwd,
    });
    await expect(purging).rejects.toMatchObject({ code: 'bad_config' });
    expect(await lines('dead.jsonl')).toHaveLength(1);
  });

  it('fails when it is stopped before the last dead letter', async () => {
    await put('dead.jsonl', [deadLetter({ name: 'a' })]);
    const { report, error } = await again(
      {},
      { signal: AbortSignal.abort(new StopReason('cancel', 'enough')) },
    );
    expect([report.records_written, error]).toMatchObject([0, { code: 'replay_stopped' }]);
  });

  it('refuses a sink that can only replace, also in a dry run', async () => {
    await put('dead.jsonl', [deadLetter({ name: 'a' })]);
    const sink = {
      type: 'parquet',
      config: { destination: { type: 'local_path', path: 'out.parquet' } },
    };
    await expect(again({ sink }, { dryRun: true })).rejects.toMatchObject({
      code: 'unprocessable',
    });
  });

  it('never writes failures into a file that it reads', async () => {
    await put('dead.jsonl', [deadLetter({ name: 'a' })]);
    await expect(again({}, { failedDlq: './dead.jsonl' })).rejects.toMatchObject({
      code: 'bad_config',
    });
  });

  it('recognizes that file under another name, and reads no dead letters appended while it reads', async () => {
    await put('dead.jsonl', [deadLetter({ name: null })]);
    await symlink('dead.jsonl', join(cwd, 'other.jsonl'));
    await expect(again({}, { failedDlq: 'other.jsonl' })).rejects.toMatchObject({
      code: 'bad_config',
    });
    const file = { type: 'jsonl', config: { path: 'dead.jsonl' } };
    const wrap = {
      transforms: [{ type: 'set', config: { values: { payload: { name: 'again' } } } }],
    };
    const { report } = await again({ sink: file, more: wrap });
    expect(report).toMatchObject({ candidates: 1, records_written: 1 });
    expect(await lines('dead.jsonl')).toHaveLength(2);
  });

  it('takes a root row by its id only', async () => {
    await put('dead.jsonl', [deadLetter({ name: 'a' })]);
    await expect(again({}, { row: 'none' })).rejects.toMatchObject({
      code: 'bad_config',
      hint: 'root rows: row-0',
    });
  });

  it('is not checked against the source of the row, which it does not read', async () => {
    const table = {
      database_url: `sqlite:${join(cwd, 'shop.db')}?mode=rwc`,
      table_name: 'shop',
      column_mapping: 'auto_map',
    };
    const sink = { type: 'sqlite', config: { ...table, write_mode: 'upsert', key: ['id'] } };
    for (const id of [1, 2]) {
      await put('dead.jsonl', [deadLetter({ id })]);
      const { error, report } = await again({ sink, beside: { verify: {} } });
      expect([error, report.records_written]).toEqual([null, 1]);
    }
  });

  it('stops at the budget of the row and reports it', async () => {
    await put('dead.jsonl', [deadLetter({ name: null }), deadLetter({ name: null })]);
    const { error, report } = await again({
      dlq: { ...queue, max_failures_total: 1 },
      more: needsName,
    });
    expect(error).toMatchObject({ code: 'dlq_budget_exceeded' });
    expect(report.records_written).toBe(0);
  });
});
