/** Pages of columns leave the same bytes in the table as their records, or the same error. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { testContext } from '../../../test/fakes/env.ts';
import { freshMariadb, mariadbOrReason, type FreshMariadb } from '../../../test/servers/mariadb.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema, RecordType } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import type { Sink } from '../../kit/sink.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { jsonColumnPages } from '../_files/json/json-column-pages.ts';
import { mysqlSink } from './index.ts';

const { reason } = mariadbOrReason();
let database: FreshMariadb;

/** Types of columns, and the type of the field where a source says one. */
const TYPES: readonly (readonly [string, RecordType?])[] = [
  ['TINYINT(1)'],
  ['TINYINT UNSIGNED'],
  ['SMALLINT'],
  ['INT'],
  ['BIGINT'],
  ['BIGINT UNSIGNED'],
  ['INT NOT NULL DEFAULT 7'],
  ['DECIMAL(12,2)'],
  ['DECIMAL(40,20)'],
  ['FLOAT'],
  ['DOUBLE'],
  ['BIT(8)'],
  ['YEAR'],
  ['DATE'],
  ['TIME'],
  ['TIME(3)'],
  ['DATETIME'],
  ['DATETIME(3)'],
  ['DATETIME(6)'],
  ['TIMESTAMP(3) NULL'],
  ['CHAR(10)'],
  ['VARCHAR(10)'],
  ['VARCHAR(60) NOT NULL'],
  ['TEXT'],
  ['LONGTEXT'],
  ['VARBINARY(60)'],
  ['LONGBLOB'],
  ['LONGBLOB', { kind: 'binary' }],
  ["ENUM('a','b','true')"],
  ["SET('a','b')"],
  ['JSON'],
  ['JSON', { kind: 'json' }],
];

/** As they stand in the line. */
const VALUES: readonly string[] = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '1',
  '-1',
  '255',
  '256',
  '2024',
  '1.5',
  '1.10',
  '0.1',
  '0.015',
  '1e3',
  '1E-9',
  '1e21',
  '1.7976931348623157e308',
  '123456789012345678901234567890',
  '9007199254740993',
  '18446744073709551615',
  '0.12345678901234567890123',
  '12345678.123',
  '"1"',
  '"007"',
  '" 1 "',
  '"1e-9"',
  '"1.005"',
  '"0.1000000000000000055"',
  '"true"',
  '"false"',
  '"a"',
  '"a,b"',
  '"a  "',
  '"0123456789  "',
  '"0123456789x"',
  '""',
  '" "',
  '"\\\\N"',
  '"\\\\"',
  '"\\\\\\\\t"',
  '"tab\\tline\\nreturn\\rfeed\\fback\\bslash\\/quote\\""',
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\u0041\\u00e9\\u001f"',
  '"\\ud83d\\ude00"',
  '"\u{1F600} \u00fc\u00df\u20ac"',
  '"\\ud800"',
  '"\u007f\u2028"',
  '"2024-02-29"',
  '"2023-02-29"',
  '"2024-02-29T07:08:09Z"',
  '"2024-02-29T07:08:09z"',
  '"2024-02-29 07:08:09"',
  '"2024-02-29T07:08:09"',
  '"2024-02-29T07:08:09.120Z"',
  '"2024-02-29T07:08:09.1204Z"',
  '"2024-02-29T07:08:09.123456789Z"',
  '"2024-02-29T07:08:09.12000000000000Z"',
  '"2024-02-29T23:08:09.5+02:00"',
  '"2024-02-29T23:08:09.5-0230"',
  '"2024-02-29T24:00:00Z"',
  '"2024-02-30T07:08:09Z"',
  '"0000-00-00T00:00:00Z"',
  '"\\u0032024-02-29T07:08:09Z"',
  '"07:08:09"',
  '"07:08:09.1239"',
  '"-20:00:00"',
  '"850:00:00"',
  '"AP8="',
  '"AP8"',
  '[]',
  '[1,"a",null,[true]]',
  '[1.10,1e3]',
  '{}',
  '{"a":1,"b":{"c":[null,false,"\\u00e9\\n\\"\\\\"]}}',
  '{ "spaced" : [ 1 , 2 ] }',
  '{"2":1,"1":2}',
  '{"a":1,"a":2}',
  '{"n":123456789012345678901234567890,"m":1.0}',
  '"{\\"a\\":1,\\"b\\":[\\"x\\\\ny\\\\\\\\\\",1.5]}"',
  '"{\\"a\\":1.0}"',
  '" {\\"a\\": 1}"',
  '"{\\"a\\":1"',
  '"{\\"a\\":\\"\\u00e9\u00e9\\ud800\\"}"',
  '"{\\"a\\":1}\\n"',
  '"{\\/}"',
  '"[1,2]"',
  '"[1,2"',
  '"[]x"',
  '"null"',
  `"${'x'.repeat(300_000)}"`,
  `"${'y\\n\\t\\\\'.repeat(50_000)}"`,
];

function configOf(config: JsonObject) {
  const checked = check(mysqlSink.config, {
    connection_url: database.url,
    column_mapping: 'auto_map',
    write_method: 'load',
    ...config,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

/** The page that the source of JSON Lines makes. */
async function pageOf(lines: readonly string[], schema?: RecordSchema): Promise<Page> {
  const blocks = (async function* () {
    yield Buffer.from(lines.join('\n'));
  })();
  const bounds = { records: 1_000_000, bytes: 1_000_000_000 };
  const options = { name: 'f', signal: new AbortController().signal, bounds };
  for await (const page of jsonColumnPages(blocks, options)) return page.withSchema(schema);
  throw new Error('there is no page');
}

/** What a sink says of a page: what it wrote, or why it did not. */
async function outcomeOf(sink: Sink, page: Page): Promise<unknown> {
  try {
    return await sink.write(page, { partial: false });
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    const { kind, message, hint, record } = error;
    return {
      kind,
      message: message.replaceAll(/`(?:records|columns)(?=[.`])/g, '`t'),
      hint,
      record,
    };
  }
}

async function rowsOf(table: string): Promise<unknown> {
  const [rows] = await database.client.query(
    `SELECT id, HEX(CAST(v AS BINARY)) AS v FROM ${table} ORDER BY id, v`,
  );
  return rows;
}

interface Lanes {
  /** Whether the sink of both lanes says and does the same; that is an expectation. */
  compare(
    lines: readonly string[],
  ): Promise<{ readonly isPassed: boolean; readonly said: unknown }>;
  close(): Promise<void>;
}

async function openLanes(
  definition: string,
  {
    type,
    config = {},
  }: { readonly type?: RecordType | undefined; readonly config?: JsonObject } = {},
): Promise<Lanes> {
  const fields = [{ name: 'v', type: type ?? { kind: 'utf8' as const }, nullable: true }];
  const schema = type === undefined ? undefined : ({ fields } satisfies RecordSchema);
  const sinks: Sink[] = [];
  for (const table of ['records', 'columns']) {
    await database.client.query(
      `DROP TABLE IF EXISTS ${table}; CREATE TABLE ${table} (id INT, v ${definition}) ENGINE = InnoDB`,
    );
    sinks.push(await mysqlSink.open(configOf({ table_name: table, ...config }), testContext('/')));
  }
  const [byRecords, byColumns] = sinks as [Sink, Sink];
  return {
    async compare(lines) {
      await database.client.query('DELETE FROM records; DELETE FROM columns');
      const page = await pageOf(lines, schema);
      const expected = await outcomeOf(
        byRecords,
        Page.ofRecords((await pageOf(lines)).records(), { schema }),
      );
      const read = vi.spyOn(page, 'records');
      const said = await outcomeOf(byColumns, page);
      const isPassed = page.columns !== undefined && read.mock.calls.length === 0;
      expect(said).toEqual(expected);
      expect(await rowsOf('columns')).toEqual(await rowsOf('records'));
      return { isPassed, said };
    },
    close: async () => void (await Promise.all(sinks.map((sink) => sink.close()))),
  };
}

function lineOf(value: string | undefined, index: number): string {
  return value === undefined ? `{"id":${index}}` : `{"id":${index},"v":${value}}`;
}

describe.skipIf(reason !== undefined)(`columns into mysql ${reason ?? ''}`, () => {
  beforeAll(async () => {
    database = await freshMariadb();
  });
  afterAll(() => database.drop());

  test.each(TYPES.map(([definition, type]) => ({ definition, type })))(
    'every value for $definition $type.kind',
    async ({ definition, type }) => {
      const lanes = await openLanes(definition, { type });
      const taken: (string | undefined)[] = [];
      const refused: string[] = [];
      for (const value of [...VALUES, undefined]) {
        const { isPassed, said } = await lanes.compare([lineOf(value, 1)]);
        if (isPassed) taken.push(value);
        else if (value !== undefined && (said as JsonObject)['written'] === undefined)
          refused.push(value);
      }
      // Half of them fit every column, and most fit a text.
      expect(taken.length).toBeGreaterThan(1);
      // Next to each other. The first line says which fields the columns are of.
      const many = [...taken, ...taken.toReversed(), ...taken];
      const together = await lanes.compare(many.map(lineOf));
      expect(together.isPassed).toBe(!(definition.includes('DEFAULT') && many.includes(undefined)));
      // Which record is refused.
      for (const value of refused.slice(0, 3))
        await lanes.compare([...taken, value, ...taken].map(lineOf));
      await lanes.close();
    },
    60_000,
  );

  test('a value that is rounded is counted, or ends the run, as the config says', async () => {
    const texts = ['"2024-02-29T07:08:09.5Z"', '"2024-02-29T07:08:09Z"', '"07:08:09.25"'];
    const cases = [
      ['DATETIME', texts],
      ['TIME', texts],
      ['DATE', texts],
      ['DECIMAL(12,2)', ['1.005', '1.5', '1e-7', '"1e-7"', '"1.10"', 'null', 'true']],
      ['FLOAT', ['16777217', '0.1', '1e-50', '"16777217.5"']],
      ['DOUBLE', ['"0.1000000000000000055"', '"1e-400"', '1.5', '9007199254740993']],
      ['INT', ['1.5', '"2.5"', '1e-3', '7']],
      ['VARCHAR(3)', ['"abc   "', '"ab \\u0020"', '"\u{1F600}  "', '"abc"']],
    ] as const;
    for (const policy of ['warn', 'error', undefined])
      for (const [definition, values] of cases) {
        const config: JsonObject = policy === undefined ? {} : { on_rounding: policy };
        const lanes = await openLanes(definition, { config });
        for (const value of values) await lanes.compare([lineOf(value, 1)]);
        await lanes.compare(values.map(lineOf));
        await lanes.close();
      }
  }, 60_000);

  test('fields without a column, in another case, and rows without any known field', async () => {
    const lanes = await openLanes('TEXT');
    const pages = [
      ['{"id":1,"v":"a","w":1}', '{"id":2,"v":"b","w":null}'],
      ['{"id":1,"V":"a"}', '{"id":2,"V":"b"}'],
      ['{"w":1}', '{"w":2}'],
      ['{"id":1,"w":1}', '{"id":null,"w":2}'],
      ['{"ID":1,"id":2,"v":"x"}'],
      ['{"id":"no number","v":"x"}', '{"id":1,"v":"y"}'],
      ['{"id":1,"v":"x"}', '7'],
    ];
    for (const lines of pages) await lanes.compare(lines);
    expect((await lanes.compare(pages[0] as string[])).isPassed).toBe(true);
    await lanes.close();
  });

  test('columns and their commit token are one transaction', async () => {
    await database.client.query(
      'DROP TABLE IF EXISTS t; CREATE TABLE t (id INT, v VARCHAR(3)) ENGINE = InnoDB',
    );
    const sink = await mysqlSink.open(configOf({ table_name: 't' }), testContext('/'));
    const { tokens } = sink;
    if (tokens === undefined) throw new Error('the sink has no tokens');
    const page = await pageOf(['{"id":1,"v":"a"}', '{"id":2,"v":"b"}']);
    const read = vi.spyOn(page, 'records');
    await tokens.write(page, 'scope', '1');
    expect(read).not.toHaveBeenCalled();
    expect(await tokens.last('scope')).toBe('1');
    const refused = await pageOf(['{"id":3,"v":"c"}', '{"id":4,"v":"long"}']);
    await expect(tokens.write(refused, 'scope', '2')).rejects.toMatchObject({ kind: 'data' });
    expect(await tokens.last('scope')).toBe('1');
    const [rows] = await database.client.query('SELECT id FROM t ORDER BY id');
    expect(rows).toEqual([{ id: 1 }, { id: 2 }]);
    await sink.close();
  });
});
