import { expect, it } from 'vitest';
import { metadataColumnsOf, metadataColumnsSchema } from '../../blocks/metadata-columns/schema.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { run, sqliteTable } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { dlqPlan, fakeSink, fakeSource, planOf, plannedRow } from '../../../test/fakes/plan.ts';

const columns = (block: unknown): PlannedRow['metadataColumns'] =>
  metadataColumnsOf(metadataColumnsSchema.parse(block));
const all = columns({ columns: ['extracted_at', 'loaded_at', 'run_id', 'source', 'sequence'] });

it('stamps every record with times, invocation, source and a sequence that goes on from page to page', async () => {
  const sink = fakeSink();
  const pages = [{ records: [{ id: 1 }, { id: 2 }] }, { records: [{ id: 3 }] }];
  const outcome = await run(
    planOf([plannedRow(fakeSource(pages), sink.definition, { metadataColumns: all })]),
    {
      env: testEnv({ clock: stillClock() }),
    },
  );
  const fixed = {
    _svc_extracted_at: '2026-01-31T12:00:00.000Z',
    _svc_loaded_at: '2026-01-31T12:00:00.000Z',
    _svc_run_id: outcome.invocations[0]?.invocation_id,
    _svc_source: 'fake',
  };
  expect(sink.records).toEqual([0, 1, 2].map((n) => ({ id: n + 1, ...fixed, _svc_sequence: n })));
});

it('writes over fields of the same name and lets records pass that are not objects', async () => {
  const sink = fakeSink();
  const records: JsonValue[] = [{ m_sequence: 'mine' }, 7, [1]];
  const metadataColumns = columns({ prefix: 'm', columns: ['sequence'] });
  await run(planOf([plannedRow(fakeSource([{ records }]), sink.definition, { metadataColumns })]));
  expect(sink.records).toEqual([{ m_sequence: 0 }, 7, [1]]);
});

it('keeps the columns out of dead letters, of single records as of whole pages', async () => {
  const dead = fakeSink({ name: 'dead' });
  const single = fakeSink({
    reject: (record) => (JSON.stringify(record).includes('"id":1') ? 'no' : undefined),
  });
  const row = plannedRow(fakeSource([{ records: [{ id: 1 }, { id: 2 }] }]), single.definition, {
    metadataColumns: all,
    dlq: dlqPlan(dead.definition),
  });
  await run(planOf([row]));
  expect(dead.records).toMatchObject([{ reason: 'partial' }]);
  expect((dead.records[0] as { payload: JsonValue }).payload).toEqual({ id: 1 });
  expect(single.records).toMatchObject([{ id: 2, _svc_sequence: 1 }]);
});

it('gives a table its columns when the sink makes it', async () => {
  using table = sqliteTable();
  const row = {
    ...plannedRow(fakeSource([{ records: [{ id: 1 }] }]), fakeSink().definition, {
      metadataColumns: all,
    }),
    sink: table.sink(),
  };
  const outcome = await run(planOf([row]));
  expect(outcome.error).toBeNull();
  expect(table.query('SELECT * FROM t')).toMatchObject([
    {
      id: 1,
      _svc_sequence: 0,
      _svc_source: 'fake',
      _svc_run_id: outcome.invocations[0]?.invocation_id,
    },
  ]);
});
