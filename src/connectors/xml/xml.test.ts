import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startHttpServer, type HttpServer } from '../../../test/fakes/http-server.ts';
import { issuesOf, runSource, type Run, type RunOptions } from '../../../test/fakes/run-source.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { xmlSource } from './index.ts';

let server: HttpServer;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
});

function run(config: JsonObject = {}, options: RunOptions = {}): Promise<Run> {
  return runSource(xmlSource, { base_url: server.url, path: '/x', ...config }, options);
}

const list = (...ids: readonly number[]) => ({
  body: `<list>${ids.map((id) => `<item><id>${id}</id></item>`).join('')}</list>`,
});
const ids = ({ records }: Run) => records.map((record) => (record as JsonObject)['id']);
const queries = () => server.requests.map(({ query }) => query.toString());
const warnings = ({ env }: Run) =>
  env.lines.filter(({ level }) => level === 'WARN').map(({ line }) => line);
const soapAnswer = (inner: string, version = '1.1') => ({
  headers: { 'content-type': version === '1.1' ? 'text/xml' : 'application/soap+xml' },
  body: `<S:Envelope xmlns:S="x"><S:Header/><S:Body>${inner}</S:Body></S:Envelope>`,
});

describe('records', () => {
  it('are the elements at the path, with attributes, texts, lists and prefixes', async () => {
    server.respond([
      {
        body: `<?xml version="1.0"?><a:shop xmlns:a="urn:a"><a:book id="1"><t>One &amp; only</t><p cur="EUR"> 9 <b/> 5 </p><k>x</k><k>y</k></a:book>
          <a:book id="2"><t><![CDATA[Two <2>]]></t><e/></a:book></a:shop>`,
      },
    ]);
    const { records } = await run({ records_element_path: 'shop.a:book' });
    expect(records).toEqual([
      {
        '@id': '1',
        t: 'One & only',
        p: { '@cur': 'EUR', '#text': '9 5', b: null },
        k: ['x', 'y'],
      },
      { '@id': '2', t: 'Two <2>', e: null },
    ]);
  });

  it('are the document as a whole without a path, and none where the path leads nowhere', async () => {
    server.respond([list(1)]);
    expect((await run()).records).toEqual([{ list: { item: { id: '1' } } }]);
    expect((await run({ records_element_path: 'list.other' })).records).toEqual([]);
  });

  it('are not none where the service tells of an error in place of the document', async () => {
    const path = { records_element_path: 'shop.books.book' };
    server.respond([{ body: '<a:Error xmlns:a="x"><Code>SlowDown</Code></a:Error>' }]);
    await expect(run(path)).rejects.toMatchObject({
      kind: 'data',
      message: `the answer of ${server.url}/x is \`a:Error\` and not \`shop\`: {"@xmlns:a":"x","Code":"SlowDown"}`,
    });
    server.respond([{ body: '<shop><error>no such key</error></shop>' }]);
    await expect(run(path)).rejects.toMatchObject({
      message: `the answer of ${server.url}/x has no \`shop.books\`, but \`error\`: no such key`,
    });
    const fine = ['', '<error/>', '<error nil="true"/>', '<errorCode>0</errorCode>'];
    for (const body of [...fine, '<error>none left</error><books/>'].map(
      (one) => `<shop>${one}</shop>`,
    )) {
      server.respond([{ body }]);
      expect((await run(path)).records).toEqual([]);
    }
    server.respond([soapAnswer('<m:Denied>no</m:Denied>')]);
    await expect(
      run({ records_element_path: 'Orders.Order', soap: { body_inner: '<o/>' } }),
    ).rejects.toThrow('is `m:Denied` and not `Orders`: no');
  });

  it.each([{ status: 204 }, { status: 200, body: '' }])(
    'are none in an answer without content: %j',
    async (answer) => {
      server.respond([answer]);
      const path = { records_element_path: 'list.item' };
      expect((await run(path)).records).toEqual([]);
      expect((await run({ ...path, soap: { body_inner: '<a/>' } })).records).toEqual([]);
      expect((await run({ decode: ['gunzip', { parse: { format: 'csv' } }] })).records).toEqual([]);
    },
  );

  it('have the types of `columns`, or those that their texts show', async () => {
    server.respond([list(1, 2)]);
    const path = { records_element_path: 'list.item' };
    expect(ids(await run({ ...path, columns: { id: 'int64' } }))).toEqual([1, 2]);
    expect(ids(await run({ ...path, infer_types: true }))).toEqual([1, 2]);
  });

  it('may be wrapped: steps take them out', async () => {
    const csv = gzipSync('id;v\n1;x\n').toString('base64');
    server.respond([{ body: `<r><n:data xmlns:n="u">${csv}</n:data></r>` }]);
    const { records } = await run({
      decode: [
        { extract: 'data' },
        'base64',
        'gunzip',
        { parse: { format: 'csv', delimiter: ';' } },
      ],
    });
    expect(records).toEqual([{ id: '1', v: 'x' }]);
  });
});

describe('pages', () => {
  it('by number end with a short one, or without a size with an empty one', async () => {
    const path = { records_element_path: 'list.item', query_params: { a: 1 } };
    server.respond([list(1, 2), list(3)]);
    const sized = { type: 'page_number', page_size: 2, page_size_param: 'size', start_page: 0 };
    expect(ids(await run({ ...path, pagination: sized }))).toEqual(['1', '2', '3']);
    expect(queries()).toEqual(['a=1&page=0&size=2', 'a=1&page=1&size=2']);
    server.respond([list(1), list(2), list()]);
    expect(ids(await run({ ...path, pagination: { type: 'PageNumber' } }))).toEqual(['1', '2']);
  });

  it.each(['none', { type: 'None' }, null])(
    'there is one with the style %j',
    async (pagination) => {
      server.respond([list(1, 2)]);
      expect(ids(await run({ records_element_path: 'list.item', pagination }))).toEqual(['1', '2']);
      expect(queries()).toHaveLength(1);
    },
  );

  it('by offset go on from what was read', async () => {
    server.respond([list(1, 2), list(3, 4), list()]);
    await run({ records_element_path: 'list.item', pagination: { type: 'Offset', limit: 2 } });
    expect(queries()).toEqual(['offset=0&limit=2', 'offset=2&limit=2', 'offset=4&limit=2']);
  });

  it.each<JsonObject>([
    { type: 'Offset', limit: 2 },
    { type: 'PageNumber', page_size: 2 },
    { type: 'PageNumber' },
  ])('end where the service does not page and gives the same again: %j', async (pagination) => {
    server.respond(() => list(1, 2));
    const result = await run({ records_element_path: 'list.item', pagination, max_pages: 9 });
    expect(ids(result)).toEqual(['1', '2']);
    expect(server.requests).toHaveLength(2);
    expect(warnings(result)).toEqual([expect.stringContaining('the same answer')]);
  });

  it('by a token in the body end where tokens go round in a circle', async () => {
    server.respond(({ body }) => ({
      body: `<list><item/><next>${body.includes('a') ? 'b' : 'a'}</next></list>`,
    }));
    const pagination = {
      type: 'BodyCursor',
      next_token_path: 'list.next',
      next_body: '<q>${next_token}</q>',
    };
    const body = { method: 'POST', body: '<q/>', max_pages: 9 };
    await run({ ...body, records_element_path: 'list.item', pagination });
    expect(server.requests.map(({ body: sent }) => sent)).toEqual(['<q/>', '<q>a</q>', '<q>b</q>']);
  });

  it('by a token in the body end without one or with the same, and write it as XML', async () => {
    const page = (id: number, token: string) => ({
      body: `<list><item><id>${id}</id></item>${token}</list>`,
    });
    for (const last of ['', '<next/>', '<next>a&lt;b</next>']) {
      server.requests.length = 0;
      server.respond([page(1, '<next>a&lt;b</next>'), page(2, last)]);
      const { records } = await run({
        method: 'post',
        body: '<q/>',
        records_element_path: 'list.item',
        pagination: {
          type: 'BodyCursor',
          next_token_path: 'list.next',
          next_body: '<q from="${next_token}"/>',
        },
      });
      expect(records).toHaveLength(2);
      expect(server.requests.map(({ body }) => body)).toEqual(['<q/>', '<q from="a&lt;b"/>']);
    }
  });

  it('that the service has named have to be there; behind the last of others may be anything', async () => {
    const path = { records_element_path: 'list.item' };
    const failed = { body: '<error>try again later</error>' };
    const page = { body: '<list><next>a</next><item><id>1</id></item></list>' };
    server.respond([page, failed]);
    const cursor = { type: 'BodyCursor', next_token_path: 'list.next', next_body: '<q/>' };
    await expect(
      run({ ...path, method: 'POST', body: '<q/>', pagination: cursor }),
    ).rejects.toThrow('is `error` and not `list`: try again later');
    server.respond([page, failed]);
    const read = await run({ ...path, pagination: { type: 'PageNumber' } });
    expect(ids(read)).toEqual(['1']);
    expect(warnings(read).join()).toContain('an answer has no place for records');
  });

  it('end after `max_pages`, with a warning', async () => {
    server.respond([list(1, 2), list(3, 4), list(5, 6)]);
    const result = await run({
      records_element_path: 'list.item',
      pagination: { type: 'Offset', limit: 2 },
      max_pages: 2,
    });
    expect(result.records).toHaveLength(4);
    expect(warnings(result)).toEqual([expect.stringContaining('max_pages')]);
  });
});

describe('SOAP', () => {
  const path = { records_element_path: 'list.item' };
  const inner = '<item><id>1</id></item>';

  it('1.1 sends an envelope with the action in a header, and reads below the body', async () => {
    server.respond([soapAnswer(`<m:list xmlns:m="u">${inner}</m:list>`)]);
    const soap = { action: 'urn:list', body_inner: '<m:list/>', namespaces: { m: 'urn:"m"' } };
    expect(ids(await run({ ...path, soap }))).toEqual(['1']);
    const [request] = server.requests;
    expect(request?.method).toBe('POST');
    expect(request?.headers).toMatchObject({
      'content-type': 'text/xml; charset=utf-8',
      soapaction: '"urn:list"',
    });
    expect(request?.body).toBe(
      '<?xml version="1.0" encoding="UTF-8"?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" xmlns:m="urn:&quot;m&quot;"><soap:Body><m:list/></soap:Body></soap:Envelope>',
    );
  });

  it('1.2 names the action in the content type; a whole envelope is sent as it is', async () => {
    server.respond([soapAnswer(`<list>${inner}</list>`, '1.2')]);
    const soap = { version: 1.2, action: 'urn:list' };
    expect(ids(await run({ ...path, soap, body: '<own/>' }))).toEqual(['1']);
    expect(server.requests[0]?.headers).toMatchObject({
      'content-type': 'application/soap+xml; charset=utf-8; action="urn:list"',
    });
    expect(server.requests[0]?.headers).not.toHaveProperty('soapaction');
    expect(server.requests[0]?.body).toBe('<own/>');
  });

  it('reads from the root where it is told to', async () => {
    server.respond([soapAnswer(inner)]);
    const soap = { body_inner: '<a/>', path_relative_to_body: false };
    expect(ids(await run({ soap, records_element_path: 'Envelope.Body.item' }))).toEqual(['1']);
  });

  it.each([
    ['<S:Fault><faultcode>S:Client</faultcode><faultstring>no day</faultstring></S:Fault>', 200],
    ['<S:Fault><S:Reason><S:Text xml:lang="en">no day</S:Text></S:Reason></S:Fault>', 500],
    ['<S:Fault><S:Reason><S:Text xml:lang="de">no day</S:Text></S:Reason></S:Fault>', 400],
  ])('a Fault ends the run with its words, and is sent once: %s', async (fault, status) => {
    server.respond([{ ...soapAnswer(fault), status }]);
    await expect(run({ ...path, soap: { body_inner: '<a/>' } })).rejects.toThrow(/Fault: no day/);
    expect(server.requests).toHaveLength(1);
    const lenient = { body_inner: '<a/>', fault_as_error: false };
    expect((await run({ ...path, soap: lenient })).records).toEqual([]);
  });

  it('a failure that is no Fault is one, and is tried again when it is not of SOAP', async () => {
    const soap = { body_inner: '<a/>' };
    server.respond([{ ...soapAnswer('<list/>'), status: 500 }]);
    await expect(run({ ...path, soap })).rejects.toMatchObject({ kind: 'http_5xx', status: 500 });
    server.respond([{ ...soapAnswer('<list/>'), status: 400 }]);
    await expect(run({ ...path, soap })).rejects.toMatchObject({
      kind: 'refused',
      status: 400,
      message: expect.stringContaining('<list/>') as string,
    });
    server.requests.length = 0;
    server.respond([{ status: 500 }, soapAnswer(`<list>${inner}</list>`)]);
    expect(ids(await run({ ...path, soap }))).toEqual(['1']);
    expect(server.requests).toHaveLength(2);
  });
});

it('what does not go together does not load', () => {
  const at = (config: JsonObject) =>
    issuesOf(xmlSource, { base_url: 'https://x.test', path: '', ...config }).map(
      ({ path }) => path,
    );
  expect(at({})).toEqual([]);
  expect(at({ soap: { body_inner: '<a/>' } })).toEqual([]);
  expect(at({ soap: { body_inner: '<a/>' }, method: 'GET' })).toEqual(['method']);
  expect(at({ body: '<a/>' })).toEqual(['method']);
  expect(at({ soap: { body_inner: '<a/>' }, body: '<a/>' })).toEqual(['soap.body_inner']);
  expect(at({ soap: {} })).toEqual(['soap.body_inner']);
  expect(at({ soap: { body_inner: '<a/>', namespaces: { soap: 'u' } } })).toEqual([
    'soap.namespaces.soap',
  ]);
  expect(at({ decode: ['gunzip'], pagination: { type: 'PageNumber' } })).toEqual(['decode']);
  expect(at({ decode: ['gunzip'], records_element_path: 'a' })).toEqual(['records_element_path']);
  expect(at({ pagination: { type: 'PageNumber', page_size_param: 's' } })).toEqual([
    'pagination.page_size',
  ]);
});
