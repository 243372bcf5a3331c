import { describe, expect, test } from 'vitest';
import { load } from '../../../test/fakes/documents.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { fillUnit } from './fill-unit.ts';

const unit = {
  tokens: {
    start: '2026-03-01T00:00:00+01:00',
    start_unix: 1_772_319_600,
    unit: '20260228T230000Z',
  },
  startsAt: new Date('2026-02-28T23:00:00Z'),
  timezone: 'Europe/Berlin',
};
const fill = (tree: JsonObject, form: 'written' | 'loaded' = 'written') =>
  fillUnit(tree, unit, form);

describe('a document as a unit runs it', () => {
  test('has the window in its texts and keys; a token alone keeps its type', () => {
    const tree = {
      path: 'in-${backfill.unit}-${backfill.start_unix}',
      since: '${backfill.start_unix}',
      list: [{ '${backfill.unit}': 1 }],
    };
    expect(fill(tree)).toEqual({
      path: 'in-20260228T230000Z-1772319600',
      since: 1_772_319_600,
      list: [{ '20260228T230000Z': 1 }],
      backfill: null,
      verify: null,
      delivery: 'at_least_once',
    });
  });

  test('has the start of the window as its clock, in the zone of the backfill', () => {
    expect(fill({ a: '${now.date}', b: '${now.iso} ${now.strftime.%H:%M}' })).toMatchObject({
      a: '2026-03-01',
      b: '2026-03-01T00:00:00+01:00 00:00',
    });
  });

  test('keeps every other token, escape and value', () => {
    const tree = {
      a: '${users.id} ${env:HOME} ${backfill.nope} ${now.nope}',
      b: '$${backfill.unit} $$${x} $',
      c: 9007199254740993n,
      d: null,
    };
    expect(fill(tree)).toMatchObject(tree);
    expect(fill({ b: '$${backfill.unit}-${backfill.unit}' })).toMatchObject({
      b: '$${backfill.unit}-20260228T230000Z',
    });
  });

  test('means the same whether it is filled before it is loaded or after', () => {
    const tree: JsonObject = {
      version: 1,
      vars: { day: 'd-${backfill.unit}' },
      pipeline: {
        source: { type: 'x', config: { path: '${vars.day} $${backfill.unit} ${now.date}' } },
      },
    };
    const text = (value: JsonObject): string => JSON.stringify(value);
    const before = load(text(fill(tree)), { format: 'json' }).tree;
    const after = fill(load(text(tree), { format: 'json' }).tree, 'loaded');
    expect(after['pipeline']).toEqual(before['pipeline']);
    expect(JSON.stringify(before['pipeline'])).toContain('d-20260228T230000Z');
  });

  test('delivers at least once, whatever it and its rows ask for', () => {
    expect(
      fill({
        backfill: { window: '1d' },
        delivery: 'exactly_once',
        matrix: [{ id: 'a', delivery: 'exactly_once' }, { id: 'b' }],
      }),
    ).toEqual({
      backfill: null,
      verify: null,
      delivery: 'at_least_once',
      matrix: [
        { id: 'a', delivery: 'at_least_once' },
        { id: 'b', delivery: 'at_least_once' },
      ],
    });
  });
});

test('is not compared with its destination, where other windows stand too', () => {
  const settled = fill({ version: 1, verify: { repair: true, allow_delete: true } });
  expect(settled).toEqual({ version: 1, verify: null, backfill: null, delivery: 'at_least_once' });
});
