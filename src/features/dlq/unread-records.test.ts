/** Records that a source cannot read, through documents: what is asked for, kept, and replayed. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { issuesOf, load } from '../../../test/fakes/documents.ts';
import { run } from '../../../test/fakes/engine.ts';
import { testContext, testEnv } from '../../../test/fakes/env.ts';
import { planOfTree, verifyTree } from '../../../test/fakes/verify.ts';
import { probeSource } from '../../engine/checks/part-probes.ts';
import { preview } from '../../engine/preview/preview.ts';
import { laneName } from '../../kit/page.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { replay } from './replay.ts';

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'headgate-unread-'));
  return () => rm(cwd, { recursive: true, force: true });
});

const QUEUE = { sink: { type: 'jsonl', config: { path: 'dead.jsonl' } } };
const CSV = { type: 'csv', config: { path: 'in.csv', on_error: 'dlq' } };

function planOf(source: JsonObject, more: JsonObject = { dlq: QUEUE }, beside: JsonObject = {}) {
  const sink = { type: 'jsonl', config: { path: 'out.jsonl', append: true } };
  const document = { version: 1, name: 'p', pipeline: { source, sink, ...more }, ...beside };
  return planDocument(load(JSON.stringify(document), { format: 'json' }), parts, { cpus: 1 });
}

async function linesOf(file: string): Promise<JsonObject[]> {
  const text = await readFile(join(cwd, file), 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JsonObject);
}

describe('a source with on_error: dlq', () => {
  it('reads records, for each is looked at', () => {
    const [row] = planOf(CSV).rows;
    expect(row === undefined ? '' : laneName(row.lane.lane)).toBe('records');
    expect(row?.lane.reason).toBe('records: `on_error: dlq` looks at each record');
    const quick = { type: 'csv', config: { path: 'in.csv' } };
    expect(planOf(quick).rows[0]?.lane.lane.form).toBe('bytes');
  });

  it.each([
    ['csv', { path: 'in.csv' }],
    ['jsonl', { path: 'in.jsonl' }],
    ['file', { path: 'in.csv' }],
  ])('needs a queue: %s', (type, config) => {
    const source = { type, config: { ...config, on_error: 'dlq' } };
    expect(issuesOf(() => planOf(source, {}))).toEqual(['dlq_required pipeline.source']);
    expect(planOf({ type, config }, {}).rows).toHaveLength(1);
  });

  it('cannot list the values of a fan-out row: some of them would be missing', () => {
    const fanOut = { source: CSV, select: 'id', as: 'id' };
    const matrix: JsonObject[] = [
      { id: 'ids', fan_out: fanOut },
      { id: 'each', for_each: ['ids'] },
    ];
    expect(issuesOf(() => planOf(CSV, { dlq: QUEUE }, { matrix }))).toEqual([
      'dlq_required matrix[0].fan_out.source',
    ]);
  });

  it('puts aside what it cannot read, and a second run reads everything again', async () => {
    await writeFile(join(cwd, 'in.csv'), 'id,name\n1,a\n2,b,c\n3,"d\n');
    for (const times of [1, 2]) {
      const { records_written: written } = await run(planOf(CSV), { env: testEnv({ cwd }) });
      expect(written).toBe(1);
      expect(await linesOf('dead.jsonl')).toHaveLength(2 * times);
    }
  });

  it('lets a preview leave out what cannot be read, with a warning', async () => {
    await writeFile(join(cwd, 'in.csv'), 'id,name\n2,b,c\n1,a\n');
    const plan = planOf(CSV);
    const [row] = plan.rows;
    if (row === undefined) throw new Error('no row');
    const env = testEnv({ cwd });
    const records: JsonValue[] = [];
    const { signal } = new AbortController();
    const options = { plan, parts, env, clock: new Date(0), signal, row, limit: 3 };
    for await (const record of preview(options)) records.push(record);
    expect(records).toEqual([{ id: '1', name: 'a' }]);
    expect(env.lines.map(({ line }) => line).join('\n')).toContain('line 2 of in.csv has 3 cells');
  });
});

describe('a run that ends in the middle', () => {
  const FILES = { 'a.csv': 'id\n1\n2,a\n', 'b.csv': 'id\n3,b\n', 'c.csv': 'id\n4\n5,c\n' };
  const source = {
    type: 'file',
    config: { path: 'in', incremental: { by: 'name' }, on_error: 'dlq' },
  };
  const state = { type: 'file', config: { path: 'state' } };
  const stops = ['after_flush', 'after_dead_letters', 'after_dead_letter_flush', 'after_bookmark'];

  it.each(stops.flatMap((step) => [1, 2, 3].map((page) => [step, page] as const)))(
    'at %s of page %i loses no dead letter, and repeats none behind a stored position',
    async (step, page) => {
      await mkdir(join(cwd, 'in'));
      for (const [name, text] of Object.entries(FILES))
        await writeFile(join(cwd, 'in', name), text);
      const plan = planOf(source, { dlq: QUEUE, state });
      const env = testEnv({ cwd });
      let isStored = false;
      let isOver = false;
      const first = await run(plan, {
        env,
        onFailpoint: (reached, place) => {
          // Nothing happens after a crash.
          if (isOver) throw new Error('crashed');
          if (reached !== step || place.page !== page) return;
          isStored = step === 'after_bookmark';
          isOver = true;
          throw new Error('crashed');
        },
      });
      expect(first.status).toBe('failed');
      expect((await run(plan, { env })).status).toBe('completed');
      const found = (await linesOf('dead.jsonl')).map(({ payload }) => payload);
      const expected = ['2,a', '3,b', '5,c'];
      expect(new Set(found)).toEqual(new Set(expected));
      const repeated = found.length - expected.length;
      expect(repeated).toBeLessThanOrEqual(isStored ? 0 : 1);
      expect((await run(plan, { env })).records_written).toBe(0);
      expect(await linesOf('dead.jsonl')).toHaveLength(found.length);
    },
  );
});

describe('a comparison with the source', () => {
  it('leaves out what cannot be read, says so, and finds the rest equal', async () => {
    await writeFile(join(cwd, 'in.csv'), 'id,name\n1,a\n2,b,c\n3,d\n');
    const env = testEnv({ cwd });
    const sink = {
      type: 'sqlite',
      config: {
        database_url: `sqlite:${join(cwd, 'out.db')}`,
        table_name: 't',
        column_mapping: 'auto_map',
        create_table: true,
      },
    };
    const pipeline = { source: CSV, sink, dlq: QUEUE };
    const tree: JsonObject = { name: 'p', verify: { key: ['id'] }, pipeline };
    await run(planOfTree(tree), { env });
    const report = await verifyTree(tree, {}, env);
    expect(report.differences).toEqual([]);
    expect(report.rows_fetched_source).toBe(2);
    const said = env.lines.map(({ line }) => line).join('\n');
    expect(said).toContain('records that cannot be read are not compared');
  });
});

describe('the doctor', () => {
  it('finds a source readable whose first record is not', async () => {
    await writeFile(join(cwd, 'in.csv'), 'id,name\n2,b,c\n1,a\n');
    const [row] = planOf(CSV).rows;
    if (row === undefined) throw new Error('no row');
    const tokens = { now: { date: new Date(0), zone: 'UTC' }, records: new Map() };
    expect(await probeSource(row.source, testContext(cwd), tokens)).toEqual([
      { name: 'read', status: 'pass' },
    ]);
  });
});

describe('replaying records that could not be read', () => {
  async function again(source: JsonObject, more: JsonObject = { dlq: QUEUE }) {
    return replay({
      plan: planOf(source, more),
      parts,
      env: testEnv({ cwd }),
      signal: new AbortController().signal,
      from: 'dead.jsonl',
      reason: 'parse',
      row: undefined,
      failedDlq: undefined,
      dryRun: false,
      asWritten: false,
      keys: [],
    });
  }

  async function keep(input: string, payloads: readonly JsonValue[]): Promise<void> {
    const letters = payloads.map((payload) =>
      JSON.stringify({ reason: 'parse', payload, row: 'row-0', position: { input } }),
    );
    await writeFile(join(cwd, 'dead.jsonl'), letters.map((letter) => `${letter}\n`).join(''));
  }

  const columns = { n: 'int64', day: 'date' };

  it.each(['jsonl', 'file'])('reads lines of JSON again: %s', async (type) => {
    await keep('old.jsonl', ['{"id": ', '***', '7', '{"id": 4, "n": "5"}', { n: '' }, { n: 'x' }]);
    const source = { type, config: { path: 'old.jsonl', columns, on_error: 'dlq' } };
    const { report, error } = await again(source);
    expect(error).toBeNull();
    expect(report).toMatchObject({
      candidates: 1,
      records_written: 1,
      passed_over: { other_rows: 0, malformed: 0, unread: 5 },
    });
    expect(await linesOf('out.jsonl')).toEqual([{ id: 4, n: 5 }]);
  });

  it.each(['csv', 'file'])('needs a record in the place of a row: %s', async (type) => {
    await keep('old.csv', ['2,b,c', '{"n": "1"}', { n: '7', day: '' }, { n: 'x' }]);
    const source = { type, config: { path: 'old.csv', columns, on_error: 'dlq' } };
    const { report } = await again(source);
    expect(report).toMatchObject({ candidates: 1, passed_over: { unread: 3 } });
    expect(await linesOf('out.jsonl')).toEqual([{ n: 7, day: null }]);
  });

  it.each([
    ['csv', 'id,day\n1,2024-02-29\n2,b,c\n', { id: '2', day: '2024-03-01' }],
    ['jsonl', '{"id":1,"day":"2024-02-29"}\n{"id":2,"day"\n', '{"id":2,"day":"2024-03-01"}'],
  ])('takes values for the types that were inferred in the run: %s', async (type, text, mended) => {
    await writeFile(join(cwd, 'in'), text);
    const source = { type, config: { path: 'in', infer_types: true, on_error: 'dlq' } };
    await run(planOf(source), { env: testEnv({ cwd }) });
    const [letter] = await linesOf('dead.jsonl');
    expect(letter).toMatchObject({ reason: 'parse', types: 'id: int64, day: date' });
    const letters = [mended, { id: 'x' }].map((payload) => JSON.stringify({ ...letter, payload }));
    await writeFile(join(cwd, 'dead.jsonl'), letters.join('\n'));
    const { report } = await again(source);
    expect(report).toMatchObject({ candidates: 1, passed_over: { unread: 1 } });
    expect(await linesOf('out.jsonl')).toEqual([
      { id: 1, day: '2024-02-29' },
      { id: 2, day: '2024-03-01' },
    ]);
  });

  it('knows no types that were inferred before, and takes no value for one of them', async () => {
    await keep('in.csv', [{ n: 'x' }, { n: '6' }]);
    const { report } = await again({
      type: 'csv',
      config: { path: 'in.csv', infer_types: true, on_error: 'dlq' },
    });
    expect(report).toMatchObject({ candidates: 0, passed_over: { unread: 2 } });
  });

  it('sends what can be read through the stages', async () => {
    await keep('in.csv', [{ id: 'x' }, { id: '6' }]);
    const { report, failedAgain } = await again(CSV, {
      dlq: QUEUE,
      transforms: [{ type: 'cast', config: { fields: { id: 'int' }, on_error: 'dlq' } }],
    });
    expect(report).toMatchObject({ candidates: 2, records_written: 1 });
    expect(report.passed_over).toBeUndefined();
    expect(failedAgain).toBe(1);
    expect(await linesOf('out.jsonl')).toEqual([{ id: 6 }]);
  });
});

describe('a graph of nodes', () => {
  const nodes = {
    in: { kind: 'source', ...CSV },
    cast: {
      kind: 'transform',
      transforms: [{ type: 'cast', config: { fields: { id: 'int' }, on_error: 'dlq' } }],
    },
    out: { kind: 'sink', type: 'jsonl', config: { path: 'out.jsonl', append: true } },
  };
  const edges = [
    { from: 'in', to: 'cast' },
    { from: 'cast', to: 'out' },
  ];

  function graph() {
    const document = { version: 1, name: 'g', pipeline: { nodes, edges, dlq: QUEUE } };
    return planDocument(load(JSON.stringify(document), { format: 'json' }), parts, { cpus: 1 });
  }

  it('keeps what its source cannot read and what its transforms refuse, and replays neither into a sink', async () => {
    await writeFile(join(cwd, 'in.csv'), 'id\n1\n2,x\nthree\n4\n');
    const outcome = await run(graph(), { env: testEnv({ cwd }) });
    expect(outcome).toMatchObject({ status: 'completed', records_written: 2 });
    expect(await linesOf('dead.jsonl')).toMatchObject([
      { reason: 'parse', row: 'in', sink: 'jsonl', payload: '2,x', position: { line: 3, page: 1 } },
      {
        reason: 'transform',
        row: 'cast',
        sink: 'jsonl',
        payload: { id: 'three' },
        record_number: 3,
      },
    ]);
    const { report } = await replay({
      plan: graph(),
      parts,
      env: testEnv({ cwd }),
      signal: new AbortController().signal,
      from: 'dead.jsonl',
      reason: undefined,
      row: undefined,
      failedDlq: undefined,
      dryRun: false,
      asWritten: false,
      keys: [],
    });
    expect(report).toMatchObject({ candidates: 0, passed_over: { other_rows: 2 } });
    expect(await linesOf('out.jsonl')).toEqual([{ id: 1 }, { id: 4 }]);
  });
});
