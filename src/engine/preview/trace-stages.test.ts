import { describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { fakeSink, fakeSource, part, planOf, plannedRow } from '../../../test/fakes/plan.ts';
import { maskingSchema } from '../../blocks/masking/schema.ts';
import { check } from '../../kit/schema.ts';
import type { TransformDefinition } from '../../kit/transform.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import { filter } from '../../transforms/filter.ts';
import { flatten } from '../../transforms/reshape/flatten.ts';
import { renameField } from '../../transforms/rename/rename-field.ts';
import { traceStages, type SampleTrace } from './trace-stages.ts';

function transform(definition: TransformDefinition, config: JsonObject) {
  const checked = check(definition.config, config);
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  return { ...part(definition, config), parsed: checked.value };
}

const masking = maskingSchema.parse({
  rules: [{ match: { fields: ['mail', 'who__mail'] }, action: { type: 'redact' } }],
});

function trace(
  records: readonly JsonValue[],
  transforms: readonly ReturnType<typeof transform>[],
): Promise<SampleTrace> {
  const row = plannedRow(fakeSource([]), fakeSink().definition, {
    transforms,
    blocks: masking === undefined ? {} : { masking },
  });
  return traceStages({
    plan: planOf([row]),
    row,
    records,
    env: testEnv(),
    clock: new Date(),
    signal: new AbortController().signal,
  });
}

const grown = transform(filter, { path: 'age', op: 'ne', value: 1 });

describe('what masking hides is nowhere in clear text', () => {
  it('under earlier names, also in records that never reach masking', async () => {
    const chain = [
      transform(renameField, { fields: { a: 'b' } }),
      transform(renameField, { fields: { b: 'mail' } }),
      grown,
    ];
    const seen = await trace(
      [
        { a: 'secret-1', age: 2 },
        { a: 'secret-2', age: 1 },
      ],
      chain,
    );
    expect(stringifyJson(seen as unknown as JsonValue)).not.toContain('secret');
    expect(seen.input).toEqual([
      { a: '***', age: 2 },
      { a: '***', age: 1 },
    ]);
    expect(seen.output).toEqual([{ mail: '***', age: 2 }]);
  });

  it('where names are lost on the way and a record is left behind', async () => {
    const chain = [grown, transform(flatten, {})];
    const seen = await trace(
      [
        { who: { mail: 'secret-1' }, age: 2 },
        { who: { mail: 'secret-2' }, age: 1 },
      ],
      chain,
    );
    expect(stringifyJson(seen as unknown as JsonValue)).not.toContain('secret');
    expect(seen.stages.map(({ stage, filtered }) => [stage, filtered])).toEqual([
      ['transform filter', 1],
      ['transform flatten', 0],
      ['masking', 0],
    ]);
  });

  it('inside other texts, as long as masking has not had its turn', async () => {
    const seen = await trace([{ mail: 'secret-1', note: 'ask secret-1' }], []);
    expect(seen.input).toEqual([{ mail: '***', note: 'ask ***' }]);
    // What no rule names leaves as it is, and that has to be seen.
    expect(seen.output).toEqual([{ mail: '***', note: 'ask secret-1' }]);
  });
});

it('changes nothing in the records it is given', async () => {
  const records = [{ a: 1, age: 3 }];
  await trace(records, [transform(renameField, { fields: { a: 'mail' } })]);
  expect(records).toEqual([{ a: 1, age: 3 }]);
});
