/** Events that no server here writes, or only when it fails. */
import { crc32 } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { testEnv } from '../../../../test/fakes/env.ts';
import { pageBounds } from '../../../kit/page-bounds.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { TransactionPages } from '../../_cdc/transaction-pages.ts';
import { Charsets } from '../values/charsets.ts';
import { ChangeReader } from './change-reader.ts';
import { parseGtidSet } from './gtid-set.ts';
import { bookmarkOf, isAfter, type BinlogPosition } from './position.ts';
import { changeSchema } from './records.ts';

const UUID = '3e11fa4771ca11e19e33c80aa9429562';

/** Writes events of a MySQL, which has other bounds of transactions than MariaDB. */
class Log {
  pos = 4;
  withChecksums = false;
  readonly #reader: ChangeReader;

  constructor(reader: ChangeReader) {
    this.#reader = reader;
  }

  /** `at`: what the server says of its position, which has 32 bits. */
  async event(type: number, body: Buffer, { at, flags = 0 }: { at?: number; flags?: number } = {}) {
    const sum = this.withChecksums || type === 15 ? 4 : 0;
    const size = 19 + body.length + sum;
    const header = Buffer.alloc(19);
    header.writeUInt32LE(1_700_000_000, 0);
    header[4] = type;
    header.writeUInt32LE(size, 9);
    this.pos = at ?? this.pos + size;
    header.writeUInt32LE(this.pos, 13);
    header.writeUInt16LE(flags, 17);
    const bytes = Buffer.concat([header, body, Buffer.alloc(sum)]);
    if (sum > 0) bytes.writeUInt32LE(crc32(bytes.subarray(0, size - 4)), size - 4);
    await this.#reader.read(bytes);
  }

  format(version = '8.4.0') {
    const body = Buffer.alloc(2 + 50 + 4 + 1 + 40 + 1);
    body.writeUInt16LE(4, 0);
    body.write(version, 2);
    body[56] = 19;
    body[body.length - 1] = this.withChecksums ? 1 : 0;
    return this.event(15, body);
  }

  rotate(file: string, flags = 0x20) {
    const body = Buffer.concat([Buffer.from('0400000000000000', 'hex'), Buffer.from(file)]);
    return this.event(4, body, { flags });
  }

  query(sql: string) {
    const head = Buffer.alloc(13);
    head[8] = 4;
    return this.event(2, Buffer.concat([head, Buffer.from('shop\0'), Buffer.from(sql)]));
  }

  gtid(number: number) {
    const body = Buffer.alloc(25);
    Buffer.from(UUID, 'hex').copy(body, 1);
    body.writeBigInt64LE(BigInt(number), 17);
    return this.event(33, body);
  }

  /** `orders(id int unsigned, year_ year)`; the fields behind the types are those of MySQL. */
  table(isNamed = true, first = '6964') {
    const names = isNamed ? `04 09 02 ${first} 05 796561725f`.replaceAll(' ', '') : '';
    const body = `0700000000000000 0473686f7000 066f726465727300 02 030d 00 00 01 01 80 ${names}`;
    return this.event(19, Buffer.from(body.replaceAll(' ', ''), 'hex'));
  }

  insert(id: number, present = '03') {
    const body = Buffer.from(
      `07000000000001000200 02 ${present} 00 00000000 7c`.replaceAll(' ', ''),
      'hex',
    );
    body.writeUInt32LE(id, body.length - 5);
    return this.event(30, body);
  }

  commit(options: { at?: number } = {}) {
    return this.event(16, Buffer.alloc(8), options);
  }
}

let pages: TransactionPages<BinlogPosition>;
let log: Log;

function begin(more: { batchSize?: number; gtids?: string; tells?: boolean } = {}): void {
  const from = { file: 'binlog.000001', pos: 4 };
  pages = new TransactionPages({
    log: { schema: changeSchema(false), bookmarkOf, isAfter },
    bounds: pageBounds(more.batchSize ?? 1000, 1_000_000),
    longest: undefined,
    marks: true,
    from,
    marked: from,
  });
  const charsets = Charsets.ask(() => Promise.resolve([]));
  const reader = new ChangeReader({
    config: {
      include_tables: [],
      exclude_tables: [],
      include_columns: true,
      emit_schema_changes: more.tells ?? false,
    },
    pages,
    questions: { hints: () => Promise.resolve(new Map()), charsets: () => charsets },
    log: testEnv().log,
    before: more.gtids === undefined ? undefined : parseGtidSet(more.gtids),
  });
  log = new Log(reader);
}

async function startFile(): Promise<void> {
  await log.rotate('binlog.000001');
  await log.format();
}

function given(): { ids: unknown[]; bookmark: unknown } {
  pages.giveWhole();
  pages.mark();
  const all = pages.ready.splice(0);
  const records = all.flatMap((page) => page.records() as JsonObject[]);
  return {
    ids: records.map(({ after }) => (after as JsonObject)['id']),
    bookmark: all.at(-1)?.bookmark,
  };
}

beforeEach(() => begin());

describe('the log of a MySQL', () => {
  test('begins a transaction with its id and a BEGIN, and ends it with a commit', async () => {
    await startFile();
    await log.gtid(1);
    await log.query('BEGIN');
    await log.table();
    await log.insert(4_294_967_295);
    await log.commit();
    expect(given()).toEqual({
      ids: [4_294_967_295],
      bookmark: { file: 'binlog.000001', pos: log.pos },
    });
  });

  test('leaves out transactions of the set that it begins behind', async () => {
    begin({ gtids: `${UUID}:1-2` });
    await startFile();
    for (const id of [1, 2, 3]) {
      await log.gtid(id);
      await log.query('BEGIN');
      await log.table();
      await log.insert(id);
      await log.commit();
    }
    expect(given().ids).toEqual([3]);
  });

  test('has statements that are a transaction of their own', async () => {
    await startFile();
    await log.gtid(1);
    await log.query('ALTER TABLE orders ADD more int');
    const { pos } = log;
    expect(given()).toEqual({ ids: [], bookmark: { file: 'binlog.000001', pos } });
  });

  test('may give the number of a table to another shape of it', async () => {
    await startFile();
    await log.gtid(1);
    await log.query('BEGIN');
    await log.table();
    await log.insert(1);
    await log.table(true, '7869');
    await log.insert(2);
    await log.commit();
    pages.giveWhole();
    const found = pages.ready.flatMap((page) => page.records() as JsonObject[]);
    expect(found.map(({ after }) => after)).toEqual([
      { id: 1, year_: 2024 },
      { xi: 2, year_: 2024 },
    ]);
  });

  test('has checksums, which are compared', async () => {
    log.withChecksums = true;
    await startFile();
    await log.gtid(1);
    await log.query('BEGIN');
    await log.table();
    await log.insert(1);
    await log.commit();
    expect(given().ids).toEqual([1]);
    log.withChecksums = false;
    await expect(log.gtid(2)).rejects.toMatchObject({
      message: expect.stringContaining('wrong checksum') as string,
    });
  });
});

describe('a transaction that ends behind four gigabytes', () => {
  test('waits for the next file, because positions have 32 bits', async () => {
    await startFile();
    await log.event(28, Buffer.alloc(1), { at: 4_294_967_000 });
    await log.gtid(1);
    await log.query('BEGIN');
    await log.table();
    await log.insert(1);
    await log.commit({ at: 200 });
    expect(given()).toEqual({ ids: [], bookmark: undefined });
    await log.rotate('binlog.000002', 0);
    expect(given()).toEqual({ ids: [1], bookmark: { file: 'binlog.000002', pos: 4 } });
  });
});

describe('a server that stopped in the middle of a transaction', () => {
  const half = async (): Promise<void> => {
    await startFile();
    await log.gtid(1);
    await log.query('BEGIN');
    await log.table();
    await log.insert(1);
    await log.insert(2);
  };

  test('did not make its changes', async () => {
    await half();
    await log.rotate('binlog.000002');
    log.pos = 4;
    await log.format();
    await log.gtid(2);
    await log.query('BEGIN');
    await log.table();
    await log.insert(3);
    await log.commit();
    expect(given().ids).toEqual([3]);
  });

  test('ends the run where a part of them was given', async () => {
    begin({ batchSize: 1 });
    await half();
    expect(pages.ready).toHaveLength(1);
    await expect(log.format()).rejects.toMatchObject({
      kind: 'data',
      hint: expect.stringContaining('batch_size') as string,
    });
  });
});

describe('what is refused:', () => {
  beforeEach(async () => {
    await startFile();
    await log.gtid(1);
    await log.query('BEGIN');
  });

  const rejected = (work: Promise<void>, message: string) =>
    expect(work).rejects.toMatchObject({
      code: expect.stringMatching(/^connector_(?:refused|data)$/) as string,
      message: expect.stringContaining(message) as string,
      hint: expect.stringMatching(/./) as string,
    });

  test('compressed transactions, parts of JSON, lost changes, and what is not known', async () => {
    const body = Buffer.alloc(8);
    await rejected(log.event(40, body), 'compressed');
    await rejected(log.event(39, body), 'parts of JSON');
    await rejected(log.event(26, body), 'lost changes');
    await rejected(log.event(250, body), 'type 250');
    await log.event(250, body, { flags: 0x80 });
  });

  test('rows without all columns, and tables without names', async () => {
    await log.table();
    await rejected(log.insert(1, '01'), 'without all columns');
    await rejected(log.event(19, Buffer.from('08')), 'cannot be read');
    begin();
    await startFile();
    await log.gtid(1);
    await rejected(log.table(false), 'does not name the columns');
  });

  test('a rollback of changes that are in the log', async () => {
    await log.query('ROLLBACK TO `x`');
    await log.table();
    await log.insert(1);
    await rejected(log.query('ROLLBACK TO `x`'), 'rolled back');
    await rejected(log.query('ROLLBACK'), 'rolled back');
  });

  test('a transaction that is prepared, but not one that is committed with that', async () => {
    await log.event(38, Buffer.from([0]));
    await log.gtid(2);
    await log.query("XA START X'61',X'',1");
    await log.table();
    await log.insert(1);
    await log.query("XA END X'61',X'',1");
    await rejected(log.event(38, Buffer.from([0])), 'prepared');
    await log.event(38, Buffer.from([1]));
    expect(given().ids).toEqual([1]);
  });

  test('rows that are cut off', async () => {
    await log.table();
    await rejected(
      log.event(30, Buffer.from('0700000000000100020002030001', 'hex')),
      'cannot be read',
    );
  });
});
