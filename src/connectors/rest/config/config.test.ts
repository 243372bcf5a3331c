import { describe, expect, it } from 'vitest';
import { check } from '../../../kit/schema.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { restSource } from '../index.ts';
import { issuesOf } from '../../../../test/fakes/rest-source.ts';

const base = { base_url: 'https://api.example.com' };

function parsed(config: JsonObject): unknown {
  const checked = check(restSource.config, { ...base, ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

describe('tolerated spellings', () => {
  it('read the name of a pagination style in any case and style, bare or nested', () => {
    for (const pagination of ['none', 'None', { type: 'none' }, null])
      expect(parsed({ pagination })).toMatchObject({ pagination: { type: 'None' } });
    expect(
      parsed({ pagination: { type: 'page_number', config: { param_name: 'p' } } }),
    ).toMatchObject({
      pagination: { type: 'PageNumber', param_name: 'p' },
    });
    expect(parsed({ pagination: { type: 'LINK-HEADER' } })).toMatchObject({
      pagination: { type: 'LinkHeader' },
    });
    expect(parsed({ pagination: { type: 'offset', limit: '50' } })).toMatchObject({
      pagination: { type: 'Offset', limit: 50 },
    });
  });

  it('read the login that is none, with its kind alone', () => {
    expect(parsed({ auth: 'none' })).toMatchObject({ auth: { type: 'none', config: {} } });
    expect(issuesOf({ ...base, auth: 'bearer' })).toMatchObject([{ path: 'auth' }]);
  });

  it('read other names of fields, once', () => {
    const requests = [{ region: 'n' }];
    expect(parsed({ requests, request_concurrency: 4 })).toMatchObject({
      partitions: requests,
      partition_concurrency: 4,
    });
    expect(issuesOf({ ...base, request_concurrency: 4, partition_concurrency: 2 })).toEqual([
      expect.objectContaining({ code: 'unknown_key', path: 'request_concurrency' }),
    ]);
  });

  it('read the replication method bare and in any case', () => {
    for (const replication_method of ['incremental', 'Incremental', { type: 'INCREMENTAL' }]) {
      expect(parsed({ replication_method, replication_key: 'at' })).toMatchObject({
        replication_method: { type: 'Incremental' },
      });
    }
    expect(parsed({ replication_method: 'full_table' })).toMatchObject({
      replication_method: { type: 'FullTable' },
    });
  });

  it('take null for absent, and 4294967295 pages for no limit', () => {
    expect(parsed({ max_pages: null, body: null, headers: null, max_retries: null })).toMatchObject(
      { headers: {}, max_retries: 3 },
    );
    expect(parsed({ max_pages: 4294967295 })).toMatchObject({ max_pages: 4294967295 });
  });

  it('take numbers and booleans as the text of query parameters and headers', () => {
    expect(parsed({ query_params: { limit: 5, all: true }, headers: { 'X-N': 1 } })).toMatchObject({
      query_params: { limit: '5', all: 'true' },
      headers: { 'X-N': '1' },
    });
  });

  it('start a path at the root also without `$`', () => {
    expect(parsed({ records_path: 'data.items[*]' })).toMatchObject({
      records_path: '$.data.items[*]',
    });
  });

  it('accept what only describes the data', () => {
    const config = {
      name: 'orders',
      primary_keys: ['id'],
      schema: { type: 'object' },
      schema_sample_size: 0,
      discovery: { any: 1 },
    };
    expect(parsed(config)).toMatchObject(config);
  });
});

describe('refusals', () => {
  const cases: readonly [
    what: string,
    config: JsonObject,
    issue: { code: string; path: string; hint?: unknown },
  ][] = [
    ['another name of base_url', { endpoint: 'x' }, { code: 'unknown_key', path: 'endpoint' }],
    [
      'an unknown pagination style',
      { pagination: { type: 'Cursr' } },
      { code: 'invalid_value', path: 'pagination.type' },
    ],
    [
      'a field of another style',
      { pagination: { type: 'Cursor', next_token_path: '$.n', param_nam: 'a' } },
      { code: 'unknown_key', path: 'pagination.param_nam' },
    ],
    [
      'a path that is none',
      { records_path: '$.a[' },
      { code: 'invalid_value', path: 'records_path' },
    ],
    [
      'an address of another kind',
      { base_url: 'ftp://x' },
      { code: 'invalid_value', path: 'base_url' },
    ],
    ['no address', { base_url: '' }, { code: 'missing_key', path: 'base_url' }],
    [
      'a header that would end the request',
      { headers: { A: 'x\r\ny' } },
      { code: 'invalid_value', path: 'headers.A' },
    ],
    [
      'a name that is no header',
      { headers: { 'a b': 'x' } },
      { code: 'invalid_value', path: 'headers["a b"]' },
    ],
    [
      'paging of a file',
      { response_format: 'csv', pagination: 'LinkHeader' },
      { code: 'invalid_value', path: 'pagination' },
    ],
    [
      'a records path of a file',
      { response_format: 'excel', records_path: '$.a' },
      { code: 'invalid_value', path: 'records_path' },
    ],
    [
      'a step that is no path',
      { decode: [{ extract: '$.[' }] },
      { code: 'invalid_value', path: 'decode[0].extract' },
    ],
    [
      'a step after parse',
      { decode: [{ parse: { format: 'json' } }, 'gunzip'] },
      { code: 'invalid_value', path: 'decode[0]' },
    ],
    [
      'incremental without a key',
      { replication_method: 'incremental' },
      { code: 'missing_key', path: 'replication_key' },
    ],
    [
      'a bind without incremental',
      { replication_bind: { name: 'since' } },
      { code: 'invalid_value', path: 'replication_bind' },
    ],
    [
      'a template without its token',
      {
        replication_method: 'incremental',
        replication_key: 'a',
        replication_bind: { name: 's', template: 'x' },
      },
      { code: 'invalid_value', path: 'replication_bind.template' },
    ],
    [
      'a window without a start',
      {
        replication_method: 'incremental',
        replication_key: 'a',
        window: { step: '1d', lower: { name: 'f' }, upper: { name: 't' } },
      },
      { code: 'missing_key', path: 'start_replication_value' },
    ],
    [
      'a body of a GET',
      { body: { a: 1 } },
      { code: 'invalid_value', path: 'body', hint: 'set `method: POST`' },
    ],
    [
      'a method that does not exist',
      { method: 'FETCH' },
      { code: 'invalid_value', path: 'method' },
    ],
    [
      'a kept cursor without one',
      { persist_cursor: true },
      { code: 'invalid_value', path: 'persist_cursor' },
    ],
    [
      'a shared login beside one in place',
      { auth: { ref: 'crm', type: 'bearer', config: { token: 'abcd' } } },
      {
        code: 'invalid_value',
        path: 'auth',
        hint: expect.stringContaining('remove `type`, `config`'),
      },
    ],
    [
      'a login without its token',
      { auth: { type: 'bearer', config: {} } },
      { code: 'missing_key', path: 'auth.config.token' },
    ],
    [
      'an unknown login',
      { auth: { type: 'berer', config: {} } },
      { code: 'invalid_value', path: 'auth.type' },
    ],
    [
      'half a certificate',
      { tls: { client_cert: 'a.pem' } },
      { code: 'missing_key', path: 'tls.client_key' },
    ],
    [
      'a rule that matches everything',
      { retry_on_response: [{}] },
      { code: 'missing_key', path: 'retry_on_response[0]' },
    ],
  ];

  it.each(cases)('of %s name the place', (_what, config, issue) => {
    expect(issuesOf({ ...base, ...config })).toContainEqual(expect.objectContaining(issue));
  });
});

describe('the data set', () => {
  const uri = (config: JsonObject): string =>
    restSource.datasetUri(restSource.config.parse({ ...base, ...config }));

  it('is the address without login and query', () => {
    expect(
      uri({ base_url: 'https://u:p@api.example.com/v1/?key=abcd', path: '/items?token=x' }),
    ).toBe('https://api.example.com/v1/items');
  });

  it('keeps placeholders readable', () => {
    expect(uri({ path: '/users/{id}' })).toBe('https://api.example.com/users/{id}');
  });
});
