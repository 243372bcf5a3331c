/** A row has the same values, of the same types, whether a query or the log gives it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { difference } from '../../conformance/source/difference.ts';
import { LoggedTable, TABLE } from '../../../test/conformance/fixtures/logged-table.ts';
import { sourceContext, testEnv } from '../../../test/fakes/env.ts';
import { mariadbOrReason } from '../../../test/servers/mariadb.ts';
import { readLog, type ReadLog } from '../../../test/support/read-log.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import type { RecordField } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { mysqlSource } from '../mysql/index.ts';

const { reason } = mariadbOrReason({ isOwn: true });

const COLUMNS = `id int PRIMARY KEY,
  tiny tinyint, year_ year, tinyu tinyint unsigned, truth tinyint(1), small smallint, smallu smallint unsigned,
  medium mediumint, mediumu mediumint unsigned, whole int, wholeu int unsigned, big bigint, bigu bigint unsigned,
  filled int(8) zerofill, exact decimal(30,10), counted decimal(5,0), ratio decimal(4,4), filledexact decimal(8,2) zerofill,
  longest decimal(65,30), single float, singleu float unsigned, rounded float(7,3), twice double, twiceu double unsigned,
  day date, wall datetime, wall3 datetime(3), wall6 datetime(6), at timestamp NULL, at1 timestamp(1) NULL, at6 timestamp(6) NULL,
  span time, span1 time(1), span3 time(3), span6 time(6), bit1 bit(1), bit9 bit(9), bit64 bit(64),
  fixed char(10), wide char(255), bytes binary(8), varied varchar(50), long_ varchar(500), varbytes varbinary(300),
  mood enum('sad','fröhlich','a,b'), tags set('x','ü','z'), doc json, tinyt tinytext, textt text, mediumt mediumtext, longt longtext,
  tinyb tinyblob, blobb blob, mediumb mediumblob, longb longblob, shape point,
  latin varchar(20) CHARACTER SET latin1, greek varchar(20) CHARACTER SET greek, ucs varchar(20) CHARACTER SET ucs2,
  wide16 varchar(20) CHARACTER SET utf16, wide32 varchar(20) CHARACTER SET utf32, little varchar(20) CHARACTER SET utf16le,
  sjis varchar(20) CHARACTER SET sjis, gbk varchar(20) CHARACTER SET gbk, big5 varchar(20) CHARACTER SET big5,
  dos varchar(20) CHARACTER SET cp850, russian text CHARACTER SET koi8r, plain varchar(20) CHARACTER SET ascii,
  latinmood enum('é','n') CHARACTER SET latin1, u uuid, six inet6, four inet4,
  stored int AS (whole + 1) STORED, computed varchar(20) AS (concat(whole, '!')) VIRTUAL`;

type Values = Readonly<Record<string, string>>;

const USUAL: Values = {
  id: '1',
  tiny: '-5',
  tinyu: '200',
  truth: '1',
  year_: '2024',
  small: '-300',
  smallu: '65000',
  medium: '-8000000',
  mediumu: '16000000',
  whole: '-2000000000',
  wholeu: '4000000000',
  big: '-9007199254740993',
  bigu: '18446744073709551615',
  filled: '42',
  exact: '-12345678901234567890.0123456789',
  counted: '-12345',
  ratio: '0.0500',
  filledexact: '1.5',
  longest: '12345678901234567890123456789012345.123456789012345678901234567890',
  single: '0.1',
  singleu: '16777217',
  rounded: '1234.567',
  twice: '-0.1e-300',
  twiceu: '3.14',
  day: "'2024-02-29'",
  wall: "'2024-05-06 07:08:09'",
  wall3: "'1000-01-01 00:00:00.120'",
  wall6: "'9999-12-31 23:59:59.999999'",
  at: "'2024-05-06 07:08:09'",
  at1: "'2024-05-06 07:08:09.5'",
  at6: "'1970-01-01 00:00:01.000001'",
  span: "'-838:59:59'",
  span1: "'-00:00:00.1'",
  span3: "'12:00:00.123'",
  span6: "'-12:34:56.000001'",
  bit1: "b'1'",
  bit9: "b'100000001'",
  bit64: "X'FFFFFFFFFFFFFFFF'",
  fixed: "'ab  '",
  wide: "'ü'",
  bytes: "X'0102000000'",
  varied: "'x  '",
  long_: "repeat('ü', 400)",
  varbytes: "X'00FF00'",
  mood: "'fröhlich'",
  tags: "'x,ü'",
  doc: `'{"a": 1.0, "big": 123456789012345678901234567890, "b": [null, "\\\\u00fc"]}'`,
  tinyt: "'é'",
  textt: "repeat('x', 70)",
  mediumt: "'m'",
  longt: "repeat('y', 70000)",
  tinyb: "X'00'",
  blobb: "''",
  mediumb: "X'FF'",
  longb: "repeat(X'01', 300)",
  shape: 'POINT(1, 2)',
  latin: "'é€'",
  greek: "'αβ'",
  ucs: "'ü'",
  wide16: "'😀'",
  wide32: "'😀x'",
  little: "'ü'",
  sjis: "'日本'",
  gbk: "'中文'",
  big5: "'中文'",
  dos: "'é'",
  russian: "'да'",
  plain: "'a'",
  latinmood: "'é'",
  u: "'123e4567-e89b-12d3-a456-426614174000'",
  six: "'2001:db8:0:1:0:0:0:1'",
  four: "'192.168.0.1'",
};

const only = (id: number, more: Values): Values => ({ id: String(id), ...more });

const ROWS: readonly Values[] = [
  USUAL,
  only(2, {}),
  only(3, {
    tiny: '127',
    tinyu: '0',
    truth: '0',
    year_: '0',
    big: '9223372036854775807',
    bigu: '9007199254740991',
    exact: '0',
    counted: '0',
    ratio: '-0.0001',
    filledexact: '123456.78',
    longest: '-0.000000000000000000000000000001',
    single: '-3.4e38',
    rounded: '999.999',
    twice: '1.7976931348623157e308',
    span: "'00:00:00'",
    span1: "'838:59:59.0'",
    span3: "'-838:59:58.999'",
    bit1: "b'0'",
    bit9: '0',
    bit64: '9007199254740993',
    wide: "repeat('x', 255)",
    fixed: "''",
    bytes: "''",
    mood: "'a,b'",
    tags: "''",
    doc: "'null'",
    u: "'0190163d-8694-739b-aea5-966c26f8ad91'",
    six: "'::ffff:1.2.3.4'",
  }),
  only(4, {
    day: "'0000-00-00'",
    wall: "'0000-00-00 00:00:00'",
    wall3: "'2024-00-00 00:00:00'",
    at: "'0000-00-00 00:00:00'",
    at6: "'0000-00-00 00:00:00'",
    mood: "'not one of them'",
    doc: `'[1,   2]'`,
    u: "'00000000-0000-0000-0000-000000000000'",
    six: "'::'",
    single: '1e-45',
    year_: '1901',
  }),
  only(5, {
    u: "'f47ac10b-58cc-4372-a567-0e02b2c3d479'",
    six: "'1:0:0:2::3'",
    single: '16777215',
    twice: '5e-324',
    year_: '2155',
    at: "'2038-01-19 03:14:07'",
  }),
  only(6, { six: "'::1.2.3.4'", u: "'ffffffff-ffff-ffff-ffff-ffffffffffff'", single: '123456.7' }),
  only(7, { six: "'2001:db8:0:1:1:1:1:1'" }),
];

function insertion(row: Values): string {
  const names = Object.keys(row).map((name) => `\`${name}\``);
  return `INSERT INTO ${TABLE} (${names.join(', ')}) VALUES (${Object.values(row).join(', ')})`;
}

interface Queried {
  readonly rows: readonly JsonObject[];
  readonly fields: readonly RecordField[];
}

async function queried(server: LoggedTable): Promise<Queried> {
  const checked = check(mysqlSource.config, {
    connection_url: server.databaseUrl,
    query: `SELECT * FROM ${TABLE} ORDER BY id`,
    json_big_numbers: 'string',
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await mysqlSource.open(checked.value, sourceContext({ env: testEnv() }));
  const rows: JsonObject[] = [];
  let fields: readonly RecordField[] = [];
  try {
    for await (const page of source.pages({ lane: RECORDS_LANE })) {
      rows.push(...structuredClone(page.records() as JsonObject[]));
      fields = page.schema?.fields ?? [];
    }
  } finally {
    await source.close();
  }
  return { rows, fields };
}

const afterOf = ({ after }: JsonObject) => after as JsonObject;

describe.skipIf(reason !== undefined)(`values ${reason ?? ''}`, () => {
  let server: LoggedTable;
  beforeAll(async () => {
    server = await LoggedTable.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const fill = async (): Promise<void> => {
    await server.client.query(`SET sql_mode = '', time_zone = '+00:00'`);
    for (const row of ROWS) await server.client.query(insertion(row));
  };

  const equalsQuery = async (changes: ReadLog): Promise<void> => {
    const { rows, fields } = await queried(server);
    const images = changes.records.map(afterOf);
    expect(images).toHaveLength(rows.length);
    for (const [index, row] of rows.entries())
      expect(
        difference(structuredClone(images[index]), row, { fieldOrder: true }),
        `row ${index + 1}`,
      ).toBeUndefined();
    for (const { schema, count } of changes.pages)
      for (const name of count === 0 ? [] : ['before', 'after'])
        expect(schema?.fields.find((field) => field.name === name)?.inside).toEqual(fields);
  };

  test('of every type are those that a query gives, inserted, updated and deleted', async () => {
    const start = await server.renew(COLUMNS);
    await fill();
    const count = ROWS.length;
    const inserted = await readLog(server.url, { start, count });
    await equalsQuery(inserted);
    await server.client.query(`UPDATE ${TABLE} SET id = id + 100`);
    const updated = await readLog(server.url, { bookmark: inserted.bookmark, count });
    await equalsQuery(updated);
    expect(updated.records.map(({ before }) => before)).toEqual(
      inserted.records.map(({ after }) => after),
    );
    await server.client.query(`DELETE FROM ${TABLE}`);
    const deleted = await readLog(server.url, { bookmark: updated.bookmark, count });
    expect(deleted.records.map(({ before }) => before)).toEqual(
      updated.records.map(({ after }) => after),
    );
  });

  test('are the same in events that the server compresses', async () => {
    await server.client.query(
      'SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10',
    );
    try {
      const start = await server.renew(COLUMNS);
      await fill();
      await equalsQuery(await readLog(server.url, { start, count: ROWS.length }));
      const [events] = await server.client.query(
        `SHOW BINLOG EVENTS IN '${start.file}' FROM ${start.pos}`,
      );
      expect(JSON.stringify(events)).toContain('Write_rows_compressed');
    } finally {
      await server.client.query('SET GLOBAL log_bin_compress = OFF');
    }
  });

  test('of columns that queries hide are in the log', async () => {
    const start = await server.renew('id int PRIMARY KEY, hidden varchar(10) INVISIBLE');
    await server.client.query(`INSERT INTO ${TABLE} (id, hidden) VALUES (1, 'x')`);
    const { records } = await readLog(server.url, { start, count: 1 });
    expect(records[0]?.['after']).toEqual({ id: 1, hidden: 'x' });
  });

  test('of columns that cannot be read end the run with what to do', async () => {
    const start = await server.renew('id int PRIMARY KEY, packed varchar(100) COMPRESSED');
    await server.client.query(`INSERT INTO ${TABLE} VALUES (1, repeat('x', 100))`);
    await expect(readLog(server.url, { start, count: 1 })).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('`packed` is `COMPRESSED`') as string,
    });
  });
});
