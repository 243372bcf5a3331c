import { expect, test } from 'vitest';
import { plan, refusalOf } from '../../../test/fakes/documents.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { explainDelivery } from './plan.ts';

interface Legs {
  readonly source?: string;
  readonly sink?: string;
  readonly more?: string;
  readonly delivery?: string;
}

const STATE = '  state: {type: folder, config: {path: s}}';

function document({
  source = 'changes',
  sink = 'table, config: {table: t}',
  more = STATE,
  delivery = 'exactly_once',
}: Legs): string {
  return [
    'version: 1',
    `delivery: ${delivery}`,
    'pipeline:',
    `  source: {type: ${source}}`,
    `  sink: {type: ${sink}}`,
    more,
  ].join('\n');
}

test('all four legs give an atomic watermark, where it is asked for', () => {
  expect(plan(document({})).rows[0]?.guarantee).toBe('effectively-once (atomic watermark)');
  expect(plan(document({ delivery: 'at_least_once' })).rows[0]?.guarantee).toBe('at-least-once');
});

test.each([
  [
    'its source `numbers` cannot be read again from an exact position',
    { source: 'numbers, config: {to: 3}' },
  ],
  ['its sink `nowhere` cannot store a watermark together with the records', { sink: 'nowhere' }],
  ['(`write_mode: overwrite`)', { sink: 'table, config: {table: t, write_mode: overwrite}' }],
  ['it has no `state`', { more: '' }],
  ['its state store `memory` does not survive the process', { more: '  state: {type: memory}' }],
  ['it has a `dlq`', { more: `${STATE}\n  dlq: {sink: {type: nowhere}}` }],
])('a missing leg is named: %s', (reason, legs) => {
  const refused = refusalOf(() => plan(document(legs)));
  expect(refused.issues[0]).toMatchObject({ code: 'exactly_once_unreachable', path: 'delivery' });
  expect(refused.message).toContain(reason);
});

test('a keyed upsert needs none of them and may have a dlq', () => {
  const sink = 'table, config: {table: t, write_mode: upsert, key: [id]}';
  const keyed = document({
    source: 'numbers, config: {to: 3}',
    sink,
    more: '  dlq: {sink: {type: nowhere}}',
  });
  expect(plan(keyed).rows[0]?.guarantee).toBe('effectively-once (keyed upsert)');
});

test('what a frozen server can still do is said of overwrites and removals', () => {
  const [row] = plan(
    document({
      sink: 'table, config: {table: t, write_mode: overwrite}',
      delivery: 'at_least_once',
    }),
  ).rows;
  if (row === undefined) throw new Error('a plan without a row');
  const late = (changes: Partial<PlannedRow>): string[] =>
    explainDelivery({ ...row, ...changes })
      .filter(({ topic }) => topic === 'taken over')
      .map(({ short }) => short);
  const cleanUp = { path: '', scope: {}, tokens: [] };
  expect(late({})).toEqual(['a frozen server may end the overwrite that it had begun to end']);
  expect(late({ fenced: true })).toEqual([
    'the destination refuses the overwrite of a server that lost the run',
  ]);
  expect(late({ overwrites: false, cleanUp })).toEqual([
    'a frozen server may end the one write that it had begun',
    'a frozen server may remove what it has not seen',
  ]);
  expect(late({ overwrites: false, cleanUp, fenced: true }).at(-1)).toBe(
    'the destination refuses removals of a server that lost the run',
  );
});
