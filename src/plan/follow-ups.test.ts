import { describe, expect, test } from 'vitest';
import { issuesOf, plan } from '../../test/fakes/documents.ts';
import type { JsonObject } from '../lib/text/json.ts';

const SINK = { type: 'lines', config: { path: 'out' } };
const found = (pipeline: JsonObject, matrix: JsonObject[]) => {
  const base = { source: { type: 'lines', config: { path: 'in' } }, sink: SINK };
  const text = JSON.stringify({
    version: 1,
    pipeline: { ...base, ...pipeline },
    ...(matrix.length === 0 ? {} : { matrix }),
  });
  return issuesOf(() => plan(text, {}, { format: 'json' }));
};

describe('one mistake is reported once', () => {
  test('a bad masking pattern is a criterion all the same', () => {
    const rules = [{ match: { field_pattern: '(' }, action: { type: 'hash' } }];
    expect(found({ masking: { rules } }, [])).toEqual([
      'invalid_pattern pipeline.masking.rules[0].match.field_pattern',
    ]);
  });

  test('a config that is no mapping lacks nothing', () => {
    expect(found({ source: { type: 'lines', config: ['path', 'in'] } }, [])).toEqual([
      'wrong_type pipeline.source.config',
    ]);
  });

  test('a rule without any criterion has to say what it matches', () => {
    const rules = [{ match: {}, action: { type: 'hash' } }];
    expect(found({ masking: { rules } }, [])).toEqual([
      'missing_key pipeline.masking.rules[0].match',
    ]);
  });

  test('rows of one id do not clash with each other as well', () => {
    expect(found({}, [{ id: 'a' }, { id: 'a' }])).toEqual(['duplicate_row_id matrix[1].id']);
  });

  test('a row that cannot be read in part is still the row that others name', () => {
    expect(
      found({}, [
        { id: 'a', transforms: ['keep'], sink: { config: { path: 'a' } } },
        { id: 'b', depends_on: ['a'] },
      ]),
    ).toEqual(['wrong_type matrix[0].transforms[0]']);
    expect(
      found({}, [
        { id: 'a', dlq: {}, sink: { config: { path: 'a' } } },
        { id: 'b', depends_on: ['a'] },
      ]),
    ).toEqual(['missing_key matrix[0].dlq.sink']);
  });

  test('a faulty fan-out row is one all the same', () => {
    const using = {
      id: 'b',
      for_each: ['a'],
      source: { config: { path: '${a.K}' } },
      sink: { config: { path: 'b-${a.K}' } },
    };
    const list = { source: { type: 'lines', config: { path: 'l' } }, select: 'k' };
    expect(found({}, [{ id: 'a', fan_out: { ...list, as: 'K' } }, using])).toEqual([
      'invalid_value matrix[0].fan_out.as',
    ]);
    expect(found({}, [{ id: 'a', discover: list }, using])).toEqual([
      'missing_key matrix[0].discover.as',
    ]);
    const collected = { id: 'a', for_each: ['c'], collect: true, fan_out: { ...list, as: 5 } };
    expect(found({}, [{ id: 'c', fan_out: { ...list, as: 'k' } }, collected])).toEqual([
      'wrong_type matrix[1].fan_out.as',
    ]);
  });

  test('rows in a circle are no children yet', () => {
    const rows = [
      { id: 'a', parent: 'b', sink: { config: { path: 'a' } } },
      { id: 'b', parent: 'a', sink: { config: { path: 'b' } } },
    ];
    expect(found({}, rows)).toEqual(['dependency_cycle matrix[0]']);
  });
});
