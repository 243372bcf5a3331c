import { describe, expect, it } from 'vitest';
import { fakeSink, part } from '../../../test/fakes/plan.ts';
import type { SinkDefinition } from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { PlannedPart } from '../../plan/plan.ts';
import type { RuntimeTokens } from '../../plan/resolve.ts';
import { canonicalUri, datasetId } from './canonical-uri.ts';

const now = { date: new Date('2026-01-31T05:06:07Z'), zone: 'UTC' };

/** What a config is called that was completed on the 31st of January. */
function canonical(
  uri: string,
  config: JsonObject,
  over: Partial<RuntimeTokens> = {},
): string | undefined {
  const { definition } = fakeSink();
  const deferred: PlannedPart<SinkDefinition> = { ...part(definition, config), deferred: true };
  return canonicalUri(
    { id: 'row-0', kind: 'fake', uri, part: deferred },
    { now, records: new Map<string, JsonValue>(), ...over },
  );
}

describe('a canonical address', () => {
  it.each([
    ['file:///out/2026-01-31/x.csv', '/out/${now.date}/x.csv', 'file:///out/${now.date}/x.csv'],
    ['file:///out/31.csv', '/out/${now.day}.csv', 'file:///out/${now.day}.csv'],
    [
      's3://b/2026/01/31/y',
      '${now.year}/${now.month}/${now.day}/y',
      's3://b/${now.year}/${now.month}/${now.day}/y',
    ],
    [
      'file:///out/20260131.csv',
      '/out/${now.year}${now.month}${now.day}.csv',
      'file:///out/${now.year}${now.month}${now.day}.csv',
    ],
    ['file:///31/x-31.csv', '/31/x-${now.day}.csv', 'file:///31/x-${now.day}.csv'],
    ['db://h/d31?table=t', '${now.day}', 'db://h/d31?table=t'],
    ['file:///a.csv', '/a.csv', 'file:///a.csv'],
    ['file:///31/31/x.csv', '/31/${now.day}/x.csv', 'file:///31/${now.day}/x.csv'],
    [
      'file:///here/out/2026-01-31.csv',
      './out/${now.date}.csv',
      'file:///here/out/${now.date}.csv',
    ],
  ])('%s of a run is %s as written', (uri, path, folded) => {
    expect(canonical(uri, { path })).toBe(folded);
  });

  it('is the same on days whose parts look alike', () => {
    const path = 'out/${now.month}/${now.day}/${now.hour}.csv';
    const [newYear, another] = ['2026-01-01T01:00:00Z', '2026-01-31T05:00:00Z'].map((at) => ({
      now: { date: new Date(at), zone: 'UTC' },
    }));
    expect(canonical('file:///here/out/01/01/01.csv', { path }, newYear)).toBe(
      `file:///here/${path}`,
    );
    expect(canonical('file:///here/out/01/31/05.csv', { path }, another)).toBe(
      `file:///here/${path}`,
    );
  });

  it('puts the bounds of a chunk back, too', () => {
    const config = {
      query: 'SELECT * FROM t WHERE id > ${partition.start} AND id <= ${partition.end}',
    };
    const uri = 'sqlite:///a.db?query=SELECT * FROM t WHERE id > 1000 AND id <= 2000';
    const records = new Map([['partition', { start: 1000, end: 2000 }]]);
    expect(canonical(uri, config, { records })).toBe(`sqlite:///a.db?query=${config.query}`);
  });

  it('is what the id is made of', () => {
    expect(datasetId('file:///a.csv')).toMatch(/^[0-9a-f]{16}$/);
    expect(datasetId('file:///a.csv')).toBe('611f3b7fd08649cd');
  });
});
