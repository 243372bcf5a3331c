/**
 * The schema catalogue of the real build: whatever it lists has a schema that a validator accepts.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { DESCRIBED_BLOCKS } from '../../src/blocks/index.ts';
import { parts } from '../../src/parts.ts';
import { startFixture } from '../support/server.ts';

const names = (registry: {
  readonly all: readonly { readonly type: string; readonly aliases?: readonly string[] }[];
}) => registry.all.flatMap(({ type, aliases = [] }) => [type, ...aliases]);

const listed = [
  ...names(parts.sources).map((name) => ({ kind: 'source', name })),
  ...names(parts.sinks).map((name) => ({ kind: 'sink', name })),
  ...names(parts.transforms).map((name) => ({ kind: 'transform', name })),
  ...DESCRIBED_BLOCKS.map(({ name }) => ({ kind: 'block', name })),
];

const { ask } = await startFixture({ parts, blocks: DESCRIBED_BLOCKS });

test('the catalogue lists the parts of the build, each with a description', async () => {
  const catalog = (await ask('GET', '/v1/schemas')).json() as Record<
    string,
    { name: string; description: string }[]
  >;
  expect(catalog['sources']?.map(({ name }) => name)).toEqual(parts.sources.types());
  expect(catalog['sinks']?.map(({ name }) => name)).toEqual(parts.sinks.types());
  expect(catalog['transforms']?.map(({ name }) => name)).toEqual(parts.transforms.types());
  expect(catalog['state']).toEqual(parts.states.types());
  for (const entry of ['sources', 'sinks', 'transforms', 'blocks'].flatMap(
    (key) => catalog[key] ?? [],
  ))
    expect(entry.description).not.toBe('');
});

test.each(listed)('the schema of $kind $name is served and valid', async ({ kind, name }) => {
  const answer = await ask('GET', `/v1/schemas/${kind}/${encodeURIComponent(name)}`, {
    as: 'viewer',
  });
  expect(answer.status).toBe(200);
  const compile = new Ajv2020({ strict: false, validateFormats: false });
  expect(() => compile.compile(answer.json() as object)).not.toThrow();
});
