import { expect, test } from 'vitest';
import { issuesOf, plan, refusalOf } from '../../../test/fakes/documents.ts';

const document = (
  schema: string,
  rest: { sink?: string; more?: string; top?: string } = {},
): string =>
  [
    'version: 1',
    rest.top ?? '',
    'pipeline:',
    '  source: {type: lines, config: {path: in}}',
    `  sink: {type: ${rest.sink ?? 'lines, config: {path: out}'}}`,
    rest.more ?? '',
    `  schema: ${schema}`,
  ].join('\n');
const TABLE = 'table, config: {table: t}';
const DLQ = '  dlq: {sink: {type: nowhere}}';

test('every policy but evolve is accepted on a sink without columns, and leaves its bytes alone', () => {
  for (const policy of ['warn', 'ignore', 'fail']) {
    expect(plan(document(`{on_drift: ${policy}}`)).rows[0]?.lane.lane.form).toBe('bytes');
  }
});

test('a policy on a sink with columns looks at records', () => {
  expect(plan(document('{}', { sink: TABLE })).rows[0]?.lane.reason).toBe(
    'records: `schema` compares every record with the destination',
  );
});

test('evolve needs a sink whose columns can be changed, and the message names it', () => {
  const refused = refusalOf(() => plan(document('{on_drift: evolve}')));
  expect(refused.issues[0]).toMatchObject({
    code: 'evolve_unsupported',
    path: 'pipeline.schema.on_drift',
  });
  expect(refused.message).toContain(
    'cannot change the columns of the sink `lines` of the pipeline',
  );
  expect(plan(document('{on_drift: evolve}', { sink: TABLE })).rows).toHaveLength(1);
});

test('evolve and overwrite exclude each other', () => {
  const refused = refusalOf(() =>
    plan(
      document('{on_drift: evolve}', { sink: 'table, config: {table: t, write_mode: overwrite}' }),
    ),
  );
  expect(refused.message).toContain('`write_mode: overwrite`');
});

test('whatever quarantines needs a dlq', () => {
  expect(issuesOf(() => plan(document('{on_drift: quarantine}')))).toEqual([
    'dlq_required pipeline.schema',
  ]);
  const evolve = '{on_drift: evolve, on_incompatible: quarantine}';
  expect(issuesOf(() => plan(document(evolve, { sink: TABLE })))).toEqual([
    'dlq_required pipeline.schema',
  ]);
  expect(plan(document(evolve, { sink: TABLE, more: DLQ })).rows).toHaveLength(1);
});

test('whatever quarantines cannot be delivered exactly once', () => {
  const text = document('{on_drift: quarantine}', {
    sink: 'table, config: {table: t, write_mode: upsert, key: [id]}',
    more: DLQ,
    top: 'delivery: exactly_once',
  });
  expect(issuesOf(() => plan(text))).toEqual(['exactly_once_quarantine pipeline.schema']);
});
