import { gzipSync } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sourceContext } from '../../../../test/fakes/env.ts';
import { startHttpServer, type HttpServer } from '../../../../test/fakes/http-server.ts';
import { check } from '../../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { RECORDS_LANE, type Page } from '../../../kit/page.ts';
import type { RestConfig } from '../config/config.ts';
import { restSource } from '../index.ts';
import { run } from '../../../../test/fakes/rest-source.ts';

let server: HttpServer;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
});

const base = (): JsonObject => ({ base_url: server.url });
const CSV = 'id;name\n1;"Ann; Bo"\n2;\n';

const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';

function workbook(): Uint8Array {
  const relation = (id: string, type: string, target: string): string =>
    `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`;
  return zipSync({
    'xl/workbook.xml': strToU8(
      `<workbook ${MAIN} xmlns:r="${RELATIONS}"><sheets><sheet name="Intro" sheetId="1" r:id="r1"/><sheet name="Data" sheetId="2" r:id="r2"/></sheets></workbook>`,
    ),
    'xl/_rels/workbook.xml.rels': strToU8(
      `<Relationships>${relation('r1', 'worksheet', 'worksheets/one.xml')}${relation('r2', 'worksheet', 'worksheets/two.xml')}` +
        `${relation('r3', 'sharedStrings', 'sharedStrings.xml')}${relation('r4', 'styles', 'styles.xml')}</Relationships>`,
    ),
    'xl/sharedStrings.xml': strToU8(
      `<sst ${MAIN}><si><t>id</t></si><si><t>na</t></si><si><r><t>A</t></r><r><t>nn &amp; co</t></r></si></sst>`,
    ),
    'xl/styles.xml': strToU8(
      `<styleSheet ${MAIN}><cellXfs><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>`,
    ),
    'xl/worksheets/one.xml': strToU8(
      `<worksheet ${MAIN}><dimension ref="A1"/><sheetData/></worksheet>`,
    ),
    'xl/worksheets/two.xml': strToU8(
      `<worksheet ${MAIN}><dimension ref="A1:D5"/><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>a title</t></is></c></row>` +
        '<row r="2"><c r="A2" t="s"><v>0</v></c><c r="B2" t="s"><v>1</v></c><c r="C2" t="inlineStr"><is><t>on</t></is></c><c r="D2" t="inlineStr"><is><t>ok</t></is></c></row>' +
        '<row r="4"><c r="A4"><v>1.5</v></c><c r="B4" t="s"><v>2</v></c><c r="C4" s="1"><v>45292</v></c><c r="D4" t="b"><v>1</v></c></row>' +
        '<row r="5"><c r="A5"><v>2</v></c><c r="C5" s="1"><v>45292.75</v></c></row></sheetData></worksheet>',
    ),
  });
}

const SHEET = [
  { id: null, na: null, on: null, ok: null },
  { id: 1.5, na: 'Ann & co', on: '2024-01-01T00:00:00.000Z', ok: true },
  { id: 2, na: null, on: '2024-01-01T18:00:00.000Z', ok: null },
];

describe('files as answers', () => {
  it('reads CSV cells as text', async () => {
    server.respond([{ body: CSV }]);
    const { records } = await run({
      ...base(),
      response_format: 'csv',
      csv_delimiter: ';',
      csv_null_values: [''],
    });
    expect(records).toEqual([
      { id: '1', name: 'Ann; Bo' },
      { id: '2', name: null },
    ]);
  });

  it('makes values of the types that `columns` declares', async () => {
    server.respond([{ body: 'id;price\n1;1.10\n2;\n' }, { body: '[{"id":1,"price":"x"}]' }]);
    const columns = { id: 'int64', price: 'decimal(5, 2)' };
    const csv = { ...base(), response_format: 'csv', csv_delimiter: ';', columns };
    expect((await run(csv)).records).toEqual([
      { id: 1, price: '1.10' },
      { id: 2, price: null },
    ]);
    await expect(run({ ...base(), columns })).rejects.toThrow('`price` in record 1 of');
  });

  it('gives records aside of which a value does not fit its type', async () => {
    const answer = { body: '[{"id":1},{"id":"x"},{"id":3}]' };
    server.respond([answer, answer]);
    const config = { ...base(), columns: { id: 'int64' }, on_error: 'dlq' };
    const checked = check<RestConfig>(restSource.config, config);
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    expect(restSource.quarantines?.(checked.value)).toBe(true);
    const source = await restSource.open(checked.value, sourceContext());
    const pages: Page[] = [];
    for await (const page of source.pages({ lane: RECORDS_LANE, rejects: true })) pages.push(page);
    await source.close();
    expect(pages.flatMap((page) => page.records())).toEqual([{ id: 1 }, { id: 3 }]);
    expect(pages.flatMap(({ rejected }) => rejected)).toMatchObject([
      { payload: { id: 'x' }, index: 1, message: expect.stringContaining('`id` in record 2') },
    ]);
    // Where nobody takes them, the run fails as before.
    await expect(run(config)).rejects.toThrow('`id` in record 2');
    const without = check(restSource.config, { ...base(), on_error: 'dlq' });
    expect(without.ok ? [] : without.issues.map(({ path }) => path)).toEqual(['on_error']);
  });

  it('infers types of cells and of values', async () => {
    server.respond([
      { body: 'id;zip\n1;01\n2;\n' },
      { body: '[{"id":1,"at":"2024-02-29"},{"id":"2"}]' },
    ]);
    const csv = { ...base(), response_format: 'csv', csv_delimiter: ';', infer_types: true };
    expect((await run(csv)).records).toEqual([
      { id: 1, zip: '01' },
      { id: 2, zip: '' },
    ]);
    expect((await run({ ...base(), infer_types: true })).records).toEqual([
      { id: 1, at: '2024-02-29' },
      { id: '2' },
    ]);
  });

  it('names the columns of CSV without headers by position', async () => {
    server.respond([{ body: '1,x\n' }]);
    expect(
      (await run({ ...base(), response_format: 'csv', csv_has_headers: false })).records,
    ).toEqual([{ column_0: '1', column_1: 'x' }]);
  });

  it('reads JSON lines', async () => {
    server.respond([{ body: '{"a":1}\n\n{"a":2}' }]);
    expect((await run({ ...base(), response_format: 'jsonl' })).records).toEqual([
      { a: 1 },
      { a: 2 },
    ]);
  });

  it('reads an Excel sheet by name or index, with dates, shared texts and gaps', async () => {
    server.respond([{ body: workbook() }]);
    for (const excel_sheet of ['Data', '1', 1]) {
      expect(
        (await run({ ...base(), response_format: 'excel', excel_sheet, excel_header_row: 1 }))
          .records,
      ).toEqual(SHEET);
    }
    await expect(
      run({ ...base(), response_format: 'excel', excel_sheet: 'Other' }),
    ).rejects.toMatchObject({
      kind: 'missing',
      hint: 'its sheets are: Intro, Data',
    });
  });

  it('fails, and does not repeat, when a stream breaks off in the middle', async () => {
    server.respond([{ body: 'a\n1\n', breaks: true }]);
    await expect(run({ ...base(), response_format: 'csv' })).rejects.toMatchObject({
      kind: 'connection',
    });
    expect(server.requests).toHaveLength(1);
  });
});

describe('secrets', () => {
  it('in plain headers and parameters do not show when the answer repeats them', async () => {
    server.respond([{ status: 400, body: 'no hunter2-header, no hunter2-param' }]);
    const config = {
      ...base(),
      headers: { 'X-Api-Key': 'hunter2-header' },
      query_params: { token: 'hunter2-param' },
    };
    await expect(run(config)).rejects.toThrow(/token=\*\*\* answers 400: no \*\*\*, no \*\*\*/);
  });
});

describe('decode', () => {
  it('takes a zipped and encoded report apart step by step', async () => {
    const report = Buffer.from(gzipSync(CSV)).toString('base64');
    server.respond([{ json: { result: { data: report } } }]);
    const decode: JsonValue = [
      { extract: '$.result.data' },
      'base64',
      'gunzip',
      { parse: { format: 'csv', delimiter: ';' } },
    ];
    expect((await run({ ...base(), decode })).records).toEqual([
      { id: '1', name: 'Ann; Bo' },
      { id: '2', name: '' },
    ]);
  });

  it('chooses a member of an archive', async () => {
    server.respond([
      {
        body: zipSync({ 'read.me': strToU8('x'), 'out/data.json': strToU8('{"rows":[{"a":1}]}') }),
      },
    ]);
    const parse = { parse: { format: 'json', records_path: '$.rows' } };
    expect(
      (await run({ ...base(), decode: [{ unzip: { member: '*.json' } }, parse] })).records,
    ).toEqual([{ a: 1 }]);
    await expect(
      run({ ...base(), decode: [{ unzip: { member: '*.csv' } }, parse] }),
    ).rejects.toMatchObject({
      message: expect.stringContaining('holds no file called `*.csv`') as string,
      hint: 'it contains: read.me, out/data.json',
    });
  });

  it('reads XML elements wherever the path starts, whatever their prefix', async () => {
    server.respond([
      {
        body: '<s:Envelope xmlns:s="s"><s:Body><m:item id="1">a<![CDATA[<b>]]></m:item><m:item/></s:Body></s:Envelope>',
      },
    ]);
    expect(
      (await run({ ...base(), decode: [{ parse: { format: 'xml', records_path: 'Body.item' } }] }))
        .records,
    ).toEqual([{ '@id': '1', '#text': 'a<b>' }, null]);
  });

  it('reads a workbook', async () => {
    server.respond([{ body: workbook() }]);
    expect(
      (
        await run({
          ...base(),
          decode: [{ parse: { format: 'xlsx', sheet: 'Data', header_row: 1 } }],
        })
      ).records,
    ).toEqual(SHEET);
  });

  it('names what is wrong with bytes it cannot read', async () => {
    server.respond([{ body: 'plain' }]);
    await expect(run({ ...base(), decode: ['gunzip'] })).rejects.toThrow(/is not valid gzip data/);
    await expect(run({ ...base(), decode: ['unzip'] })).rejects.toThrow(
      /is not a valid ZIP archive/,
    );
    await expect(run({ ...base(), decode: [{ extract: '$.a' }] })).rejects.toThrow(/is not JSON/);
    await expect(run({ ...base(), decode: [{ parse: { format: 'xml' } }] })).rejects.toThrow(
      /is not well-formed XML/,
    );
  });
});

describe('jobs', () => {
  const job = (fetch: JsonObject = { url: '/jobs/${job_id}/result' }): JsonObject => ({
    ...base(),
    headers: { 'X-Team': 'north' },
    async_job: {
      submit: { url: '/jobs', method: 'POST', json: { report: 'sales' } },
      job_id: '$.id',
      poll: { url: '/jobs/${job_id}', interval_secs: 2, timeout_secs: 10 },
      status: { path: '$.state', success: ['DONE'], failure: ['FAILED'] },
      fetch,
    },
  });

  function script(states: readonly string[]): void {
    let polls = 0;
    server.respond(({ path, headers }) => {
      if (path === '/jobs') return { json: { id: 'j/1' } };
      if (path === '/jobs/j%2F1/result' || path === '/files/1.csv')
        return { body: headers['x-team'] === 'north' ? 'a\n1\n' : 'team\nnone\n' };
      polls += 1;
      return { json: { state: states[polls - 1] ?? 'RUNNING', file: '/files/1.csv' } };
    });
  }

  it('are started, waited for, and their result is read', async () => {
    script(['RUNNING', 'RUNNING', 'DONE']);
    const { records, waits } = await run({ ...job(), response_format: 'csv' });
    expect(records).toEqual([{ a: '1' }]);
    expect(waits).toEqual([2000, 2000]);
    expect(server.requests[0]?.json()).toEqual({ report: 'sales' });
  });

  it('may tell the address of their result', async () => {
    script(['DONE']);
    expect(
      (await run({ ...job({ url_from: '$.file' }), decode: [{ parse: { format: 'csv' } }] }))
        .records,
    ).toEqual([{ a: '1' }]);
    expect(server.requests.at(-1)?.path).toBe('/files/1.csv');
  });

  it('fail the run when they fail or never end', async () => {
    script(['FAILED']);
    await expect(run(job())).rejects.toMatchObject({
      kind: 'data',
      message: 'the job j/1 ended as `FAILED`',
    });
    script([]);
    await expect(run(job())).rejects.toMatchObject({
      kind: 'timeout',
      message: expect.stringContaining('within 10 s: it is `RUNNING`') as string,
    });
  });
});

describe('OData', () => {
  const odata = { entity: 'Orders', select: ['Id', 'Total'], filter: 'Total gt 10', page_size: 2 };

  it('derives address, query options, records and paging', async () => {
    server.respond(({ query }) => ({
      json: query.has('$skiptoken')
        ? { value: [{ Id: 3 }] }
        : {
            value: [{ Id: 1, '@odata.etag': 'x' }, { Id: 2 }],
            '@odata.nextLink': 'Orders?$skiptoken=2',
          },
    }));
    const { records } = await run({ ...base(), path: 'v4', odata, drop_key_prefixes: ['@odata.'] });
    expect(records).toEqual([{ Id: 1 }, { Id: 2 }, { Id: 3 }]);
    const [first, second] = server.requests;
    expect(first?.path).toBe('/v4/Orders');
    expect(Object.fromEntries(first?.query ?? [])).toEqual({
      $select: 'Id,Total',
      $filter: 'Total gt 10',
    });
    expect(first?.headers['prefer']).toBe('odata.maxpagesize=2');
    expect(second?.path).toBe('/v4/Orders');
  });

  it('adds the bookmark to a filter that is already there', async () => {
    server.respond([{ json: { value: [] } }]);
    await run({
      ...base(),
      odata,
      replication_method: 'Incremental',
      replication_key: 'Changed',
      start_replication_value: '2026-01-01T00:00:00Z',
      replication_bind: { name: '$filter', template: 'Changed gt ${bookmark}' },
    });
    expect(server.requests[0]?.query.get('$filter')).toBe(
      '(Total gt 10) and (Changed gt 2026-01-01T00:00:00Z)',
    );
  });

  it('finds the entity sets of a service', async () => {
    server.respond([
      {
        body:
          '<edmx:Edmx xmlns:edmx="e"><edmx:DataServices><Schema><EntityType Name="Order"><Property Name="Id" Type="Edm.Int64"/><Property Name="At" Type="Edm.DateTimeOffset"/></EntityType>' +
          '<EntityContainer><EntitySet Name="Orders" EntityType="NS.Order"/></EntityContainer></Schema></edmx:DataServices></edmx:Edmx>',
      },
    ]);
    const checked = check(restSource.config, { ...base(), path: 'v4', odata: {} });
    expect(checked.ok && (await restSource.discover?.(checked.value, sourceContext()))).toEqual([
      {
        name: 'Orders',
        kind: 'entity_set',
        schema: { type: 'object', properties: { Id: { type: 'integer' }, At: { type: 'string' } } },
        config_patch: { odata: { entity: 'Orders' } },
      },
    ]);
    expect(server.requests[0]?.path).toBe('/v4/$metadata');
  });
});

describe('records', () => {
  it('are the elements of a list, or one record for anything else', async () => {
    server.respond([{ json: [1, 'a', null] }, { json: { a: 1 } }]);
    expect((await run(base())).records).toEqual([1, 'a', null]);
    expect((await run(base())).records).toEqual([{ a: 1 }]);
  });

  it('are every match of a path, also of one with a filter', async () => {
    server.respond([{ json: { a: [{ b: [{ n: 1 }, { n: 2 }] }, { b: [{ n: 3 }] }], n: 9 } }]);
    expect((await run({ ...base(), records_path: '$.a[*].b[*]' })).records).toEqual([
      { n: 1 },
      { n: 2 },
      { n: 3 },
    ]);
    expect((await run({ ...base(), records_path: '$.a[*].b[?@.n > 1]' })).records).toEqual([
      { n: 2 },
      { n: 3 },
    ]);
    expect((await run({ ...base(), records_path: '$.missing[*]' })).records).toEqual([]);
  });

  it('come from several lists, each marked', async () => {
    server.respond([{ json: { added: [{ id: 1 }], removed: [{ id: 2 }] } }]);
    const records_multi = [
      { path: '$.added[*]', op: 'c' },
      { path: '$.removed', op: 'd' },
    ];
    expect((await run({ ...base(), records_multi })).records).toEqual([
      { id: 1, _op: 'c' },
      { id: 2, _op: 'd' },
    ]);
  });

  it('take fields of the objects around them', async () => {
    server.respond([{ json: { shop: 's', orders: [{ id: 7, lines: [{ n: 1 }, { n: 2 }] }] } }]);
    const record_ancestors: JsonValue = [
      { field: 'id', as: 'order_id' },
      { field: 'shop', up: 2 },
      { field: 'none', up: 3 },
    ];
    expect(
      (await run({ ...base(), records_path: '$.orders[*].lines[*]', record_ancestors })).records,
    ).toEqual([
      { n: 1, order_id: 7, shop: 's', none: null },
      { n: 2, order_id: 7, shop: 's', none: null },
    ]);
    expect(
      (
        await run({
          ...base(),
          records_path: '$.orders[0].lines',
          record_ancestors: [{ field: 'id' }],
        })
      ).records,
    ).toEqual([
      { n: 1, id: 7 },
      { n: 2, id: 7 },
    ]);
  });

  it('keep integers beyond 2^53', async () => {
    server.respond([{ body: '[{"id": 12345678901234567890}]' }]);
    expect((await run(base())).records).toEqual([{ id: 12345678901234567890n }]);
  });
});
