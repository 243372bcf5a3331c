import { expect, test } from 'vitest';
import { GRAMMAR } from '../blocks/index.ts';
import { editorSchema } from '../document/editor-schema.ts';
import { parts } from '../parts.ts';
import { holdsCredentials, MAY_HOLD } from './holds-credentials.ts';

const holds = (source: string, base: string | null = null): boolean =>
  holdsCredentials(
    {
      config: `version: 1\npipeline:\n  source: ${source}\n  sink: { type: jsonl, config: { path: o.jsonl } }\n`,
      config_format: 'yaml',
      name: null,
      base,
    },
    parts,
  );
const rest = (auth: string): string =>
  `{ type: rest, config: { base_url: 'http://h', path: /x, auth: ${auth} } }`;

test('credentials that are written out are found, references are none', () => {
  expect(holds('{ type: csv, config: { path: in.csv } }')).toBe(false);
  expect(holds(rest("{ type: bearer, config: { token: '${env:T}' } }"))).toBe(false);
  expect(holds(rest('{ type: bearer, config: { token: a-token } }'))).toBe(true);
  expect(
    holds("{ type: postgres, config: { connection_url: 'postgres://u:p@h/d', query: select 1 } }"),
  ).toBe(true);
  expect(
    holds(
      "{ type: postgres, config: { connection_url: '${secret:URL}', query: select 1 as key } }",
    ),
  ).toBe(false);
});

test('those of the default document count, too', () => {
  const base = JSON.stringify({ auth: { a: { type: 'static', config: { token: 'x' } } } });
  expect(holds('{ type: csv, config: { path: in.csv } }', base)).toBe(true);
});

/** The words of the quick look have to cover every field that a schema marks. */
test('every field that is marked as secret is looked for', () => {
  const names = new Set<string>();
  const seen = new Set<unknown>();
  const walk = (value: unknown, name: string): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    if ((value as { secret?: unknown }).secret === true) names.add(name);
    for (const [key, below] of Object.entries(value)) {
      if (key === 'properties' || key === '$defs')
        for (const [field, one] of Object.entries(below as object)) walk(one, field);
      else walk(below, name);
    }
  };
  walk(editorSchema(parts, GRAMMAR), '');
  expect(names.size).toBeGreaterThan(10);
  const missed = [...names].filter((name) => !MAY_HOLD.test(name));
  expect(missed).toEqual([]);
});
