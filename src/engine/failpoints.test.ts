import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../lib/text/json.ts';
import { run } from '../../test/fakes/engine.ts';
import {
  dlqPlan,
  fakeSink,
  fakeSource,
  fakeState,
  part,
  planOf,
  plannedRow,
} from '../../test/fakes/plan.ts';
import { FAILPOINTS, type Failpoint, type FailpointPlace } from './failpoints.ts';

describe('durable steps', () => {
  it('are reported in the order in which things become durable, page by page', async () => {
    const told: string[] = [];
    const onFailpoint = (step: Failpoint, { row, page }: FailpointPlace): void =>
      void told.push(`${row} ${page} ${step}`);
    const dead = fakeSink({ name: 'dlq' });
    const pages = [1, 2].map((n) => ({ records: [{ n }, { n: -n }], bookmark: n }));
    const sink = fakeSink({
      reject: (record) => ((record as { n: number }).n < 0 ? 'negative' : undefined),
    });
    const row = plannedRow(fakeSource(pages), sink.definition, {
      state: part(fakeState(new Map<string, JsonValue>())),
      dlq: dlqPlan(dead.definition),
    });
    await run(planOf([row]), { onFailpoint });
    const ofPage = (n: number): string[] =>
      [
        'before_write',
        'after_write',
        'after_dead_letters',
        'after_flush',
        'after_dead_letter_flush',
        'after_bookmark',
        'after_acknowledge',
      ].map((step) => `row-0 ${n} ${step}`);
    expect(told).toEqual([
      'row-0 0 opened',
      ...ofPage(1),
      ...ofPage(2),
      'row-0 2 after_flush',
      'row-0 2 after_dead_letter_flush',
      'row-0 2 before_finish',
      'row-0 2 after_finish',
    ]);
    for (const line of told) expect(Object.keys(FAILPOINTS)).toContain(line.split(' ')[2]);
  });
});
