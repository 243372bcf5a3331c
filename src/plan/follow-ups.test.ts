import { describe, expect, test } from 'vitest';
import { issuesOf, plan } from '../../test/fakes/documents.ts';
import type { JsonObject } from '../lib/json.ts';

const SINK = { type: 'lines', config: { path: 'out' } };
const found = (pipeline: JsonObject, matrix: JsonObject[]) => {
  const base = { source: { type: 'lines', config: { path: 'in' } }, sink: SINK };
  const text = JSON.stringify({ version: 1, pipeline: { ...base, ...pipeline }, ...(matrix.length === 0 ? {} : { matrix }) });
  return issuesOf(() => plan(text, {}, { format: 'json' }));
};

describe('one mistake is told once', () => {
  test('a bad masking pattern is a criterion all the same', () => {
    const rules = [{ match: { field_pattern: '(' }, action: { type: 'hash' } }];
    expect(found({ masking: { rules } }, [])).toEqual(['invalid_pattern pipeline.masking.rules[0].match.field_pattern']);
  });

  test('a rule without any criterion has to say what it matches', () => {
    const rules = [{ match: {}, action: { type: 'hash' } }];
    expect(found({ masking: { rules } }, [])).toEqual(['missing_key pipeline.masking.rules[0].match']);
  });

  test('rows of one id do not clash with each other as well', () => {
    expect(found({}, [{ id: 'a' }, { id: 'a' }])).toEqual(['duplicate_row_id matrix[1].id']);
  });

  test('rows in a circle are no children yet', () => {
    const rows = [
      { id: 'a', parent: 'b', sink: { config: { path: 'a' } } },
      { id: 'b', parent: 'a', sink: { config: { path: 'b' } } },
    ];
    expect(found({}, rows)).toEqual(['dependency_cycle matrix[0]']);
  });
});
