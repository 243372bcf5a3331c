import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JoinSpec } from '../../document/structure/topology.ts';
import { documentText, isLiteral, JSON_NULL, withSourceText } from '../../lib/text/json-literal.ts';
import {
  isObject,
  parseData,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { Join } from './join.ts';
import { joinKey, pathReader } from './join-key.ts';

const SPEC: Omit<JoinSpec, 'kind'> = {
  mode: 'inner',
  build: { edge: 'right', key: 'id' },
  probe: { edge: 'left', key: 'ref' },
  project: [{ from: 'name', as: 'name' }],
  on_missing: null,
  on_duplicate: 'first',
  on_collision: 'overwrite',
  key_normalize: 'preserve',
  max_build_records: 1000,
};

interface Given {
  readonly build: readonly JsonValue[];
  readonly probe: readonly JsonValue[];
  readonly spec?: Partial<typeof SPEC>;
  readonly memoryBytes?: number;
  readonly ownsProbe?: boolean;
}

function joined({ build, probe, spec = {}, memoryBytes = 1e6, ownsProbe = true }: Given): {
  out: JsonValue[];
  join: Join;
} {
  const join = new Join({ spec: { ...SPEC, ...spec }, ownsProbe, memoryBytes });
  try {
    join.build(build);
    return { out: join.probe(structuredClone(probe)), join };
  } finally {
    join.close();
  }
}

const people: JsonValue[] = [
  { id: 1, name: 'Ada', home: { city: 'London' } },
  { id: 2, name: 'Bo' },
  { id: 1, name: 'Second Ada' },
  { id: null, name: 'nobody' },
];

describe('a join', () => {
  it('drops probe records without a match when inner, and keeps the order', () => {
    const { out, join } = joined({ build: people, probe: [{ ref: 2 }, { ref: 9 }, { ref: 1 }] });
    expect(out).toEqual([
      { ref: 2, name: 'Bo' },
      { ref: 1, name: 'Ada' },
    ]);
    expect(join).toMatchObject({
      buildRecords: 4,
      buildNulls: 1,
      duplicates: 1,
      probeRecords: 3,
      matched: 2,
      missed: 1,
      extra: 0,
    });
  });

  it('fills `on_missing` into every projected field when left', () => {
    const project = [
      { from: 'name', as: 'name' },
      { from: 'home.city', as: 'city' },
    ];
    const { out } = joined({
      build: people,
      probe: [{ ref: 9 }, { ref: 1 }],
      spec: { mode: 'left', project, on_missing: { none: true } },
    });
    expect(out).toEqual([
      { ref: 9, name: { none: true }, city: { none: true } },
      { ref: 1, name: 'Ada', city: 'London' },
    ]);
  });

  it('gives a record for each match when cartesian, in the order of the build side', () => {
    const { out, join } = joined({
      build: people,
      probe: [{ ref: 1 }],
      spec: { on_duplicate: 'cartesian' },
    });
    expect(out).toEqual([
      { ref: 1, name: 'Ada' },
      { ref: 1, name: 'Second Ada' },
    ]);
    expect(join.extra).toBe(1);
  });

  it('tells 42 from "42" unless keys are compared as text', () => {
    const build = [{ id: '42', name: 'text' }];
    expect(joined({ build, probe: [{ ref: 42 }] }).out).toEqual([]);
    expect(
      joined({ build, probe: [{ ref: 42 }], spec: { key_normalize: 'stringify' } }).out,
    ).toEqual([{ ref: 42, name: 'text' }]);
  });

  it('finds integers of any size by their digits', () => {
    expect(
      joined({
        build: [{ id: 9007199254740993n, name: 'big' }],
        probe: [{ ref: 9007199254740993n }],
      }).out,
    ).toHaveLength(1);
    expect(joined({ build: [{ id: 7n, name: 'small' }], probe: [{ ref: 7 }] }).out).toHaveLength(1);
  });

  it('writes nothing for a projected value that the match does not have, and counts it', () => {
    const { out, join } = joined({
      build: people,
      probe: [{ ref: 2 }],
      spec: { project: [{ from: 'home.city', as: 'city' }] },
    });
    expect(out).toEqual([{ ref: 2 }]);
    expect(join.projectMisses).toBe(1);
  });

  it.each([
    ['overwrite', [{ ref: 2, name: 'Bo' }]],
    ['skip', [{ ref: 2, name: 'own' }]],
  ] as const)('obeys on_collision: %s', (onCollision, expected) => {
    const probe = [{ ref: 2, name: 'own' }];
    expect(joined({ build: people, probe, spec: { on_collision: onCollision } }).out).toEqual(
      expected,
    );
  });

  it('fails on a collision when told so', () => {
    const collide = () =>
      joined({ build: people, probe: [{ ref: 2, name: 'own' }], spec: { on_collision: 'error' } });
    expect(collide).toThrow('has a field `name` already');
  });

  it('fails above max_build_records, records without a key included', () => {
    expect(() => joined({ build: people, probe: [], spec: { max_build_records: 3 } })).toThrow(
      'more than 3 records',
    );
    expect(joined({ build: people, probe: [], spec: { max_build_records: 4 } }).out).toEqual([]);
  });

  it('cannot project onto a record that is no object', () => {
    expect(() => joined({ build: people, probe: ['text'], spec: { mode: 'left' } })).toThrow(
      'not an object',
    );
    expect(
      joined({ build: people, probe: ['text'], spec: { mode: 'left', project: [] } }).out,
    ).toEqual(['text']);
  });

  it('shares nothing between the records it gives', () => {
    const build = [{ id: 1, home: { city: 'London' } }];
    const { out } = joined({
      build,
      probe: [{ ref: 1 }, { ref: 1 }],
      spec: { project: [{ from: 'home', as: 'home' }] },
    });
    ((out[0] as JsonObject)['home'] as JsonObject)['city'] = 'changed';
    expect(out[1]).toEqual({ ref: 1, home: { city: 'London' } });
    expect(build[0]).toEqual({ id: 1, home: { city: 'London' } });
  });

  it('leaves probe records that others hold as they are', () => {
    const join = new Join({ spec: { ...SPEC, mode: 'left' }, ownsProbe: false, memoryBytes: 1e6 });
    join.build(people);
    const shared = [{ ref: 2 }, { ref: 9 }];
    expect(join.probe(shared)).toEqual([
      { ref: 2, name: 'Bo' },
      { ref: 9, name: null },
    ]);
    expect(shared).toEqual([{ ref: 2 }, { ref: 9 }]);
  });
});

const key = fc.constantFrom<JsonValue>(
  1,
  2,
  '1',
  '2',
  true,
  'true',
  1.5,
  null,
  { a: 1 },
  3n,
  'a\u0000b',
  '\uD800',
);
const value = fc.constantFrom<JsonValue>(
  null,
  'x',
  'é',
  7,
  12345678901234567890n,
  { deep: [1, null] },
  [],
);
const buildRecord = fc.record({ id: key, name: value }, { requiredKeys: [] });
const probeRecord = fc.record({ ref: key, name: value }, { requiredKeys: [] });

/** What a join means, as slowly as possible. */
function model({ build, probe, spec = {} }: Given): JsonValue[] {
  const {
    mode,
    key_normalize: normalize,
    on_duplicate: onDuplicate,
    on_collision: onCollision,
  } = { ...SPEC, ...spec };
  return probe.flatMap((left): JsonValue[] => {
    const ref = joinKey(pathReader('ref')(left), normalize);
    const same = build.filter(
      (right) => ref !== undefined && joinKey(pathReader('id')(right), normalize) === ref,
    );
    const used = onDuplicate === 'first' ? same.slice(0, 1) : same;
    const values =
      used.length > 0
        ? used.map((right) => (isObject(right) ? right['name'] : undefined))
        : mode === 'left'
          ? [null]
          : [];
    return values.map((name) => {
      const own = isObject(left) && 'name' in left;
      return name === undefined || (own && onCollision === 'skip')
        ? left
        : { ...(left as JsonObject), name };
    });
  });
}

describe('whatever the records', () => {
  const spec = fc.record({
    mode: fc.constantFrom('inner', 'left'),
    key_normalize: fc.constantFrom('preserve', 'stringify'),
    on_duplicate: fc.constantFrom('first', 'cartesian'),
    on_collision: fc.constantFrom('overwrite', 'skip'),
  });

  it('a join gives what the model gives, in memory and on disk, and its counts add up', () => {
    fc.assert(
      fc.property(
        fc.record({
          build: fc.array(buildRecord, { maxLength: 12 }),
          probe: fc.array(probeRecord, { maxLength: 12 }),
          spec,
          memoryBytes: fc.constantFrom(0, 300, 1e6),
          ownsProbe: fc.boolean(),
        }),
        (given) => {
          const { out, join } = joined(given);
          expect(out).toEqual(model(given));
          expect(join.probeRecords).toBe(join.matched + join.missed);
          expect(out).toHaveLength(
            join.matched + join.extra + (given.spec.mode === 'left' ? join.missed : 0),
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each([1e6, 1])(
    'documents keep their text and the JSON null, with %i bytes of memory',
    (memoryBytes) => {
      const document = withSourceText({ a: 1 }, '{"a": 1.0}');
      const build = [
        { id: 1, name: document, n: JSON_NULL, none: null, in: parseData('{"x":1.10}') },
      ];
      const project = ['name', 'n', 'none', 'in', 'gone'].map((name) => ({ from: name, as: name }));
      const { out } = joined({ build, probe: [{ ref: 1 }], spec: { project }, memoryBytes });
      const [{ name, n, none, in: inside }] = out as [JsonObject];
      expect(documentText(name ?? null)).toBe('{"a": 1.0}');
      expect([isLiteral(n), none]).toEqual([true, null]);
      expect(stringifyJson(inside ?? null)).toBe('{"x":1.10}');
    },
  );

  it.each([1e6, 1])('projected numbers keep their text, with %i bytes of memory', (memoryBytes) => {
    const build = [parseData('{"id":1,"a":1.0,"in":{"b":12345678901234567890.5},"c":7}')];
    const project = [
      { from: 'a', as: 'a' },
      { from: 'in.b', as: 'b' },
      { from: 'c', as: 'c' },
      { from: 'gone', as: 'gone' },
    ];
    const probe = parseData('{"ref":1,"c":7.0}');
    const join = new Join({ spec: { ...SPEC, project }, ownsProbe: true, memoryBytes });
    join.build(build);
    expect(stringifyJson(join.probe([probe]))).toBe(
      '[{"ref":1,"c":7,"a":1.0,"b":12345678901234567890.5}]',
    );
    join.close();
  });

  it('a build side beyond its memory is on disk', () => {
    const build = Array.from({ length: 500 }, (_, id) => ({ id, name: `name ${id}` }));
    const join = new Join({ spec: SPEC, ownsProbe: true, memoryBytes: 4096 });
    join.build(build);
    expect(join.onDisk).toBe(true);
    expect(join.probe([{ ref: 499 }])).toEqual([{ ref: 499, name: 'name 499' }]);
    join.close();
  });
});
