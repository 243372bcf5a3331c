/**
 * Threads make of pages what the row itself makes of them. Real threads, real pages of a real file.
 */
import { orderOf, type RecordSchema } from '../../kit/record-schema.ts';
import { governanceOf } from '../stages/governance.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { countedMetrics } from '../../../test/fakes/engine.ts';
import { sourceContext, testEnv } from '../../../test/fakes/env.ts';
import { documentOfTree } from '../../document/load.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { columnsOf } from '../../../test/fakes/columns.ts';
import { Page } from '../../kit/page.ts';
import { parseData, type JsonObject } from '../../lib/text/json.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { resolvePart, type RuntimeTokens } from '../../plan/resolve.ts';
import { pageWork, type PageWork, type WorkedPage } from '../stages/page-work.ts';
import { stagePlace } from '../stages/stage.ts';
import { stagesOf } from '../stages/stages.ts';
import { TransformChain, type NamedTransform } from '../stages/transform-chain.ts';
import { setupOf } from './setup.ts';
import { StageThreads } from './stage-threads.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-threads-'));
afterAll(() => rmSync(folder, { recursive: true }));

const TOKENS: RuntimeTokens = {
  now: { date: new Date('2026-01-31T00:00:00Z'), zone: 'UTC' },
  records: new Map(),
};
const PAGES = 40;
const ROWS_A_PAGE = 25;

/** Some amounts are no numbers, some names are missing, some mails break the contract. */
function people(): string {
  const lines = Array.from({ length: PAGES * ROWS_A_PAGE }, (_, id) => {
    const mail = id % 17 === 0 ? 'none' : `p${id}@example.com`;
    return `${id},${id % 11 === 0 ? '' : `"Person ""${id}"" é"`},${mail},${id % 400 === 399 ? 'much' : id / 8},${id % 3 === 0}`;
  });
  return `id,name,mail,amount,active\n${lines.join('\n')}\n`;
}

interface Scenario {
  readonly transforms?: readonly JsonObject[];
  readonly governance?: JsonObject;
  readonly sink?: JsonObject;
  /** In place of those of the file. */
  readonly pages?: () => AsyncIterable<Page>;
}

function planned({ transforms = [], governance = {}, sink }: Scenario): {
  readonly plan: Plan;
  readonly row: PlannedRow;
} {
  const path = join(folder, 'people.csv');
  writeFileSync(path, people());
  const tree: JsonObject = {
    version: 1,
    name: 'threads',
    pipeline: {
      source: { type: 'csv', config: { path, batch_size: ROWS_A_PAGE } },
      transforms: [...transforms],
      ...governance,
      dlq: { sink: { type: 'jsonl', config: { path: join(folder, 'dead.jsonl') } } },
      sink: sink ?? { type: 'jsonl', config: { path: join(folder, 'out.jsonl') } },
    },
  };
  const plan = planDocument(documentOfTree(tree), parts, { cpus: 2 });
  return { plan, row: plan.rows[0] as PlannedRow };
}

async function* pagesOf(row: PlannedRow): AsyncGenerator<Page> {
  const source = await row.source.definition.open(row.source.parsed, sourceContext());
  yield* source.pages({ lane: row.lane.lane });
  await source.close();
}

/** A double that no cell can hold makes each page one of records. */
async function* spelledPages(): AsyncGenerator<Page> {
  for (let page = 0; page < PAGES; page += 1)
    yield Page.ofColumns(
      columnsOf(
        ['n', 'doc'],
        [
          ['1e20', parseData('{"x":1.10}')],
          [null, parseData('[2.0]')],
        ],
      ),
    );
}

/** Columns that a record lists in another order. */
async function* pagesOfYears(): AsyncGenerator<Page> {
  const schema = orderOf(['id', '2024', '7']);
  const cells = [
    ['1', '2', '3'],
    ['4', null, '6'],
  ];
  for (let page = 0; page < PAGES; page += 1)
    yield Page.ofColumns(columnsOf(['id', '2024', '7'], cells), { schema });
}

/** What can be seen of a page that was worked on. */
function seen({ page, failure, measure, recordAsRead, ...counts }: WorkedPage): object {
  measure?.();
  const read = [0, 1, 2].map((place) => recordAsRead?.(place));
  const told =
    failure instanceof Error
      ? { failure: failure.message, kind: (failure as { kind?: string }).kind }
      : {};
  const lines = failure === undefined ? Buffer.from(page.block(JSON_LINES)).toString() : undefined;
  return { ...counts, ...told, read, lines, bookmark: page.bookmark, bytes: page.bytes };
}

async function bothWays(scenario: Scenario) {
  const { plan, row } = planned(scenario);
  expect(row.lane).toMatchObject({ lane: { form: 'columns' }, sideBySide: true });
  const [own, others] = [countedMetrics(), countedMetrics()];
  const work = await ownWork(plan, row, own);
  const expected: object[] = [];
  for await (const page of scenario.pages?.() ?? pagesOf(row)) {
    expected.push(seen(await work(page)));
    page.release();
  }
  const { encodings } = row.sink.definition.capabilities(row.sink.parsed);
  const setup = setupOf({ plan, row, tokens: TOKENS, encodings });
  await using threads = disposable(
    new StageThreads({ schemaAfter: (schema) => schema, setup, count: 2, metrics: others }),
  );
  await threads.started();
  expect(threads.width).toBeGreaterThan(2);
  const underway: Promise<object>[] = [];
  for await (const page of scenario.pages?.() ?? pagesOf(row)) {
    underway.push(
      threads.work(page).then((worked) => {
        const found = seen(worked);
        worked.page.release();
        return found;
      }),
    );
    if (underway.length % threads.width === 0) await underway.at(-threads.width);
  }
  return { expected, found: await Promise.all(underway), own: own.counts, others: others.counts };
}

function disposable(threads: StageThreads): StageThreads & AsyncDisposable {
  return Object.assign(threads, { [Symbol.asyncDispose]: () => threads.close() });
}

async function ownWork(
  plan: Plan,
  row: PlannedRow,
  metrics: ReturnType<typeof countedMetrics>,
): Promise<PageWork> {
  const env = testEnv({ metrics });
  const named: NamedTransform[] = [];
  for (const part of row.transforms)
    named.push({
      type: part.type,
      path: part.path,
      compiled: await part.definition.compile(resolvePart(part, TOKENS), { env }),
      schemaAfter: (schema) => schema,
    });
  const stages = stagesOf({ ...stagePlace(plan, row), env }, governanceOf(row));
  const labels = { pipeline: plan.name, row: row.id };
  return pageWork({
    env,
    labels,
    transforms: new TransformChain(named),
    stages,
    kill: new AbortController().signal,
    tracks: row.dlq !== undefined,
  });
}

const CAST: JsonObject = { type: 'cast', config: { fields: { id: 'int', active: 'bool' } } };
const CONTRACT: JsonObject = {
  version: '1.0.0',
  on_breach: 'quarantine',
  fields: [
    { name: 'id', type: 'integer' },
    { name: 'mail', type: 'string', min_length: 5 },
  ],
};

describe('threads', () => {
  it.each<[string, Scenario]>([
    [
      'lines of governed pages, with everything that is put aside and counted',
      {
        transforms: [
          { type: 'rename_field', config: { fields: { name: 'full_name' } } },
          { type: 'rename_keys', config: { pattern: '^(mai)(l)$', replacement: '${1}${2}' } },
          CAST,
          { type: 'filter', config: { path: 'active', op: 'eq', value: true } },
          {
            type: 'set',
            config: { values: { 'the "shop"': 'one of $${all}', day: '${now.date}' } },
          },
        ],
        governance: {
          masking: {
            key: 'a key',
            rules: [
              { match: { field_pattern: 'name' }, action: { type: 'tokenize', prefix: 't_' } },
            ],
          },
          quality: {
            record: [{ type: 'not_null', field: 'full_name', on_failure: 'quarantine' }],
            batch: [{ type: 'row_count', min: 1, max: 100, on_failure: 'abort' }],
          },
          contract: CONTRACT,
        },
      },
    ],
    [
      'columns for a sink that takes them',
      { transforms: [CAST], sink: { type: 'csv', config: { path: join(folder, 'out.csv') } } },
    ],
    [
      'pages that cannot be worked on as columns',
      {
        transforms: [
          CAST,
          { type: 'cast', config: { fields: { amount: 'float' }, on_error: 'null' } },
        ],
      },
    ],
    [
      'records with numbers as they were written, and those that are put aside',
      {
        transforms: [{ type: 'cast', config: { fields: { n: 'float' }, on_error: 'null' } }],
        governance: {
          quality: { record: [{ type: 'not_null', field: 'n', on_failure: 'quarantine' }] },
        },
        sink: { type: 'csv', config: { path: join(folder, 'out.csv') } },
        pages: spelledPages,
      },
    ],
    [
      'lines in the order of the source',
      {
        transforms: [{ type: 'cast', config: { fields: { id: 'int' } } }],
        pages: pagesOfYears,
      },
    ],
    [
      'failures, and what was done before them',
      { transforms: [CAST], governance: { contract: { ...CONTRACT, on_breach: 'fail' } } },
    ],
    [
      'failures of transforms',
      { transforms: [{ type: 'cast', config: { fields: { amount: 'float' } } }] },
    ],
  ])('give %s', async (_what, scenario) => {
    const { expected, found, own, others } = await bothWays(scenario);
    expect(expected).toHaveLength(PAGES);
    expect(found).toEqual(expected);
    expect(others).toEqual(own);
  });

  it('count what they did for a page when it is moved, and not before', async () => {
    const { plan, row } = planned({ transforms: [CAST] });
    const setup = setupOf({ plan, row, tokens: TOKENS, encodings: ['jsonl'] });
    const metrics = countedMetrics();
    await using threads = disposable(
      new StageThreads({ schemaAfter: (schema) => schema, setup, count: 1, metrics }),
    );
    await threads.started();
    const underway: Promise<WorkedPage>[] = [];
    for await (const page of pagesOf(row)) {
      underway.push(threads.work(page));
      if (underway.length === 2) break;
    }
    const [moved, left] = await Promise.all(underway);
    const counted = (): number[] => [...new Set(metrics.counts.values())];
    expect(counted()).toEqual([]);
    moved?.measure?.();
    expect(counted()).toEqual([ROWS_A_PAGE]);
    left?.measure?.();
    expect(counted()).toEqual([2 * ROWS_A_PAGE]);
  });

  it('give pages the schema that the stages make of theirs', async () => {
    const { plan, row } = planned({ transforms: [CAST] });
    const field = { name: 'id', type: { kind: 'int64' }, nullable: true } as const;
    const [before, after]: RecordSchema[] = [{ fields: [], others: true }, { fields: [field] }];
    await using threads = disposable(
      new StageThreads({
        schemaAfter: (schema) => (schema === before ? after : undefined),
        setup: setupOf({ plan, row, tokens: TOKENS, encodings: [] }),
        count: 1,
        metrics: countedMetrics(),
      }),
    );
    await threads.started();
    for await (const page of pagesOf(row)) {
      const { page: worked } = await threads.work(page.withSchema(before));
      expect(worked.schema).toBe(after);
      break;
    }
  });

  it('that are ended take their pages with them, and say so', async () => {
    const { plan, row } = planned({ transforms: [CAST] });
    const setup = setupOf({ plan, row, tokens: TOKENS, encodings: ['jsonl'] });
    const threads = new StageThreads({
      schemaAfter: (schema) => schema,
      setup,
      count: 1,
      metrics: countedMetrics(),
    });
    await threads.started();
    const pages = pagesOf(row);
    const first = await pages.next();
    const underway = threads.work(first.value as Page);
    await threads.close();
    await pages.return(undefined);
    expect((await underway).failure).toMatchObject({
      code: 'thread_ended',
      hint: expect.stringContaining('--threads 0'),
    });
    expect(threads.width).toBe(0);
  });

  it('that cannot work are never ready', async () => {
    const { plan, row } = planned({ transforms: [CAST] });
    const setup = setupOf({ plan, row, tokens: TOKENS, encodings: [] });
    const broken = { ...setup, transforms: [{ type: 'no such', config: {}, path: '' }] };
    const threads = new StageThreads({
      schemaAfter: (schema) => schema,
      setup: broken,
      count: 1,
      metrics: countedMetrics(),
    });
    await threads.started();
    expect(threads.width).toBe(0);
    await threads.close();
  });
});
