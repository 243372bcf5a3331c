import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { run } from '../../../test/fakes/engine.ts';
import {
  dlqPlan,
  fakeSink,
  fakeSource,
  part,
  planOf,
  plannedRow,
  type FakePage,
} from '../../../test/fakes/plan.ts';
import { contractSchema } from '../../blocks/contract/schema.ts';
import { maskingSchema } from '../../blocks/masking/schema.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import type { PlannedTransform } from '../../plan/plan.ts';
import { cast } from '../../transforms/cast/cast.ts';
import { filter } from '../../transforms/filter.ts';
import { set } from '../../transforms/set.ts';
import { wasm } from '../../transforms/wasm/wasm.ts';

const record = (id: string, name: string): JsonValue => ({ id, name, mail: `${name}@b.c` });
const PAGES: FakePage[] = [
  { records: [record('1', 'Ada'), record('2', 'Bo'), record('3', 'Cy')] },
  { records: [record('4', 'Di'), record('five', 'Ed'), record('6', 'Flo'), record('7', 'Gil')] },
];
/** The contract refuses 4, the sink 6. */
const contract = contractSchema.parse({
  version: '1',
  on_breach: 'quarantine',
  fields: [{ name: 'id', type: 'integer', enum: [1, 2, 3, 6, 7] }],
});
const sixIsBad = (value: JsonValue): string | undefined =>
  isObject(value) && value['id'] === 6 ? 'no six' : undefined;
const module = resolve('test/fixtures/wasm/identity.wasm');
const IDENTITY = { ...part(wasm), parsed: wasm.config.parse({ module }) };
const TRANSFORMS: readonly PlannedTransform[] = [
  part(filter, { path: 'id', op: 'not_in', value: ['1', '3'] }),
  part(cast, { fields: { id: 'int' }, on_error: 'dlq' }),
  part(set, { values: { name: 'later' } }),
];

async function deadLettersOf(
  blocks: Readonly<Record<string, unknown>>,
  transforms = TRANSFORMS,
): Promise<readonly Record<string, unknown>[]> {
  const dead = fakeSink({ name: 'dlq' });
  const sink = fakeSink({ reject: sixIsBad });
  const row = plannedRow(fakeSource(PAGES), sink.definition, {
    dlq: dlqPlan(dead.definition),
    transforms,
    blocks,
  });
  const { status } = await run(planOf([row]));
  expect(status).toBe('completed');
  return dead.records as unknown as Record<string, unknown>[];
}

it.each([
  ['', TRANSFORMS],
  [', behind a module', TRANSFORMS.toSpliced(1, 0, IDENTITY)],
  [', before a module', [...TRANSFORMS, IDENTITY]],
])(
  'a dead letter holds the record as it was read, and its place in the source%s',
  async (_name, transforms) => {
    const letters = await deadLettersOf({ contract }, transforms);
    expect(
      letters.map(({ reason, record_number: place, payload, original }) => ({
        reason,
        place,
        payload,
        original,
      })),
    ).toEqual([
      {
        reason: 'transform',
        place: 5,
        payload: record('five', 'Ed'),
        original: record('five', 'Ed'),
      },
      {
        reason: 'contract',
        place: 4,
        payload: { id: 4, name: 'later', mail: 'Di@b.c' },
        original: record('4', 'Di'),
      },
      {
        reason: 'partial',
        place: 6,
        payload: { id: 6, name: 'later', mail: 'Flo@b.c' },
        original: record('6', 'Flo'),
      },
    ]);
  },
);

it('what masking hides is hidden in the record as it was read, too', async () => {
  const masking = maskingSchema.parse({
    rules: [{ match: { fields: ['mail'] }, action: { type: 'redact' } }],
  });
  const letters = await deadLettersOf({ contract, masking });
  expect(letters).toHaveLength(3);
  expect(letters.map(({ original }) => original)).toEqual([
    { id: 'five', name: 'Ed', mail: '***' },
    { id: '4', name: 'Di', mail: '***' },
    { id: '6', name: 'Flo', mail: '***' },
  ]);
});
