import { describe, expect, test } from 'vitest';
import { issuesOf, load } from '../../../test/fakes/documents.ts';
import { FAKE_PARTS } from '../../../test/fakes/parts.ts';
import { z } from 'zod';
import { Registry } from '../../kit/parts.ts';
import { APPEND_ONLY, defineSink } from '../../kit/sink.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { planDocument } from '../plan-document.ts';

/** A sink whose word for appending is `if_exists`. */
const blobs = defineSink({
  type: 'blobs',
  description: 'a file of bytes',
  config: z.strictObject({
    path: z.string(),
    if_exists: z.enum(['replace', 'append']).default('replace'),
  }),
  examples: [],
  capabilities: () => APPEND_ONLY,
  datasetUri: () => 'file:',
  localPath: (config) => config.path,
  open: () => Promise.reject(new Error('not opened here')),
});

/** A table of which only a part is replaced. */
const windows = defineSink({
  type: 'windows',
  description: 'a part of a table',
  config: z.strictObject({ part: z.string().optional(), append: z.boolean().default(false) }),
  examples: [],
  capabilities: ({ part, append }) => ({
    ...APPEND_ONLY,
    writeModes: ['append', 'overwrite'],
    writeMode: append ? 'append' : 'overwrite',
    ...(part === undefined ? {} : { overwrites: part }),
  }),
  datasetUri: () => 'windows:t',
  open: () => Promise.reject(new Error('not opened here')),
});

const parts = {
  ...FAKE_PARTS,
  sources: new Registry(
    FAKE_PARTS.sources.all.map((source) =>
      source.type === 'lines'
        ? { ...source, localPath: (config: { path: string }) => config.path }
        : source,
    ),
  ),
  sinks: new Registry([...FAKE_PARTS.sinks.all, blobs, windows]),
};

const planned = (pipeline: JsonObject, rest: JsonObject = {}) => {
  const base = { source: { type: 'lines', config: { path: 'in' } } };
  const text = JSON.stringify({ version: 1, pipeline: { ...base, ...pipeline }, ...rest });
  return planDocument(load(text, { format: 'json' }), parts, { cpus: 1 });
};
const sink = (config: JsonObject): JsonObject => ({
  type: 'blobs',
  config: { path: 'out', ...config },
});
const ROWS: JsonObject = { matrix: [{ id: 'a' }, { id: 'b' }] };
const CHILD: JsonObject = {
  matrix: [
    { id: 'a', sink: { config: { path: 'other' } } },
    { id: 'b', parent: 'a' },
  ],
};
const STATE: JsonObject = { type: 'folder', config: { path: 's' } };

describe('a sink that appends by `if_exists`', () => {
  test('may share its file with other rows and invocations', () => {
    expect(planned({ sink: sink({ if_exists: 'append' }) }, ROWS).rows).toHaveLength(2);
    expect(planned({ sink: sink({ if_exists: 'append' }) }, CHILD).rows).toHaveLength(2);
    expect(issuesOf(() => planned({ sink: sink({}) }, CHILD))).toEqual([
      'output_clash pipeline.sink.config',
    ]);
  });

  test('replaces nothing on the next run', () => {
    const warnings = (config: JsonObject) =>
      planned({ sink: sink(config), state: STATE }).warnings.map(({ code }) => code);
    expect(warnings({})).toEqual(['replaced_output']);
    expect(warnings({ if_exists: 'append' })).toEqual([]);
  });
});

describe('a table that is replaced', () => {
  const table = (config: JsonObject): JsonObject => ({
    type: 'table',
    config: { table: 't', write_mode: 'overwrite', ...config },
  });
  const CHUNKS: JsonObject = {
    partition: { kind: 'integer', from: 1, to: 4, chunk_size: 2, bounds: 'inclusive' },
  };
  const source: JsonObject = { type: 'lines', config: { path: 'in-${partition.id}' } };

  test('is no place for what chunks of a row write one after the other, unless each has one of its own', () => {
    expect(issuesOf(() => planned({ source, sink: table({}) }, CHUNKS))).toEqual([
      'output_clash pipeline.sink.config',
    ]);
    expect(
      planned({ source, sink: table({ table: 't_${partition.id}' }) }, CHUNKS).rows,
    ).toHaveLength(1);
    expect(planned({ source, sink: table({ write_mode: 'append' }) }, CHUNKS).rows).toHaveLength(1);
  });

  test('is no place for what single parent records lead to either', () => {
    const [parent, child] = CHILD['matrix'] as JsonObject[];
    const matrix = [{ ...parent, sink: { config: { table: 'other' } } }, child ?? {}];
    expect(issuesOf(() => planned({ sink: table({}) }, { matrix }))).toEqual([
      'output_clash pipeline.sink.config',
    ]);
  });

  test('by two rows is a doubt, and so is one that another row adds to', () => {
    const codes = (matrix: JsonObject[]) =>
      planned({ sink: table({}) }, { matrix }).warnings.map(({ code }) => code);
    expect(codes([{ id: 'a' }, { id: 'b' }])).toEqual(['output_clash']);
    expect(codes([{ id: 'a' }, { id: 'b', sink: { config: { write_mode: 'append' } } }])).toEqual([
      'output_clash',
    ]);
    expect(codes([{ id: 'a' }, { id: 'b', sink: { config: { table: 'other' } } }])).toEqual([]);
  });
});

test.each([
  [{ part: 'one' }, { part: 'two' }, []],
  [{ part: 'one' }, { part: 'one' }, ['output_clash']],
  [{}, { part: 'one' }, ['output_clash']],
  [{ part: 'one' }, {}, ['output_clash']],
  [{ part: 'one' }, { append: true }, []],
  [{}, { append: true }, ['output_clash']],
])('a row that replaces %j beside one that writes %j: %j', (one, other, codes) => {
  const matrix = [one, other].map((config, index) => ({ id: `r${index}`, sink: { config } }));
  expect(
    planned({ sink: { type: 'windows', config: {} } }, { matrix }).warnings.map(({ code }) => code),
  ).toEqual(codes);
});

describe('a file that two rows replace', () => {
  test('is a doubt: one of them may be left out or fail before it writes', () => {
    const { rows, warnings } = planned({ sink: sink({}) }, ROWS);
    expect(rows).toHaveLength(2);
    expect(warnings.map(({ code, path }) => `${code} ${path}`)).toEqual([
      'output_clash pipeline.sink.config',
    ]);
  });
});

describe('the file that a row reads', () => {
  test.each([
    ['in', {}],
    ['./in', {}],
    ['in', { if_exists: 'append' }],
  ])('cannot be its output as %s with %j', (path, config) => {
    expect(issuesOf(() => planned({ sink: sink({ path, ...config }) }))).toEqual([
      'output_clash pipeline.sink.config',
    ]);
  });

  test('cannot take its dead letters', () => {
    const dlq: JsonObject = { sink: sink({ path: 'in' }) };
    expect(issuesOf(() => planned({ sink: sink({}), dlq }))).toEqual([
      'output_clash pipeline.dlq.sink.config',
    ]);
  });

  test('may be the output of another row', () => {
    const rows: JsonObject = {
      matrix: [
        { id: 'a' },
        {
          id: 'b',
          source: { config: { path: 'out' } },
          sink: { config: { path: 'end' } },
          depends_on: ['a'],
        },
      ],
    };
    expect(planned({ sink: sink({}) }, rows).rows).toHaveLength(2);
  });
});
