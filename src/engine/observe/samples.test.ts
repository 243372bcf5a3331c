/**
 * What observers are told of records: their shape, in every lane, and at no cost when nobody asks.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { csvSink, csvSource } from '../../connectors/csv/index.ts';
import { jsonlSink, jsonlSource } from '../../connectors/jsonl/index.ts';
import { maskingSchema } from '../../blocks/masking/schema.ts';
import { COLUMNS_LANE, Page, RECORDS_LANE, type Encoding, type Lane } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { PlannedPart, PlannedRow } from '../../plan/plan.ts';
import { renameField } from '../../transforms/rename/rename-field.ts';
import { run } from '../../../test/fakes/engine.ts';
import { runGraph } from '../../../test/fakes/graph.ts';
import { fakeSink, fakeSource, part, planOf, plannedRow } from '../../../test/fakes/plan.ts';
import type { RunObserver } from './observer.ts';
import { ShapeSampler, type RecordShape, type RowShapes } from './samples.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-samples-'));
afterAll(() => rmSync(folder, { recursive: true }));

const plain = (shape: RecordShape | undefined): unknown =>
  shape?.map(({ name, types, nulls }) => `${name}: ${types.join('|')}${nulls ? '?' : ''}`);

/** An observer that asks for samples, and what it was told at the end of each row. */
function onlooker(sampleRecords: number): {
  readonly observer: RunObserver;
  readonly seen: (RowShapes | undefined)[];
} {
  const seen: (RowShapes | undefined)[] = [];
  return {
    seen,
    observer: {
      name: 'onlooker',
      sampleRecords,
      rowEnded: (_row, _outcome, shapes) => void seen.push(shapes),
    },
  };
}

function configured<
  D extends { readonly type: string; readonly config: Parameters<typeof check>[0] },
>(definition: D, config: JsonObject) {
  const checked = check<unknown>(definition.config, config);
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  return { ...part(definition, config), parsed: checked.value } as PlannedPart<D>;
}

describe('the shape of records', () => {
  const lanes: readonly (readonly [string, Lane])[] = [
    ['records', RECORDS_LANE],
    ['columns', COLUMNS_LANE],
    ['bytes', { form: 'bytes', encoding: 'jsonl' }],
  ];

  it.each(lanes)('is the same in the lane of %s', async (name, lane) => {
    const [input, output] = [join(folder, `${name}.in`), join(folder, `${name}.out`)];
    writeFileSync(
      input,
      '{"id":1,"note":null}\n{"id":2.5,"tags":["a"]}\n{"id":"beyond the sample"}\n',
    );
    const row: PlannedRow = {
      ...plannedRow(jsonlSource, jsonlSink),
      source: configured(jsonlSource, { path: input }),
      sink: configured(jsonlSink, { path: output }),
      lane: { lane, reason: 'a test' },
    };
    const { observer, seen } = onlooker(2);
    const outcome = await run(planOf([row]), { observers: [observer] });
    expect(outcome).toMatchObject({ status: 'completed', records_written: 3 });
    const shape = ['id: number', 'note: ?', 'tags: array?'];
    expect([...(seen[0]?.read ?? [])].map(([id, read]) => [id, plain(read)])).toEqual([
      ['row-0', shape],
    ]);
    expect(plain(seen[0]?.written)).toEqual(shape);
  });

  it('is taken of delimited text in its bytes', async () => {
    const [input, output] = [join(folder, 'a.csv'), join(folder, 'b.csv')];
    writeFileSync(input, 'id,name\n1,Ann\n2,"B,b"\n');
    const row: PlannedRow = {
      ...plannedRow(csvSource, csvSink),
      source: configured(csvSource, { path: input }),
      sink: configured(csvSink, { path: output }),
      lane: { lane: { form: 'columns' }, reason: 'a test' },
    };
    const { observer, seen } = onlooker(100);
    expect((await run(planOf([row]), { observers: [observer] })).status).toBe('completed');
    expect((seen[0]?.written ?? []).map(({ name }) => name)).toEqual(['id', 'name']);
  });

  it('as written comes after transforms and masking, with the columns that are put on', async () => {
    const source = fakeSource([{ records: [{ id: 1, mail: 4711 }] }]);
    const row = plannedRow(source, fakeSink().definition, {
      transforms: [configured(renameField, { fields: { id: 'key' } })],
      blocks: {
        masking: maskingSchema.parse({
          rules: [{ match: { fields: ['mail'] }, action: { type: 'redact' } }],
        }),
      },
      metadataColumns: [{ column: 'sequence', name: '_seq' }],
    });
    const { observer, seen } = onlooker(10);
    const outcome = await run(planOf([row]), { observers: [observer] });
    expect(outcome.error).toBeNull();
    expect(plain(seen[0]?.read.get('row-0'))).toEqual(['id: integer', 'mail: integer']);
    expect(plain(seen[0]?.written)).toEqual(['key: integer', 'mail: string', '_seq: integer']);
  });

  it('of a graph is reported by source node', async () => {
    const sink = fakeSink().definition;
    const shapes: string[] = [];
    const observer: RunObserver = {
      name: 'onlooker',
      sampleRecords: 5,
      runEnded: (_outcome, read) =>
        void shapes.push(...[...read].map(([id, shape]) => `${id} ${String(plain(shape))}`)),
    };
    const document = {
      nodes: {
        a: { kind: 'source', type: 'a' },
        b: { kind: 'source', type: 'b' },
        m: { kind: 'merge' },
        out: { kind: 'sink', type: 'out' },
      },
      edges: [
        ['a', 'm'],
        ['b', 'm'],
        ['m', 'out'],
      ] as const,
    };
    const sources = {
      a: fakeSource([{ records: [{ x: 1 }] }]),
      b: fakeSource([{ records: [{ y: 'z' }] }]),
    };
    const outcome = await runGraph(
      document,
      { sources, sinks: { out: sink } },
      { observers: [observer] },
    );
    expect(outcome.error).toBeNull();
    expect(shapes.sort()).toEqual(['a x: integer', 'b y: string']);
  });

  it('is not looked for when nobody asks', async () => {
    const { observer, seen } = onlooker(0);
    await run(planOf([plannedRow(fakeSource([{ records: [{ id: 1 }] }]), fakeSink().definition)]), {
      observers: [observer],
    });
    expect(seen).toEqual([undefined]);
  });
});

describe('a sampler', () => {
  it('has no more records read out of a block than it looks at', () => {
    const decode = vi.fn((block: Uint8Array) => Array.from(block, (byte) => ({ byte })));
    const encoding: Encoding = {
      name: 'bytes',
      decode,
      encode: () => new Uint8Array(),
      offsetOf: (_block, index) => index,
    };
    const sampler = new ShapeSampler(3);
    sampler.take(Page.ofBlock(encoding, new Uint8Array(1000), 1000));
    sampler.take(Page.ofBlock(encoding, new Uint8Array(1000), 1000));
    expect(decode.mock.calls.map(([block]) => block.length)).toEqual([3]);
  });

  it('gives up on records that cannot be read, which is for others to tell', () => {
    const decode = (): never => {
      throw new Error('not today');
    };
    const encoding: Encoding = {
      name: 'bytes',
      decode,
      encode: () => new Uint8Array(),
      offsetOf: (_block, index) => index,
    };
    const sampler = new ShapeSampler(3);
    sampler.take(Page.ofBlock(encoding, new Uint8Array(10), 10));
    sampler.take(Page.ofRecords([{ id: 1 }]));
    expect(sampler.shape()).toEqual([]);
  });
});

describe('the heartbeat', () => {
  it('is reported while a row runs, and not after', async () => {
    const told: string[] = [];
    const twice = Promise.withResolvers<void>();
    const source = fakeSource([{ records: [{ id: 1 }] }], { beforePage: () => twice.promise });
    const observer: RunObserver = {
      name: 'listener',
      heartbeatMs: 1,
      rowRuns: ({ name }) => {
        told.push(`${name} runs`);
        if (told.length === 2) twice.resolve();
      },
      rowEnded: ({ name }) => void told.push(`${name} ended`),
    };
    await run(planOf([plannedRow(source, fakeSink().definition)]), { observers: [observer] });
    expect(told.slice(0, 2)).toEqual(['row-0 runs', 'row-0 runs']);
    expect(told.at(-1)).toBe('row-0 ended');
  });
});
