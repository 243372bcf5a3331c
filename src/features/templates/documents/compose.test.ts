import { describe, expect, it } from 'vitest';
import { ConfigError, formatIssue } from '../../../lib/errors.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { parts } from '../../../parts.ts';
import { compose, type Composed } from './compose.ts';
import { lint } from './lint.ts';
import { templateOfTree, type DocumentOf, type TemplateDocument } from './read.ts';

const SOURCE: JsonObject = {
  kind: 'source-template',
  name: 'billing',
  owner: 'acme',
  description: 'Exports of the billing system.',
  params: { folder: { required: true } },
  source: { type: 'csv', config: { path: '${param.folder}/${row.id}.csv' } },
  transforms: [{ type: 'drop', config: { fields: ['note'] } }],
  streams: [
    { name: 'invoices', primary_keys: ['id'], write: ['upsert', 'append'] },
    { name: 'events', source: { config: { path: 'events.csv' } }, inherit_transforms: false },
  ],
};
const SINK: JsonObject = {
  kind: 'sink-template',
  name: 'warehouse',
  description: 'The warehouse.',
  params: { url: { required: true, secret: true } },
  sink: { type: 'postgres', config: { connection_url: '${param.url}' } },
  per_stream: { table: '${owner}_${source}_${stream}' },
};

function read<K extends TemplateDocument['kind']>(kind: K, tree: JsonObject): DocumentOf<K> {
  const document = templateOfTree(tree);
  if (document.kind !== kind) throw new Error(`cannot happen: a ${document.kind}`);
  return document as DocumentOf<K>;
}

function composed(source: JsonObject, sink: JsonObject, overlay?: JsonObject): Composed {
  return compose(
    {
      source: read('source-template', source),
      sink: read('sink-template', sink),
      ...(overlay === undefined ? {} : { overlay: { document: read('deployment', overlay) } }),
    },
    parts,
  );
}

function faults(act: () => unknown): string[] {
  try {
    act();
  } catch (error) {
    if (error instanceof ConfigError) return error.issues.map(formatIssue);
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('composition', () => {
  it('makes a row of each stream, with the write mode and key that suit it', () => {
    const { document, streams } = composed(SOURCE, SINK);
    expect(document).toEqual({
      version: 1,
      name: 'acme/billing',
      params: { folder: { required: true }, url: { required: true, secret: true } },
      auth: {},
      pipeline: {
        sources: { default: { type: 'csv', config: { path: '${param.folder}/${row.id}.csv' } } },
        sinks: { default: { type: 'postgres', config: { connection_url: '${param.url}' } } },
        transforms: [{ type: 'drop', config: { fields: ['note'] } }],
      },
      matrix: [
        {
          id: 'invoices',
          source: { ref: 'default' },
          sink: {
            ref: 'default',
            config: { table: 'acme_billing_invoices', write_mode: 'upsert', key: ['id'] },
          },
        },
        {
          id: 'events',
          inherit_transforms: false,
          source: { ref: 'default', config: { path: 'events.csv' } },
          sink: { ref: 'default', config: { table: 'acme_billing_events', write_mode: 'append' } },
        },
      ],
    });
    expect(streams).toEqual([
      { stream: 'invoices', requested: ['upsert', 'append'], chosen: 'upsert', key: ['id'] },
      { stream: 'events', requested: ['append'], chosen: 'append', key: [] },
    ]);
  });

  const FILES: JsonObject = {
    ...SINK,
    name: 'lines',
    params: {},
    sink: { type: 'http', config: { url: 'https://example.com/' } },
    per_stream: { headers: { 'x-stream': '${stream}' } },
  };
  const one = (stream: JsonObject): JsonObject => ({
    ...SOURCE,
    streams: [{ name: 's', ...stream }],
  });

  it('an alias stands in for a mode that the sink lacks, and comes before a later native one', () => {
    const aliased = { ...FILES, write_mode_aliases: { overwrite: 'append' } };
    const { streams, document } = composed(one({ write: ['overwrite', 'append'] }), aliased);
    expect(streams).toEqual([
      {
        stream: 's',
        requested: ['overwrite', 'append'],
        chosen: 'append',
        satisfies: 'overwrite',
        key: [],
      },
    ]);
    // The kind has one mode only.
    expect(JSON.stringify(document['matrix'])).not.toContain('write_mode');
  });

  it('tells every stream that does not fit, with what both sides can', () => {
    const told = faults(() =>
      composed(
        {
          ...SOURCE,
          streams: [
            { name: 'a', write: 'overwrite' },
            { name: 'b', write: ['append', 'upsert'] },
            { name: 'c' },
          ],
        },
        FILES,
      ),
    );
    expect(told).toHaveLength(2);
    expect(told[0]).toMatch(/streams\.a: it can be written as overwrite; `http` has append/);
    expect(told[1]).toMatch(/streams\.b: `upsert` needs `primary_keys`/);
  });

  it.each([
    [{ append: 'overwrite' }, /the sink has `append` itself/],
    [{ overwrite: 'upsert' }, /the sink has no `upsert`/],
  ])('refuses the alias %j', (write_mode_aliases, message) => {
    expect(faults(() => composed(SOURCE, { ...FILES, write_mode_aliases })).join()).toMatch(
      message,
    );
  });

  it('refuses a parameter that means two things, and names both templates', () => {
    const other = {
      ...SINK,
      params: { ...(SINK['params'] as JsonObject), folder: { default: 'x' } },
    };
    expect(faults(() => composed(SOURCE, other)).join()).toMatch(
      /params\.folder: .*`acme\/billing`.*`warehouse`/,
    );
    const same = {
      ...SINK,
      params: { ...(SINK['params'] as JsonObject), folder: { required: true } },
    };
    expect(composed(SOURCE, same).streams).toHaveLength(2);
  });

  it('warns of incremental streams that nothing remembers', () => {
    const incremental = one({
      source: { config: { path: 'x', replication_method: 'Incremental' } },
    });
    const overlay = (type: string): JsonObject => ({
      kind: 'deployment',
      name: 'eu',
      state: { type },
    });
    expect(composed(incremental, FILES).warnings.join()).toMatch(
      /`s`: incremental, and no `state`/,
    );
    expect(composed(incremental, FILES, overlay('memory')).warnings.join()).toMatch(
      /`memory` state forgets/,
    );
    expect(composed(incremental, FILES, overlay('file')).warnings).toEqual([]);
  });
});

describe('an overlay', () => {
  const overlay = (more: JsonObject): JsonObject => ({ kind: 'deployment', name: 'eu', ...more });

  it('sets blocks of the pipeline, of the document and of streams, and says which', () => {
    const { document, contributes } = composed(
      SOURCE,
      SINK,
      overlay({
        notify: [],
        state: { type: 'file', config: { path: 'state' } },
        sla: { max_staleness_secs: 5 },
        streams: { invoices: { dlq: null, sla: { max_staleness_secs: 9 } } },
      }),
    );
    expect(contributes).toEqual([
      'pipeline.state',
      'notifications',
      'sla',
      'matrix.invoices.sla',
      'matrix.invoices.dlq',
    ]);
    expect(document).toMatchObject({
      notifications: [],
      sla: { max_staleness_secs: 5 },
      pipeline: { state: { type: 'file' } },
      matrix: [{ id: 'invoices', dlq: null, sla: { max_staleness_secs: 9 } }, { id: 'events' }],
    });
  });

  it.each([
    [{ source: { type: 'csv' } }, /unknown key `source`/],
    [{ streams: { invoices: {} } }, /says nothing about the stream/],
    [{ streams: { invoices: { source: {} } } }, /unknown key `source`/],
    [{ streams: { invoces: { sla: {} } } }, /has no stream `invoces`.*did you mean `invoices`/],
    [{ sla: { max_staleness_secs: '${param.limit}' } }, /used and not declared: `limit`/],
    [{ params: { folder: { default: 'x' } } }, /params\.folder/],
  ])('%j is refused', (more, message) => {
    expect(faults(() => composed(SOURCE, SINK, overlay(more))).join('\n')).toMatch(message);
  });
});

describe('a template', () => {
  const sourceOf =
    (more: JsonObject): (() => unknown) =>
    () =>
      templateOfTree({ ...SOURCE, ...more });
  const sinkOf =
    (more: JsonObject): (() => unknown) =>
    () =>
      templateOfTree({ ...SINK, ...more });

  it.each([
    [
      'an unknown kind',
      () => templateOfTree({ kind: 'sourcetemplate' }),
      /did you mean `source-template`/,
    ],
    ['an unknown key', sourceOf({ matrix: [] }), /unknown key `matrix`/],
    ['another version', sourceOf({ version: 2 }), /version/],
    ['a name in capitals', sourceOf({ name: 'Billing' }), /lower-case/],
    ['no streams', sourceOf({ streams: [] }), /streams/],
    ['a stream with a dash', sourceOf({ streams: [{ name: 'a-b' }] }), /streams\[0\]\.name/],
    ['a stream twice', sourceOf({ streams: [{ name: 'a' }, { name: 'a' }] }), /is there twice/],
    ['an unknown parent', sourceOf({ streams: [{ name: 'a', parent: 'b' }] }), /no stream `b`/],
    [
      'a parent_key alone',
      sourceOf({ streams: [{ name: 'a', parent_key: 'id' }] }),
      /needs a `parent`/,
    ],
    [
      'an unknown connector',
      sourceOf({ streams: [{ name: 'a', source: { ref: 'x' } }] }),
      /no connector `x`/,
    ],
    [
      'a mode twice',
      sourceOf({ streams: [{ name: 'a', write: ['append', 'append'] }] }),
      /listed twice/,
    ],
    [
      'sources.default',
      sourceOf({ sources: { default: { type: 'csv' } } }),
      /connector under `source`/,
    ],
    [
      'transforms in the source',
      sourceOf({ source: { type: 'csv', transforms: [] } }),
      /unknown key `transforms`/,
    ],
    ['an undeclared parameter', sourceOf({ params: {} }), /used and not declared: `folder`/],
    ['no ${stream}', sinkOf({ per_stream: { table: 'all' } }), /holds `\$\{stream\}`/],
    [
      'a write mode in the sink',
      sinkOf({
        sink: {
          type: 'postgres',
          config: { connection_url: '${param.url}', write_mode: 'append' },
        },
      }),
      /`write_mode` follows/,
    ],
    [
      'a key per stream',
      sinkOf({ per_stream: { table: '${stream}', key: ['id'] } }),
      /`key` follows/,
    ],
    [
      'an alias of upsert',
      sinkOf({ write_mode_aliases: { upsert: 'append' } }),
      /nothing can stand in/,
    ],
    [
      'an alias of itself',
      sinkOf({ write_mode_aliases: { append: 'append' } }),
      /stand in for itself/,
    ],
  ])('with %s is refused', (_what, act, message) => {
    expect(faults(act).join('\n')).toMatch(message);
  });

  it('is published only with a description, and without credentials and private names', () => {
    const found = (tree: JsonObject): string[] =>
      lint(templateOfTree(tree)).map(({ path }) => path);
    expect(found(SOURCE)).toEqual([]);
    expect(found(SINK)).toEqual([]);
    expect(found({ ...SOURCE, description: ' ' })).toEqual(['description']);
    const withConfig = (config: JsonObject): JsonObject => ({
      ...SINK,
      sink: { type: 'postgres', config: { connection_url: '${param.url}', ...config } },
    });
    expect(found(withConfig({ password: 'hunter22' }))).toEqual(['sink.config.password']);
    expect(found(withConfig({ db_password: 'hunter22' }))).toEqual(['sink.config.db_password']);
    for (const fine of ['${env:PW}', '', '$.token', 'ab'])
      expect(found(withConfig({ password: fine }))).toEqual([]);
    expect(found(withConfig({ host: 'db.internal' }))).toEqual(['sink.config.host']);
    expect(found({ ...SINK, params: { url: { secret: true, default: 'x' } } })).toEqual([
      'params.url.default',
    ]);
    expect(
      found({ ...SINK, params: { url: { required: true, secret: true }, api_token: {} } }),
    ).toEqual(['params.api_token']);
    const deployment = {
      kind: 'deployment',
      name: 'eu',
      description: 'EU.',
      state: { type: 'redis', config: { url: 'redis://u:pw1@host' } },
    };
    expect(found(deployment)).toEqual(['state.config.url']);
    expect(
      found({ ...deployment, state: { type: 'redis', config: { url: 'redis://127.0.0.1' } } }),
    ).toEqual([]);
  });
});
