import { describe, expect, it } from 'vitest';
import { Page } from './page.ts';
import { indexAsRead, unreadText, type RejectedRecord } from './rejected-record.ts';

function rejected(index: number): RejectedRecord {
  return { message: 'is not JSON', payload: `line ${index}`, input: 'f', at: {}, index };
}

describe('the place of a record', () => {
  it.each([
    [[], [0, 1, 2]],
    [[0], [1, 2, 3]],
    [[1], [0, 2, 3]],
    [
      [0, 1, 3],
      [2, 4, 5],
    ],
    [[3], [0, 1, 2]],
  ])('counts those that were rejected before it: %j', (places, expected) => {
    const among = places.map((place) => rejected(place));
    expect([0, 1, 2].map((index) => indexAsRead(among, index))).toEqual(expected);
  });
});

describe('a page with rejected records', () => {
  const page = Page.ofRecords(['a', 'b', 'c'], {
    bookmark: 7,
    rejected: [rejected(0), rejected(2), rejected(5)],
    places: [{ line: 2 }, { line: 4 }, { line: 5 }],
  });

  it('gives each of them to one slice, with its place there', () => {
    const slices = [page.slice(0, 1), page.slice(1, 2), page.slice(2, 3)];
    expect(
      slices.map((slice) => slice.rejected.map(({ payload, index }) => [payload, index])),
    ).toEqual([
      [
        ['line 0', 0],
        ['line 2', 2],
      ],
      [],
      [['line 5', 1]],
    ]);
    expect(slices.map(({ places }) => places)).toEqual([
      [{ line: 2 }],
      [{ line: 4 }],
      [{ line: 5 }],
    ]);
  });

  it('keeps them when its records change, but not where those began', () => {
    const changed = page.withSchema({ fields: [], others: true });
    expect(changed.places).toEqual(page.places);
    expect(changed.withRecords(['x']).rejected).toEqual(page.rejected);
    expect(changed.withRecords(['x']).places).toBeUndefined();
  });
});

describe('the text of a record', () => {
  it('ends before its line end, and has the bytes beside it where they are no text', () => {
    expect(unreadText(Buffer.from('a,b\r\n'), true)).toEqual({ payload: 'a,b' });
    expect(unreadText(Buffer.from([0x61, 0xff]), false)).toEqual({
      payload: 'a\ufffd',
      base64: 'Yf8=',
    });
  });
});
