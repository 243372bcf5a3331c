import { describe, expect, it } from 'vitest';
import { type QualityConfig, qualitySchema } from '../../blocks/quality/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { createQualityStage } from './quality.ts';
import { runStage, testContext, type StageOutcome } from '../../../test/support/stages.ts';

const BIG = 9_007_199_254_740_993n;

function quality(config: JsonObject): QualityConfig {
  return qualitySchema.parse(config);
}

function run(
  config: JsonObject,
  records: readonly JsonValue[],
  context = testContext(),
): Promise<StageOutcome> {
  return runStage(createQualityStage(quality(config), context), records);
}

async function passes(check: JsonObject, record: JsonValue): Promise<boolean> {
  const { records } = await run({ record: [{ on_failure: 'quarantine', ...check }] }, [record]);
  return records.length === 1;
}

describe('a record check', () => {
  const lax = { type: 'not_null', field: 'v', treat_missing_as_null: false };
  const email = { type: 'regex_match', field: 'v', pattern: '(?i)@EXAMPLE' };
  const inSet = { type: 'value_in_set', field: 'v', values: [1, 'a', [1], BIG] };
  const notInSet = { ...inSet, type: 'not_in_set' };
  const atLeast = (value: JsonValue) => ({ type: 'compare', field: 'v', op: 'gte', value });
  const differs = { type: 'compare', field: 'v', op: 'ne', value: [1] };
  const typeIs = (expected: string) => ({ type: 'type_is', field: 'v', expected });
  const threeLong = { type: 'string_length', field: 'v', min: 3, max: 3 };

  it.each<[JsonObject, JsonValue, boolean]>([
    [{ type: 'not_null', field: 'v' }, { v: 0 }, true],
    [{ type: 'not_null', field: 'v' }, { v: null }, false],
    [{ type: 'not_null', field: 'v' }, {}, false],
    [lax, {}, true],
    [lax, { v: null }, false],
    [{ type: 'not_empty', field: 'v' }, { v: ' \t' }, false],
    [{ type: 'not_empty', field: 'v' }, { v: ' a' }, true],
    [{ type: 'not_empty', field: 'v' }, { v: 1 }, false],
    [email, { v: 'me@example.org' }, true],
    [email, { v: 'me' }, false],
    [email, {}, false],
    [inSet, { v: 1 }, true],
    [inSet, { v: '1' }, false],
    [inSet, { v: [1] }, true],
    [inSet, { v: BIG }, true],
    [inSet, { v: BIG - 1n }, false],
    [inSet, {}, false],
    [notInSet, { v: 'a' }, false],
    [notInSet, {}, true],
    [atLeast(5), { v: 5 }, true],
    [atLeast(5), { v: 4.9 }, false],
    [atLeast('5'), { v: 5 }, true],
    [atLeast(5), { v: '6' }, false],
    [atLeast(5), { v: BIG }, true],
    [atLeast(5), {}, false],
    [differs, { v: [2] }, true],
    [differs, { v: [1] }, false],
    [differs, {}, false],
    [{ type: 'compare', field: 'v', op: 'eq', value: null }, { v: null }, true],
    [typeIs('number'), { v: BIG }, true],
    [typeIs('array'), { v: [] }, true],
    [typeIs('object'), { v: [] }, false],
    [typeIs('null'), { v: null }, true],
    [typeIs('null'), {}, false],
    [threeLong, { v: '😀😀😀' }, true],
    [threeLong, { v: '😀a' }, false],
    [threeLong, { v: 'abcd' }, false],
    [threeLong, { v: 123 }, false],
    [{ type: 'not_null', field: '$.a.b' }, { a: { b: 1 } }, true],
    [{ type: 'not_null', field: "$['a.b']" }, { 'a.b': 1 }, true],
    [{ type: 'not_null', field: 'toString' }, {}, false],
  ])('%o of %o: passes is %s', async (check, record, expected) => {
    expect(await passes(check, record)).toBe(expected);
  });

  it('json_schema holds the whole record to a schema, integers beyond the safe range included', async () => {
    const schema = {
      type: 'object',
      required: ['id'],
      properties: { id: { type: 'integer' }, tags: { prefixItems: [{ type: 'string' }] } },
    };
    expect(await passes({ type: 'json_schema', schema }, { id: BIG, tags: ['a', 2] })).toBe(true);
    expect(await passes({ type: 'json_schema', schema }, { id: 'x' })).toBe(false);
    expect(await passes({ type: 'json_schema', schema }, { id: 1, tags: [2] })).toBe(false);
    expect(
      await passes(
        {
          type: 'json_schema',
          schema: { ...schema, $schema: 'http://json-schema.org/draft-07/schema#' },
        },
        { id: 1 },
      ),
    ).toBe(true);
  });
});

describe('quarantine', () => {
  it('moves failing records out with the first reason and the index they came with, in page order', async () => {
    const context = testContext();
    const config = {
      record: [
        { type: 'not_null', field: 'id', on_failure: 'quarantine' },
        { type: 'not_empty', field: 'name', on_failure: 'quarantine' },
      ],
    };
    const { records, origins, dead } = await run(
      config,
      [{ id: 1, name: '' }, { id: 2, name: 'b' }, { name: '' }],
      context,
    );
    expect(records).toEqual([{ id: 2, name: 'b' }]);
    expect(origins).toEqual([1]);
    expect(dead).toEqual([
      {
        kind: 'QualityFailure',
        reason: 'quality',
        message: 'not_empty: `name` must be a text that is not blank',
        payload: { id: 1, name: '' },
        index: 0,
      },
      {
        kind: 'QualityFailure',
        reason: 'quality',
        message: 'not_null: `id` must not be null',
        payload: { name: '' },
        index: 2,
      },
    ]);
    expect(context.counts).toEqual(
      new Map([
        ['svc_quality_checks_total{pipeline=p,row=r,check=not_null,outcome=pass}', 2],
        ['svc_quality_checks_total{pipeline=p,row=r,check=not_null,outcome=fail}', 1],
        ['svc_quality_records_quarantined_total{pipeline=p,row=r,check=not_null,field=id}', 1],
        ['svc_quality_checks_total{pipeline=p,row=r,check=not_empty,outcome=pass}', 1],
        ['svc_quality_checks_total{pipeline=p,row=r,check=not_empty,outcome=fail}', 1],
        ['svc_quality_records_quarantined_total{pipeline=p,row=r,check=not_empty,field=name}', 1],
      ]),
    );
  });

  it('keeps the first of equal keys, and tells missing from null', async () => {
    const config = { batch: [{ type: 'unique', fields: ['a', 'b'], on_failure: 'quarantine' }] };
    const { origins, dead } = await run(config, [
      { a: 1, b: null },
      { a: 1 },
      { b: null, a: 1 },
      { a: '1' },
      { a: 1 },
    ]);
    expect(origins).toEqual([0, 1, 3]);
    expect(dead.map(({ index }) => index)).toEqual([2, 4]);
  });

  it('of a batch sends all survivors away and ends the checks', async () => {
    const config = {
      record: [{ type: 'not_null', field: 'id', on_failure: 'quarantine' }],
      batch: [
        { type: 'row_count', min: 3, on_failure: 'quarantine_batch' },
        { type: 'row_count', min: 1, on_failure: 'abort' },
      ],
    };
    const { records, origins, dead } = await run(config, [{ id: 1 }, {}, { id: 2 }]);
    expect([records, origins]).toEqual([[], []]);
    expect(dead.map(({ index, message }) => [index, message])).toEqual([
      [0, 'row_count: the page has 2 records, at least 3 are needed'],
      [1, 'not_null: `id` must not be null'],
      [2, 'row_count: the page has 2 records, at least 3 are needed'],
    ]);
  });
});

describe('a batch check', () => {
  it.each<[JsonObject, readonly JsonValue[], boolean]>([
    [{ type: 'null_rate', field: 'v', max: 0.5 }, [{ v: 1 }, {}], true],
    [{ type: 'null_rate', field: 'v', max: 0.5 }, [{ v: 1 }, {}, { v: null }], false],
    [{ type: 'null_rate', field: 'v', max: 0 }, [], true],
    [{ type: 'distinct_count', field: 'v', min: 3 }, [{ v: 1 }, { v: null }, {}], true],
    [
      { type: 'distinct_count', field: 'v', max: 1 },
      [{ v: { a: 1, b: 2 } }, { v: { b: 2, a: 1 } }],
      true,
    ],
    [{ type: 'distinct_count', field: 'v', max: 1 }, [{ v: 1 }, { v: '1' }], false],
    [{ type: 'row_count', max: 1 }, [{}, {}], false],
  ])('%o of %o: passes is %s', async (check, records, expected) => {
    const outcome = run({ batch: [{ on_failure: 'abort', ...check }] }, records);
    if (expected) expect((await outcome).records).toEqual(records);
    else
      await expect(outcome).rejects.toMatchObject({
        name: 'RunError',
        kind: 'QualityFailure',
        code: 'quality_abort',
      });
  });
});

describe('abort', () => {
  it('ends the run naming check, field and record, never the value', async () => {
    const context = testContext();
    const config = {
      record: [{ type: 'regex_match', field: 'pin', pattern: '^\\d+$', on_failure: 'abort' }],
    };
    await expect(run(config, [{ pin: '1' }, { pin: 'hunter2' }], context)).rejects.toMatchObject({
      message: 'quality check failed: regex_match: `pin` must match `^\\d+$`',
      index: 1,
    });
    expect(context.counts.get('svc_quality_aborts_total{pipeline=p,row=r,check=regex_match}')).toBe(
      1,
    );
  });
});
