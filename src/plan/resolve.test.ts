import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import { issuesOf, plan, refusalOf } from '../../test/fakes/documents.ts';
import { fillConfig, resolvePart, type RuntimeTokens } from './resolve.ts';

const user: JsonValue = {
  id: 7,
  name: 'Ann',
  tags: ['a', 'b'],
  address: { city: 'Bern' },
  gone: null,
  tricky: '${now.date}',
};
const tokens: RuntimeTokens = {
  now: { date: new Date('2026-02-03T04:05:06Z'), zone: 'UTC' },
  records: new Map([['users', user]]),
};
const fill = (config: JsonObject) => fillConfig(config, tokens, { base: 'x.config' });

const out = (value: string) => ({
  ...tokens,
  records: new Map<string, JsonValue>([['u', { v: value }]]),
});

describe('run-time tokens', () => {
  test.each(['x/../../y', '..', 'a\\..\\b'])(
    'a value does not lead out of a folder: %s',
    (value) => {
      const put = (config: JsonObject) => () =>
        fillConfig(config, out(value), { base: 'x.config' });
      expect(put({ path: 'out/../${u.v}/f.csv' })).toThrow('leads out of its folder');
      expect(put({ source: { path: 'out/${u.v}/f' } })).toThrow('leads out of its folder');
      expect(put({ path: '${u.v}', query: 'a/${u.v}' })()).toEqual({
        path: value,
        query: `a/${value}`,
      });
    },
  );

  test.each<[string, JsonValue]>([
    ['database_url', 'sqlite:${u.v}.db'],
    ['database_url', 'sqlite:data/${u.v}/x.db?mode=rwc'],
    ['database', 'data/${u.v}/x.duckdb'],
    ['object_keys', ['in/${u.v}/a.csv']],
    ['prefix', 'in/${u.v}/'],
    ['base_url', 'https://api.example/v1/${u.v}'],
  ])('nor out of the folder of a database, a bucket or an address: %s %j', (key, text) => {
    const fillWith = (value: string) => () =>
      fillConfig({ [key]: text }, out(value), { base: 'x.config' });
    for (const value of ['x/../../y', '/../y', 'a/../../y', '%2e%2E/y', '..?x=/y'])
      expect(fillWith(value)).toThrow('leads out of its folder');
    expect(fillWith('a..b/c')).not.toThrow();
  });

  test('two dots in a name stay in the folder', () => {
    expect(fillConfig({ path: 'o/../${u.v}.csv' }, out('a..b/c'), { base: 'x' })).toEqual({
      path: 'o/../a..b/c.csv',
    });
  });

  test('the clock is filled in as text', () => {
    expect(fill({ a: '${now.date}', b: ['in/${now.strftime.%H:%M}'], '${now.year}': 1 })).toEqual({
      a: '2026-02-03',
      b: ['in/04:05'],
      '2026': 1,
    });
  });

  test('a field that fills a text keeps its type; inside one it becomes text', () => {
    expect(
      fill({
        a: '${users.id}',
        b: 'u-${users.id}',
        c: '${users.address}',
        d: '${users.address.city}',
        e: '${users.gone}',
      }),
    ).toEqual({
      a: 7,
      b: 'u-7',
      c: { city: 'Bern' },
      d: 'Bern',
      e: null,
    });
    expect(
      fill({
        a: '${users.tags}',
        b: 'x ${users.tags}',
        c: '${users.tags.1}',
        d: 'x ${users.gone}',
        e: '${users}',
      }),
    ).toEqual({
      a: ['a', 'b'],
      b: 'x a,b',
      c: 'b',
      d: 'x null',
      e: user,
    });
  });

  test('values are data, escapes are literals, tokens of connectors stay', () => {
    expect(
      fill({
        a: '${users.tricky}',
        b: 'x${users.tricky}',
        c: '$\u0000{users.id}',
        d: '${bookmark} ${window.end}',
      }),
    ).toEqual({
      a: '${now.date}',
      b: 'x${now.date}',
      c: '${users.id}',
      d: '${bookmark} ${window.end}',
    });
  });

  test('what is missing is reported with its place, all at once', () => {
    expect(issuesOf(() => fill({ a: '${users.nam}', b: [{ c: 'x ${orders.id}' }] }))).toEqual([
      'missing_field x.config.a',
      'unknown_row x.config.b[0].c',
    ]);
    expect(refusalOf(() => fill({ a: '${users.nam}' })).issues[0]?.message).toBe(
      'the record of row `users` has no `nam`',
    );
  });

  test('keys that meet are refused', () => {
    expect(issuesOf(() => fill({ '7': 1, '${users.id}': 2 }))).toEqual(['duplicate_key x.config']);
  });
});

describe('a part for one invocation', () => {
  const text = (to: string) =>
    `version: 1\npipeline:\n  source: {type: numbers, config: {to: "${to}"}}\n  sink: {type: nowhere}\n`;
  const source = (to: string) => {
    const part = plan(text(to)).rows[0]?.source;
    if (part === undefined) throw new Error('no row');
    return part;
  };

  test('is parsed once its tokens are filled in', () => {
    expect(resolvePart(source('${now.day}'), tokens)).toEqual({ to: 3 });
  });

  test('without tokens it is the one of the plan', () => {
    const part = source('5');
    expect(resolvePart(part, tokens)).toBe(part.parsed);
  });

  test('that does not fit then is refused with its place', () => {
    expect(issuesOf(() => resolvePart(source('${now.date}'), tokens))).toEqual([
      'wrong_type pipeline.source.config.to',
    ]);
  });
});
