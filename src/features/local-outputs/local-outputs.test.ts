import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { fakeSink, fakeSource, planOf, plannedRow } from '../../../test/fakes/plan.ts';
import { MemoryOutputs } from '../../history/memory/memory-outputs.ts';
import { parts } from '../../parts.ts';
import { inProcessJobs } from '../../../test/support/jobs.ts';
import type { CleanupRequest } from '../../wire/local-outputs.ts';
import { cleanupRequestSchema } from '../../wire/local-outputs.ts';
import type { InvocationOutcome, OutputNews, RunOutcome } from '../../wire/outcome.ts';
import { createLocalOutputs, type LocalOutputOptions } from './local-outputs.ts';
import { noteOutputs, outputsListener, recordOutputs } from './recording.ts';
import type { RunEvent } from '../../wire/run-event.ts';
import { OpenedFiles } from './opened-files.ts';
import { rowLimitOf, type ShownOutput } from './preview.ts';

const NOW = new Date('2026-02-01T00:00:00.000Z');
const DAY = 86_400_000;

let cwd = '';
let store = new MemoryOutputs();
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'headgate-outputs-'));
  store = new MemoryOutputs();
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const { signal } = new AbortController();
const env = () => testEnv({ cwd, clock: { ...testEnv().clock, now: () => NOW } });

function service(overrides: Partial<LocalOutputOptions> = {}) {
  const rules = { retentionDays: 7, graceSecs: 60, isRunning: () => Promise.resolve(false) };
  return createLocalOutputs({
    env: env(),
    jobs: inProcessJobs({ env: env(), parts }),
    store,
    ...rules,
    preview: { enabled: true, defaultRows: 2, maxRows: 3 },
    ...overrides,
  });
}

interface Written {
  readonly name: string;
  readonly before?: 'nothing' | 'kept' | 'replaced';
  readonly daysAgo?: number;
  readonly kind?: string;
  readonly content?: string;
}

/** Writes a file as a run would have, and records it. */
async function ran(
  runId: string,
  files: readonly Written[],
  said?: RunOutcome['local_outputs'],
  machine?: string,
): Promise<void> {
  const invocations: unknown[] = [];
  for (const {
    name,
    before = 'nothing',
    daysAgo = 1,
    kind = 'jsonl',
    content = '{"a":1}\n',
  } of files) {
    const at = new Date(NOW.getTime() - daysAgo * DAY);
    const path = join(cwd, name);
    await writeFile(path, content);
    await utimes(path, at, at);
    const outputs = { dataset_uri: `file://${path}`, files: [{ path, before }] };
    invocations.push({
      row_id: 'row-0',
      sink: kind,
      outputs,
      started_at: at.toISOString(),
      finished_at: at.toISOString(),
    });
  }
  const outcome = {
    pipeline: 'orders',
    invocations: invocations as InvocationOutcome[],
    ...(said === undefined ? {} : { local_outputs: said }),
  };
  await recordOutputs(runId, outcome, { env: env(), store, machine });
}

const idOf = async (name: string): Promise<string> => {
  const outputs = await service().list({ include_expired: true, limit: 100 });
  return outputs.find((output) => output.path === join(cwd, name))?.id ?? 'none';
};
const clean = (request: Partial<CleanupRequest>, overrides: Partial<LocalOutputOptions> = {}) =>
  service(overrides).cleanUp({ dry_run: false, confirm: false, ...request });

it('a file of another machine is listed, and neither deleted nor shown here', async () => {
  await ran('r1', [{ name: 'a.jsonl' }], undefined, 'one');
  const id = await idOf('a.jsonl');
  const there = { machine: 'two' };
  expect((await clean({ run_id: 'r1' }, there)).outputs).toEqual([]);
  for (const refused of [service(there).remove(id), service(there).show(id, undefined, signal)])
    await expect(refused).rejects.toMatchObject({ code: 'conflict' });
  await ran('r2', [{ name: 'a.jsonl' }], undefined, 'two');
  expect(await service().list({ include_expired: true, limit: 9 })).toHaveLength(2);
  expect((await clean({ run_id: 'r1' }, { machine: 'one' })).deleted).toBe(1);
});

describe('the ledger', () => {
  it('knows what was written, by whom, and until when it is kept', async () => {
    await ran('r1', [{ name: 'a.jsonl' }], { track: true, retention_days: 30 });
    expect(await service().list({ include_expired: false, limit: 10 })).toEqual([
      {
        id: await idOf('a.jsonl'),
        path: join(cwd, 'a.jsonl'),
        dataset_uri: `file://${join(cwd, 'a.jsonl')}`,
        dataset_id: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
        kind: 'jsonl',
        pipeline: 'orders',
        row: 'row-0',
        run_id: 'r1',
        pre_existing: false,
        retention_days: 30,
        retention_days_effective: 30,
        expires_at: '2026-03-02T00:00:00.000Z',
        first_written_at: '2026-01-31T00:00:00.000Z',
        last_written_at: '2026-01-31T00:00:00.000Z',
        state: 'present',
        age_secs: 86_400,
      },
    ]);
  });

  it.each([
    ['kept', 'external'],
    ['replaced', 'replaced'],
  ] as const)(
    'calls a file of somebody else that was %s %s, also when a later run writes it again',
    async (before, state) => {
      await ran('r1', [{ name: 'a.jsonl', before }]);
      await ran('r2', [{ name: 'a.jsonl', before }]);
      expect(await service().list({ include_expired: false, limit: 10 })).toMatchObject([
        { state, pre_existing: true, run_id: 'r2', expires_at: null },
      ]);
    },
  );

  it('stays its own when a later run replaces it', async () => {
    await ran('r1', [{ name: 'a.jsonl' }]);
    await ran('r2', [{ name: 'a.jsonl', before: 'replaced' }]);
    expect(await service().list({ include_expired: false, limit: 10 })).toMatchObject([
      { state: 'present', pre_existing: false },
    ]);
  });

  it('leaves out what a document does not want recorded, and forgets what it had recorded', async () => {
    await ran('r1', [{ name: 'a.jsonl' }]);
    await ran('r2', [{ name: 'a.jsonl', before: 'replaced' }], { track: false });
    expect(await service().list({ include_expired: true, limit: 10 })).toEqual([]);
  });
});

describe('deleting one file', () => {
  it('takes the file and nothing beside it, once; the record stays', async () => {
    await ran('r1', [{ name: 'a.jsonl' }, { name: 'b.jsonl' }]);
    const id = await idOf('a.jsonl');
    expect(await service().remove(id)).toMatchObject({
      scope: 'output',
      deleted: 1,
      bytes: 8,
      outputs: [{ id, deleted: true }],
    });
    expect(await service().remove(id)).toMatchObject({ deleted: 0, skipped: 'already_deleted' });
    expect(await readdir(cwd)).toEqual(['b.jsonl']);
    expect(await service().list({ include_expired: true, limit: 10 })).toEqual(
      expect.arrayContaining([expect.objectContaining({ id, state: 'expired', deleted_bytes: 8 })]),
    );
    expect(await service().list({ include_expired: false, limit: 10 })).toHaveLength(1);
  });

  it('refuses what was there before, what is in use, and what is gone', async () => {
    await ran('r1', [
      { name: 'theirs.jsonl', before: 'kept' },
      { name: 'fresh.jsonl', daysAgo: 0 },
      { name: 'gone.jsonl' },
      { name: 'old.jsonl' },
    ]);
    await rm(join(cwd, 'gone.jsonl'));
    expect(await service().remove(await idOf('theirs.jsonl'))).toMatchObject({
      deleted: 0,
      skipped: 'pre_existing',
    });
    expect(await service().remove(await idOf('fresh.jsonl'))).toMatchObject({
      deleted: 0,
      skipped: 'in_flight',
    });
    expect(
      await service({ graceSecs: 0, isRunning: (run) => Promise.resolve(run === 'r1') }).remove(
        await idOf('old.jsonl'),
      ),
    ).toMatchObject({
      skipped: 'in_flight',
    });
    const gone = await idOf('gone.jsonl');
    expect(await service().remove(gone)).toMatchObject({ deleted: 0, skipped: 'not_on_disk' });
    expect(await service().remove(gone)).toMatchObject({ skipped: 'already_deleted' });
    await expect(service().remove('nothing')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('takes a file for gone that another server deletes meanwhile', async () => {
    await ran('r1', [{ name: 'both.jsonl' }]);
    const isRunning = async (): Promise<boolean> => {
      await rm(join(cwd, 'both.jsonl'));
      return false;
    };
    const id = await idOf('both.jsonl');
    expect(await service({ graceSecs: 0, isRunning }).remove(id)).toMatchObject({
      deleted: 0,
      skipped: 'not_on_disk',
    });
  });

  it('tells why a file could not be deleted', async () => {
    await ran('r1', [{ name: 'a.jsonl' }]);
    const id = await idOf('a.jsonl');
    await rm(join(cwd, 'a.jsonl'));
    await mkdir(join(cwd, 'a.jsonl'));
    await utimes(join(cwd, 'a.jsonl'), 0, 0);
    expect(await service().remove(id)).toMatchObject({
      skipped: 'delete_failed',
      outputs: [{ error: expect.any(String) as string }],
    });
  });
});

describe('a file that a run is writing', () => {
  it('is known from then on, and not deleted while the run is running', async () => {
    await ran('r1', [{ name: 'a.jsonl', daysAgo: 9 }]);
    const path = join(cwd, 'a.jsonl');
    const news: OutputNews[] = [];
    const watch = new OpenedFiles(env().clock, (one) => news.push(one));
    const row = plannedRow(fakeSource([]), fakeSink().definition);
    const started = {
      invocationId: 'i',
      name: 'row-0',
      row,
      tokens: { now: { date: NOW, zone: 'UTC' }, records: new Map() },
      startedAt: NOW,
    };
    watch.runStarted({
      plan: planOf([row]),
      runId: 'r2',
      startedAt: NOW,
      clock: NOW,
      dryRun: false,
      limit: undefined,
      signal: new AbortController().signal,
    });
    watch.filesOpened(started, {
      dataset_uri: `file://${path}`,
      files: [{ path, before: 'kept' }],
    });
    for (const one of news) await noteOutputs('r2', one, { env: env(), store });
    const isRunning = (run: string) => Promise.resolve(run === 'r2');
    expect(await clean({ older_than_days: 1 }, { isRunning })).toMatchObject({
      deleted: 0,
      outputs: [],
    });
    expect(await clean({ run_id: 'r2' }, { isRunning })).toMatchObject({
      deleted: 0,
      outputs: [{ path, skipped: 'in_flight' }],
    });
    // Its process died: it never says what it wrote.
    expect(await clean({ run_id: 'r2' })).toMatchObject({ deleted: 1 });
  });
});

describe('what a run says of its files', () => {
  const news = (names: readonly string[]): OutputNews => ({
    pipeline: 'orders',
    invocations: names.map((name) => ({
      row_id: name,
      sink: 'jsonl',
      outputs: {
        dataset_uri: `file://${join(cwd, name)}`,
        files: [{ path: join(cwd, name), before: 'nothing' as const }],
      },
      started_at: NOW.toISOString(),
      finished_at: NOW.toISOString(),
    })),
  });
  const ended = (outcome: OutputNews | null): RunEvent => ({
    kind: 'ended',
    end: {
      status: 'completed',
      started_at: NOW.toISOString(),
      finished_at: NOW.toISOString(),
      error: null,
      outcome: outcome as RunOutcome | null,
    },
  });
  /** The files of each write to the ledger. */
  function follow() {
    const writes: string[][] = [];
    const put = store.putOutputs.bind(store);
    store.putOutputs = async (outputs, by) => {
      writes.push(outputs.map(({ path }) => basename(path)));
      return put(outputs, by);
    };
    const listener = outputsListener({ env: env(), store, machine: undefined });
    const tell = listener.follow({ run_id: 'r1', name: 'orders', measured_as: null });
    return { writes, tell, listener };
  }
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is written once where the run ends soon', async () => {
    const { writes, tell } = follow();
    tell({ kind: 'opened', news: news(['a']) });
    tell({ kind: 'opened', news: news(['b']) });
    tell(ended(news(['a', 'b'])));
    await vi.advanceTimersByTimeAsync(1000);
    expect(writes).toEqual([['a', 'b']]);
  });

  it.each([
    ['goes on', []],
    ['ends without saying what it wrote', [ended(null)]],
  ])('is written soon where the run %s', async (_case, events) => {
    const { writes, tell } = follow();
    tell({ kind: 'opened', news: news(['a']) });
    for (const event of events) tell(event);
    await vi.advanceTimersByTimeAsync(100);
    expect(writes).toEqual([['a']]);
  });

  it('is written before the server ends', async () => {
    const { writes, tell, listener } = follow();
    tell({ kind: 'opened', news: news(['a']) });
    await listener.settle?.(signal);
    expect(writes).toEqual([['a']]);
  });
});

describe('cleaning up', () => {
  beforeEach(async () => {
    await ran('r1', [
      { name: 'new.jsonl', daysAgo: 1 },
      { name: 'old.jsonl', daysAgo: 9 },
    ]);
    await ran('r2', [{ name: 'kept.jsonl', daysAgo: 9 }], { track: true, retention_days: 0 });
  });

  it.each([
    ['expired files, by what their documents say', { expired: true }, ['old.jsonl']],
    ['what is older, whatever they say', { older_than_days: 9 }, ['kept.jsonl', 'old.jsonl']],
    ['the files of a run', { run_id: 'r1' }, ['new.jsonl', 'old.jsonl']],
    ['everything', { all: true }, ['kept.jsonl', 'new.jsonl', 'old.jsonl']],
  ] as const)('takes %s', async (_what, scope, gone) => {
    const tried = await clean({ ...scope, dry_run: true });
    expect(tried).toMatchObject({ dry_run: true, deleted: gone.length });
    expect(await readdir(cwd)).toHaveLength(3);
    expect(await clean(scope)).toMatchObject({
      dry_run: false,
      deleted: gone.length,
      skipped_count: 0,
    });
    const left = await readdir(cwd);
    expect(left).toEqual(
      ['kept.jsonl', 'new.jsonl', 'old.jsonl'].filter(
        (name) => !(gone as readonly string[]).includes(name),
      ),
    );
  });

  it('expires nothing where the server keeps files for ever and documents do not say', async () => {
    expect(await clean({ expired: true }, { retentionDays: 0 })).toMatchObject({ deleted: 0 });
  });

  it.each([
    [{}],
    [{ all: true, expired: true, confirm: true }],
    [{ all: true }],
    [{ all: false, expired: false }],
    [{ older_than_days: 0 }],
    [{ older_than_days: -1 }],
  ])('is refused for %j', (body) => {
    expect(cleanupRequestSchema.safeParse(body).success).toBe(false);
  });

  it.each([
    [{ all: true, confirm: true }],
    [{ all: false, expired: true }],
    [{ all: true, dry_run: true }],
    [{ older_than_days: 1 }],
  ])('is accepted for %j', (body) => {
    expect(cleanupRequestSchema.safeParse(body).success).toBe(true);
  });
});

describe('showing rows', () => {
  const read = ({ rows, ...rest }: ShownOutput): object => ({
    ...rest,
    rows: JSON.parse(
      `[${rows.map((piece) => Buffer.from(piece).toString()).join(',')}]`,
    ) as unknown,
  });

  it('gives rows and their columns within the bound, and says what ended them', async () => {
    await ran('r1', [{ name: 'a.jsonl', content: '{"a":1}\n{"b":2,"a":3}\n[4]\n{"a":5}\n' }]);
    const id = await idOf('a.jsonl');
    expect(read(await service().show(id, undefined, signal))).toMatchObject({
      rows: [{ a: 1 }, { b: 2, a: 3 }],
      columns: ['a', 'b'],
      row_count: 2,
      row_limit: 2,
      max_rows: 3,
      truncated: true,
      capped_by: 'rows',
    });
    const whole = await service({
      preview: { enabled: true, defaultRows: null, maxRows: null },
    }).show(id, undefined, signal);
    expect(whole).toMatchObject({
      row_count: 4,
      row_limit: null,
      max_rows: null,
      truncated: false,
    });
    expect(whole).not.toHaveProperty('capped_by');
  });

  it.each([
    ['jsonl', '{"a":1}\n'.repeat(20) + 'not json\n'],
    ['csv', 'a,b\n' + '1,2\n'.repeat(20) + '1,2,3\n'],
  ])(
    'is not kept from the first of %s by a line that is broken behind them',
    async (kind, content) => {
      await ran('r1', [{ name: 'a', kind, content }]);
      expect(read(await service().show(await idOf('a'), '3', signal))).toMatchObject({
        row_count: 3,
        truncated: true,
        capped_by: 'rows',
      });
    },
  );

  it('reads CSV as texts', async () => {
    await ran('r1', [{ name: 'a.csv', kind: 'csv', content: 'a,b\n1,x\n' }]);
    expect(read(await service().show(await idOf('a.csv'), undefined, signal))).toMatchObject({
      rows: [{ a: '1', b: 'x' }],
      columns: ['a', 'b'],
    });
  });

  it('is refused for whoever may not, for what is gone, and for what cannot be read', async () => {
    await ran('r1', [
      { name: 'a.jsonl' },
      { name: 'theirs.jsonl', before: 'kept' },
      { name: 'bad.jsonl', content: '{"a":1}\nnot json\n' },
      { name: 'x.db', kind: 'sqlite' },
      { name: 'gone.jsonl' },
    ]);
    await rm(join(cwd, 'gone.jsonl'));
    const show = async (name: string, asked?: string) =>
      service().show(await idOf(name), asked, signal);
    await expect(
      service({ preview: { enabled: false, defaultRows: 2, maxRows: 3 } }).show(
        'x',
        undefined,
        signal,
      ),
    ).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(show('nothing.jsonl')).rejects.toMatchObject({ code: 'not_found' });
    await expect(show('a.jsonl', '-1')).rejects.toMatchObject({
      code: 'bad_config',
      message: expect.stringContaining('row_count_to_load') as string,
    });
    await expect(show('gone.jsonl')).rejects.toMatchObject({ code: 'conflict' });
    await expect(show('theirs.jsonl')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(show('x.db')).rejects.toMatchObject({ code: 'bad_config' });
    await expect(show('bad.jsonl')).rejects.toMatchObject({
      code: 'unprocessable',
      message: expect.stringContaining('line 2') as string,
    });
  });

  it.each([
    [undefined, 2],
    ['1', 1],
    ['99', 3],
    ['all', 3],
    ['ALL', 3],
    ['0', 3],
    ['1' + '0'.repeat(20), 3],
  ])('asked for %s gives at most %s rows', (asked, rows) => {
    expect(rowLimitOf(asked, { defaultRows: 2, maxRows: 3 })).toBe(rows);
  });

  it.each([
    [undefined, null],
    ['all', null],
    ['7', 7],
    ['1' + '0'.repeat(20), Number.MAX_SAFE_INTEGER],
  ])('asked for %s where there is no ceiling gives %s', (asked, rows) => {
    expect(rowLimitOf(asked, { defaultRows: null, maxRows: null })).toBe(rows);
  });
});
