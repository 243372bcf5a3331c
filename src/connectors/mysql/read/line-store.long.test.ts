/** Rows of packets as lines, and as records: the same bytes, in the same pages. */
import { describe, expect, test } from 'vitest';
import { failureOf } from '../../../../test/fakes/failure.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import { columnOf, TYPE, type ColumnInfo, type MysqlColumn } from '../../_mysql/result-types.ts';
import { collectRecords, cutPages } from '../../_sql/copy-text/text-pages.ts';
import { createLineStore } from './line-store.ts';
import { RowFrames } from './row-frames.ts';

const VARCHAR = 253;
const BLOB = 252;
const UTF8MB4 = 45;
const BINARY = 63;
const ZEROFILL = 64;
const UNSIGNED = 32;

type Value = string | Buffer | null;

function column(columnType: number, more: Partial<ColumnInfo> = {}): ColumnInfo {
  const usual = { flags: 0, columnLength: 400, decimals: 0, characterSet: UTF8MB4 };
  return { name: 'c', columnType, ...usual, ...more };
}

const LONG = 'x"\t'.repeat(30_000);

/** Columns with values that have a spelling of their own in JSON. */
const CASES: Readonly<Record<string, readonly [ColumnInfo, readonly Value[]]>> = {
  text: [
    column(VARCHAR),
    [
      '',
      'a',
      'plain text of some length',
      '"',
      '\\',
      'N',
      '\\N',
      'a\tb\nc\rd\be\ff\vg\0h\x1b\x7f',
      'é\u2028𝄞"é',
      LONG,
      'y'.repeat(70_000),
      ...Array.from({ length: 9 }, (_, size) => `${'z'.repeat(size)}"${'z'.repeat(8 - size)}`),
    ],
  ],
  'bytes that are no text': [
    column(VARCHAR),
    [Buffer.from([0xff, 0x22, 0xc3]), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from([0xc3])],
  ],
  bigint: [column(TYPE.bigint), ['0', '-1', '9007199254740993', '-9223372036854775808']],
  'bigint unsigned': [column(TYPE.bigint, { flags: UNSIGNED }), ['18446744073709551615']],
  zerofill: [column(TYPE.long, { flags: ZEROFILL }), ['00007', '0', '4294967295']],
  double: [
    column(TYPE.double),
    [
      '0',
      '-0',
      '1.5',
      '1e100',
      '-1.7976931348623157e308',
      '0.0000001',
      '1.50',
      '0.1',
      '123456789012345678',
    ],
  ],
  decimal: [
    column(TYPE.newDecimal, { decimals: 2 }),
    ['0.00', '-12.50', '99999999999999999999.10'],
  ],
  year: [column(TYPE.year), ['2024', '0000']],
  truth: [column(TYPE.tiny, { columnLength: 1 }), ['0', '1']],
  bit: [column(TYPE.bit, { columnLength: 1 }), [Buffer.from([0]), Buffer.from([1])]],
  bits: [
    column(TYPE.bit, { columnLength: 64 }),
    [Buffer.alloc(8, 255), Buffer.alloc(8), Buffer.from([9, 10, 92])],
  ],
  datetime: [
    column(TYPE.datetime, { decimals: 6 }),
    ['2024-05-06 07:08:09.000001', '0000-00-00 00:00:00.000000', '9999-12-31 23:59:59'],
  ],
  date: [column(TYPE.date), ['0000-00-00', '2024-02-29']],
  time: [column(TYPE.time), ['-838:59:59', '07:08:09.5']],
  binary: [
    column(BLOB, { characterSet: BINARY }),
    [Buffer.alloc(0), Buffer.from([0, 9, 10, 92, 255]), Buffer.alloc(70_000, 92)],
  ],
  geometry: [column(TYPE.geometry), [Buffer.from('000000000101000000', 'hex')]],
  json: [
    column(BLOB, { extendedFormat: 'json' }),
    [
      '{"a":1,"b":[true,null,"x"]}',
      '{"a": 1}',
      '{"b":1,"2":2}',
      '{"a":1,"a":2}',
      '{"a":1.50}',
      '[1e3,9007199254740993]',
      '["a \\"quoted\\"\\n text","\\u00e9","\\\\","\\/"]',
      '["tab\\t", "é𝄞"]',
      'null',
      'true',
      '12',
      '"text"',
      '[]',
      '{}',
      ' {"a":\n1}\t',
      `[${'1e20,'.repeat(30_000)}1]`,
    ],
  ],
};

function packetOf(values: readonly Value[]): Buffer {
  return Buffer.concat(
    values.map((value) => {
      if (value === null) return Buffer.from([0xfb]);
      const bytes = Buffer.from(value as string);
      return Buffer.concat([lengthOf(bytes.length), bytes]);
    }),
  );
}

function lengthOf(size: number): Buffer {
  if (size < 0xfb) return Buffer.from([size]);
  const [mark, bytes] = size < 0x10000 ? [0xfc, 2] : [0xfd, 3];
  const head = Buffer.alloc(1 + bytes, mark);
  head.writeUIntLE(size, 1, bytes);
  return head;
}

interface Told {
  readonly count: number;
  readonly bytes: number;
  readonly text: string;
}

interface Reading {
  readonly columns: readonly MysqlColumn[];
  readonly rows: readonly (readonly Value[])[];
  readonly bounds: { readonly records: number; readonly bytes: number };
  readonly limit?: number;
}

const FRAME = 12;
const schema = { fields: [] };

function told(page: {
  count: number;
  bytes: number;
  block: (as: typeof JSON_LINES) => Uint8Array;
}): Told {
  const { count, bytes } = page;
  return { count, bytes, text: Buffer.from(page.block(JSON_LINES)).toString() };
}

async function asRecords({ columns, rows, bounds, limit }: Reading): Promise<Told[]> {
  const frames = new RowFrames(columns);
  for (const row of rows) {
    const packet = packetOf(row);
    frames.addPacket(packet, 0, packet.length);
  }
  const chunks = (async function* () {
    yield frames.take();
  })();
  const pages: Told[] = [];
  const options = { collector: collectRecords(columns), exact: columns, frame: FRAME, bounds };
  const signal = new AbortController().signal;
  for await (const page of cutPages(chunks, { ...options, schema, signal, limit }))
    pages.push(told(page));
  return pages;
}

function asLines({ columns, rows, bounds, limit }: Reading): Told[] {
  const store = createLineStore({ columns, frame: FRAME, bounds, schema, limit });
  const pages: Told[] = [];
  const take = (state: 'more' | 'over'): void => {
    for (let page = store.take(state); page !== undefined; page = store.take(state)) {
      pages.push(told(page));
      page.release();
    }
  };
  for (const [index, row] of rows.entries()) {
    // In the middle of a buffer, as they come.
    const packet = packetOf(row);
    const chunk = Buffer.concat([Buffer.alloc(index % 5, 34), packet, Buffer.alloc(index % 3, 92)]);
    store.addPacket(chunk, index % 5, (index % 5) + packet.length);
    if (index % 7 === 0) take('more');
  }
  take('over');
  return pages;
}

const named = (infos: readonly ColumnInfo[]): MysqlColumn[] =>
  infos.map((info, index) => columnOf({ ...info, name: `c "${index}` }, 'string'));

const UNBOUND = { records: Infinity, bytes: Infinity };

describe('lines are those of the records', () => {
  test.each(Object.keys(CASES))('%s', async (name) => {
    const [info, values] = CASES[name] ?? [];
    if (info === undefined || values === undefined) throw new Error('no such case');
    const reading: Reading = {
      columns: named([column(VARCHAR), info, column(TYPE.long)]),
      rows: [null, ...values].map((value) => ['before', value, '12']),
      bounds: UNBOUND,
    };
    expect(asLines(reading)).toEqual(await asRecords(reading));
  });

  test.each([
    ['pages of few rows', { records: 7, bytes: Infinity }, undefined],
    ['pages of few bytes', { records: Infinity, bytes: 5000 }, undefined],
    ['a limit', { records: 7, bytes: Infinity }, 33],
    ['a limit that is a page', { records: 7, bytes: Infinity }, 14],
    ['one page', UNBOUND, undefined],
  ])('rows of all types at random: %s', async (_name, bounds, limit) => {
    const all = Object.values(CASES);
    let state = 7;
    const random = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * below);
    };
    const rows = Array.from({ length: 200 }, () =>
      all.map(([, values]) => values[random(values.length + 1)] ?? null),
    );
    const columns = named(all.map(([info]) => info));
    const reading: Reading = { columns, rows, bounds, ...(limit === undefined ? {} : { limit }) };
    const lines = asLines(reading);
    expect(lines).toEqual(await asRecords(reading));
    expect(lines.reduce((sum, { count }) => sum + count, 0)).toBe(limit ?? rows.length);
  });
});

test('a row that fails leaves nothing behind, and pages before it are given', async () => {
  const columns = named([column(VARCHAR), column(TYPE.tiny, { columnLength: 1 })]);
  const bounds = { records: 1, bytes: Infinity };
  const store = createLineStore({ columns, frame: FRAME, bounds, schema });
  const add = (values: readonly Value[]): void => {
    const packet = packetOf(values);
    store.addPacket(packet, 0, packet.length);
  };
  add(['a', '1']);
  const failure = await failureOf((async () => add(['b', '5']))());
  expect(failure.message).toMatch(/is tinyint\(1\), a truth value, and holds 5/);
  const page = store.take('failed');
  expect(page === undefined ? '' : told(page).text).toBe('{"c \\"0":"a","c \\"1":true}\n');
  expect(store.take('failed')).toBeUndefined();
  add(['c', '0']);
  const next = store.take('over');
  expect(next === undefined ? '' : told(next).text).toBe('{"c \\"0":"c","c \\"1":false}\n');
});

test.each([0, 250, 251, 65_535, 65_536, 1_000_000])('a value of %d bytes is whole', (size) => {
  const reading = { columns: named([column(VARCHAR), column(VARCHAR)]), bounds: UNBOUND };
  const value = 'v'.repeat(size);
  const [page] = asLines({ ...reading, rows: [[value, 'end']] });
  expect(page?.text).toBe(`{"c \\"0":"${value}","c \\"1":"end"}\n`);
});

test('a value that ends behind its row is refused', async () => {
  const columns = named([column(VARCHAR)]);
  const store = createLineStore({ columns, frame: FRAME, bounds: UNBOUND, schema });
  const packet = Buffer.from([5, 97, 98, 99, 100, 101]);
  const failure = await failureOf((async () => store.addPacket(packet, 0, 4))());
  expect(failure).toMatchObject({ kind: 'connection' });
});

test('it is full while a page waits, and when its limit is reached', () => {
  const columns = named([column(VARCHAR)]);
  const packet = packetOf(['x'.repeat(300_000)]);
  const bounds = { records: 1, bytes: Infinity };
  const store = createLineStore({ columns, frame: FRAME, bounds, schema, limit: 3 });
  const full: boolean[] = [];
  for (let row = 0; row < 4; row += 1) {
    store.addPacket(packet, 0, packet.length);
    full.push(store.isFull);
  }
  expect(full).toEqual([false, true, true, true]);
  const counts = Array.from({ length: 4 }, () => store.take('more')?.count);
  expect(counts).toEqual([1, 1, 1, undefined]);
  expect(store.hasAll).toBe(true);
});
