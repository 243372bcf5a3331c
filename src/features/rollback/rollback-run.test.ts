/** Undoing runs that several people ask for at once. */
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import {
  fakeSource,
  fakeState,
  noParts,
  part,
  planOf,
  plannedRow,
} from '../../../test/fakes/plan.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { postgresSink } from '../../connectors/postgres/index.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { Plan } from '../../plan/plan.ts';
import type { RunRecord } from '../../wire/run.ts';
import { createJobs } from '../../runs/service/jobs.ts';
import type { JobExecutor } from '../../runs/worker/executor.ts';
import { rollBackRun } from '../../engine/rollback/roll-back-run.ts';
import type { RequestOf } from '../../wire/job.ts';
import { createRollback } from './rollback-run.ts';

const database = await freshDatabase();
const client = new Client({ connectionString: database.url });
beforeAll(() => client.connect());
afterAll(async () => {
  await client.end();
  await database.drop();
});

const state = fakeState(new Map<string, JsonValue>());

function planTo(last: number): Plan {
  const config: JsonObject = {
    connection_url: database.url,
    column_mapping: 'auto_map',
    table_name: 'orders',
  };
  const checked = check(postgresSink.config, { ...config, write_mode: 'upsert', key: ['id'] });
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  const pages = Array.from({ length: last }, (_, index) => ({
    records: [{ id: index + 1 }],
    bookmark: index + 1,
  }));
  const row = plannedRow(fakeSource(pages, { positional: true }), postgresSink, {
    sink: { ...part(postgresSink), parsed: checked.value },
    state: part(state),
    blocks: {
      rollback: { column: '_svc_run_id', journal: true, keepPrevious: true, retain: 10 },
    },
    metadataColumns: [{ column: 'run_id', name: '_svc_run_id' }],
  });
  return planOf([row]);
}

async function move(last: number): Promise<string> {
  const { error, invocations } = await run(planTo(last));
  expect(error).toBeNull();
  return invocations[0]?.invocation_id ?? '';
}

const env = testEnv();
/** Rolls back with the plan of this test in place of a document. */
const inThisProcess: JobExecutor = {
  start: ({ request }) => {
    const { invocation_id: runId, dry_run: dryRun, force } = request as RequestOf<'rollback'>;
    const { signal } = new AbortController();
    const plan = planTo(0);
    const rolledBack = rollBackRun({ plan, parts: noParts, env, runId, dryRun, force, signal });
    return {
      done: rolledBack.then((answer) => ({ type: 'finished', answer })),
      stop: () => {},
      giveWay: () => {},
      answerOwner: () => {},
    };
  },
  close: () => Promise.resolve(),
};

test('two that are undone at the same time leave nothing that the next run passes over', async () => {
  const rollback = createRollback({
    jobs: createJobs({
      env,
      executor: inThisProcess,
      applyMetrics: () => {},
    }),
    runs: {
      get: (id) =>
        Promise.resolve({
          status: 'completed',
          name: 'test',
          invocations: [{ run_id: id }],
        } as unknown as RunRecord),
    },
    audit: { record: () => Promise.resolve() },
  });
  await move(1);
  const later = [await move(2), await move(3)];
  const request = {
    config: 'the document',
    config_format: 'yaml',
    dry_run: false,
    force: false,
  } as const;
  const { signal } = new AbortController();
  const reports = await Promise.all(
    later.map((runId) =>
      rollback({ runId, request, caller: { principal: 'a', role: 'admin' }, signal }),
    ),
  );
  expect(reports.map(({ applied }) => applied)).toEqual([true, true]);
  await move(3);
  expect(
    (await client.query('SELECT id FROM orders ORDER BY id')).rows.map(({ id }: { id: string }) =>
      Number(id),
    ),
  ).toEqual([1, 2, 3]);
});
