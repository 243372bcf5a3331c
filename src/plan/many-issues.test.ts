import { describe, expect, test } from 'vitest';
import { plan, refusalOf } from '../../test/fakes/documents.ts';
import type { JsonObject } from '../lib/text/json.ts';

const PIPELINE: JsonObject = {
  source: { type: 'lines', config: { path: 'a' } },
  sink: { type: 'nowhere' },
};
const manyKeys = (count: number): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key_${index}`, 1]));
const refused = (document: JsonObject) =>
  refusalOf(() => plan(JSON.stringify({ version: 1, ...document }), {}, { format: 'json' }));

describe('a document with very many faults tells the first thousand, and that there are more', () => {
  test.each<[string, JsonObject]>([
    ['unknown keys at the top', { pipeline: PIPELINE, ...manyKeys(5000) }],
    [
      'unknown keys in a config',
      {
        pipeline: {
          ...PIPELINE,
          source: { type: 'lines', config: { path: 'a', ...manyKeys(5000) } },
        },
      },
    ],
    [
      'unknown keys in a block',
      { pipeline: { ...PIPELINE, state: { type: 'memory', ...manyKeys(5000) } } },
    ],
    [
      'unknown parts',
      {
        pipeline: {
          ...PIPELINE,
          transforms: Array.from({ length: 5000 }, (_, index) => ({ type: `x${index}` })),
        },
      },
    ],
    [
      'unreadable entries',
      {
        pipeline: {
          ...PIPELINE,
          transforms: Array.from({ length: 5000 }, () => ({ typ: 'keep' })),
        },
      },
    ],
    [
      'unknown tokens',
      { pipeline: PIPELINE, vars: { list: Array.from({ length: 5000 }, () => '${nope:a}') } },
    ],
  ])('%s', (_title, document) => {
    const { issues } = refused(document);
    expect(issues).toHaveLength(1001);
    expect(issues.at(-1)).toMatchObject({ code: 'more_issues', path: '' });
    expect(new Set(issues.slice(0, 1000).map((issue) => issue.code)).size).toBeLessThanOrEqual(2);
  });

  test('a thousand are reported without that word', () => {
    const { issues } = refused({ pipeline: PIPELINE, ...manyKeys(1000) });
    expect(issues.map((issue) => issue.code)).toEqual(
      Array.from({ length: 1000 }, () => 'unknown_key'),
    );
  });
});

test.each(['json', 'yaml'] as const)(
  'a mapping of more than 100,000 keys is refused as a whole in %s',
  (format) => {
    const text = JSON.stringify({ version: 1, pipeline: PIPELINE, vars: manyKeys(100_001) });
    const [issue, ...more] = refusalOf(() => plan(text, {}, { format })).issues;
    expect(more).toEqual([]);
    expect(issue).toMatchObject({ code: 'too_large', line: 1 });
  },
);
