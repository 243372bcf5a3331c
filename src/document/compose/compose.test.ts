import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { load, loadOptions, refusalOf } from '../../../test/fakes/documents.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { composeDocument, type Composed } from './compose.ts';
import { loadDocumentFile } from '../load.ts';
import { canonicalPaths, localFiles } from '../text/local-file.ts';

type Files = Readonly<Record<string, string>>;

/** Composes `main.yaml` out of files that stand only here. */
function compose(files: Files, profile?: string): Composed {
  const readFile = (path: string): Uint8Array => {
    const text = files[path];
    if (text === undefined) throw Object.assign(new Error(path), { code: 'ENOENT' });
    return new TextEncoder().encode(text);
  };
  const main = { path: 'main.yaml', format: 'yaml', text: files['main.yaml'] ?? '' } as const;
  return composeDocument(main, {
    readFile,
    canonicalPath: (path) => posix.normalize(path),
    ...(profile === undefined ? {} : { profile }),
  });
}

function messages(files: Files, profile?: string): string[] {
  return refusalOf(() => compose(files, profile)).issues.map((issue) => issue.message);
}

describe('extends (spec 2.4)', () => {
  test('later bases lie over earlier ones, and the document over all; lists are taken whole', () => {
    const { tree } = compose({
      'main.yaml': 'extends: [a.yaml, dir/b.json]\nx: {main: 1, all: main}',
      'a.yaml': 'x: {a: 1, both: a, all: a}\nlist: [1, 2]\nnothing: {b: 1}',
      'dir/b.json': '{"x": {"b": 1, "both": "b", "all": "b"}, "list": [3], "nothing": null}',
    });
    expect(tree).toEqual({
      x: { a: 1, b: 1, main: 1, both: 'b', all: 'main' },
      list: [3],
      nothing: null,
    });
  });

  test('paths start at the file that names them, and bases have their own bases', () => {
    const { tree } = compose({
      'main.yaml': 'extends: one/two/a.yaml',
      'one/two/a.yaml': 'extends: ../b.yaml\na: 1',
      'one/b.yaml': 'b: 1\nprofiles: {p: {c: 1}}',
    });
    expect(tree).toEqual({ a: 1, b: 1 });
  });

  test('null is none', () => {
    expect(compose({ 'main.yaml': 'extends: null\nprofiles: null\na: 1' })).toMatchObject({
      tree: { a: 1 },
      changed: false,
    });
  });
});

describe('!include', () => {
  test('puts mappings, lists and scalars in, from YAML and JSON, relative to the fragment', () => {
    const { tree } = compose({
      'main.yaml':
        'map: !include dir/map.yaml\nlist: [0, !include dir/list.json]\nkeys: {a: !include dir/text.yaml}',
      'dir/map.yaml': 'inner: !include text.yaml\nb: 2',
      'dir/list.json': '[1, {"a": 2}]',
      'dir/text.yaml': 'some text',
    });
    expect(tree).toEqual({
      map: { inner: 'some text', b: 2 },
      list: [0, [1, { a: 2 }]],
      keys: { a: 'some text' },
    });
  });

  test('stands in bases, in profiles, under anchors, and for a whole document', () => {
    const files = {
      'main.yaml': '!include dir/all.yaml',
      'dir/all.yaml': 'extends: ../base.yaml\na: &x !include ../v.yaml\nb: *x',
      'base.yaml': 'profiles: {p: !include p.yaml}\nc: !include v.yaml',
      'v.yaml': '[1]',
      'p.yaml': 'b: over',
    };
    expect(compose(files, 'p').tree).toEqual({ a: [1], b: 'over', c: [1] });
  });

  test('may give `extends` its paths', () => {
    expect(
      compose({
        'main.yaml': 'extends: !include list.yaml',
        'list.yaml': '[a.yaml]',
        'a.yaml': 'a: 1',
      }).tree,
    ).toEqual({ a: 1 });
  });

  test('cannot take nesting past its limit', () => {
    const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    expect(
      messages({
        'main.yaml': `a: ${deep(30).replace('[]', '[!include b.yaml]')}`,
        'b.yaml': deep(40),
      })[0],
    ).toContain('nested deeper');
  });
});

describe('profiles', () => {
  const files = {
    'main.yaml': 'extends: base.yaml\nprofiles: {prod: {x: {b: main}}, empty: null}\nx: {a: 1}',
    'base.yaml': 'profiles: {prod: {x: {c: base, b: base}}, test: {}}\nx: {b: 0}',
  };

  test('are merged over everything when selected, also where a base declares them', () => {
    expect(compose(files).tree).toEqual({ x: { a: 1, b: 0 } });
    expect(compose(files, 'prod').tree).toEqual({ x: { a: 1, b: 'main', c: 'base' } });
    expect(compose(files, 'empty').tree).toEqual({ x: { a: 1, b: 0 } });
  });

  test('that are not declared are refused with those that are', () => {
    const [issue] = refusalOf(() => compose(files, 'production')).issues;
    expect(issue).toMatchObject({
      code: 'unknown_profile',
      file: 'main.yaml',
      line: 2,
      hint: 'there are: prod, test, empty',
    });
    const [none] = refusalOf(() => compose({ 'main.yaml': 'a: 1' }, 'toString')).issues;
    expect(none).toMatchObject({ code: 'unknown_profile', hint: 'the document declares none' });
  });
});

describe('bounds', () => {
  const nested = (levels: number): Files =>
    Object.fromEntries(
      Array.from({ length: levels + 1 }, (_, level) => {
        const next =
          level === levels
            ? 'end: true'
            : level < 16
              ? `extends: f${level + 1}.yaml`
              : `x: !include f${level + 1}.yaml`;
        return [level === 0 ? 'main.yaml' : `f${level}.yaml`, next];
      }),
    );

  test('32 levels are fine, 33 are not', () => {
    expect(compose(nested(32)).changed).toBe(true);
    expect(messages(nested(33))).toEqual(['files name each other over more than 32 levels']);
  });

  test('a diamond is no circle', () => {
    const { tree } = compose({
      'main.yaml': 'extends: [a.yaml, b.yaml]\nagain: !include c.yaml',
      'a.yaml': 'extends: c.yaml',
      'b.yaml': 'extends: c.yaml',
      'c.yaml': 'c: 1',
    });
    expect(tree).toEqual({ c: 1, again: { c: 1 } });
  });

  test('doubling at every level ends at a bound', () => {
    const files = Object.fromEntries(
      Array.from({ length: 30 }, (_, level) => {
        const next = `f${level + 1}.yaml`;
        return [
          level === 0 ? 'main.yaml' : `f${level}.yaml`,
          level === 29 ? '1' : `[!include ${next}, !include ${next}]`,
        ];
      }),
    );
    expect(messages(files)).toContain('`f29.yaml`: the document names more than 1000 files');
    const text = `a: ${'x'.repeat(4 * 1024 * 1024)}`;
    expect(messages({ 'main.yaml': 'extends: [a.yaml, a.yaml, a.yaml]', 'a.yaml': text })).toEqual([
      '`a.yaml`: with it the document is larger than 10 MB',
    ]);
  });
});

test('a circle through links is found by the real file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'compose-'));
  mkdirSync(join(folder, 'dir'));
  symlinkSync(folder, join(folder, 'dir', 'up'));
  writeFileSync(join(folder, 'main.yaml'), 'extends: dir/up/main.yaml');
  const options = loadOptions({
    readFile: localFiles(folder),
    canonicalPath: canonicalPaths(folder),
  });
  const refusal = refusalOf(() => loadDocumentFile('main.yaml', options));
  expect(refusal.issues).toMatchObject([{ code: 'composition_cycle', file: 'main.yaml', line: 1 }]);
  expect(refusal.issues[0]?.message).toContain('main.yaml → dir/up/main.yaml');
});

test('a document without markers is itself', () => {
  const text = 'version: 1\na: "${env:NAME}"\nextend: x\n';
  expect(compose({ 'main.yaml': text })).toMatchObject({
    changed: false,
    tree: { version: 1, a: '${env:NAME}', extend: 'x' },
  });
});

test('tokens are filled in after composing', () => {
  expect(load('profiles: {p: {a: "${env:NAME}"}}', { profile: 'p' }).tree).toEqual({ a: 'value' });
});

/**
 * What a file is worth by itself: mappings of mappings whose leaves say which file they came from.
 */
const shape = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant<JsonValue>('leaf'),
    fc.constant<JsonValue>(['leaf']),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c d'), tie('value'), { minKeys: 1, maxKeys: 3 }),
})).object;

function signed(value: JsonValue, file: string): JsonValue {
  if (value === 'leaf') return file;
  if (Array.isArray(value)) return value.map((item) => signed(item, file));
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, item]) => [key, signed(item, file)]),
  );
}

interface Leaf {
  readonly steps: readonly (string | number)[];
  readonly file: JsonValue;
}

function leaves(value: JsonValue, steps: readonly (string | number)[] = []): Leaf[] {
  if (typeof value === 'string') return [{ steps, file: value }];
  return Object.entries(value as JsonObject).flatMap(([key, item]) =>
    leaves(item, [...steps, Array.isArray(value) ? Number(key) : key]),
  );
}

test('whatever is extended and included, a leaf is of the last file that has it, and is found there', () => {
  const tree = fc.tuple(shape, fc.array(fc.nat({ max: 3 }), { maxLength: 3 }), fc.boolean());
  fc.assert(
    fc.property(
      fc.array(tree, { minLength: 1, maxLength: 6 }),
      fc.option(shape, { nil: undefined }),
      (parts, profile) => {
        const name = (index: number): string => (index === 0 ? 'main.yaml' : `f${index}.yaml`);
        const files: Record<string, string> = {};
        const basesOf = (index: number): number[] =>
          (parts[index]?.[1] ?? [])
            .map((step) => index + 1 + step)
            .filter((one) => one < parts.length);
        for (const [index, [content, , isIncluded]] of parts.entries()) {
          const file = isIncluded ? `inc${index}.yaml` : name(index);
          const body = signed(content, file) as JsonObject;
          const own = isIncluded ? `tree: !include ${file}` : `tree: ${JSON.stringify(body)}`;
          if (isIncluded) files[file] = JSON.stringify(body, null, 2);
          const overlay =
            index === 0 && profile !== undefined
              ? `\nprofiles: {p: {tree: ${JSON.stringify(signed(profile, 'main.yaml'))}}}`
              : '';
          files[name(index)] =
            `extends: ${JSON.stringify(basesOf(index).map(name))}\n${own}${overlay}`;
        }
        /**
         * A file with all it extends: each base is whole before the next one, and then the file
         * itself, is laid over it.
         */
        const whole = (index: number): JsonValue => {
          const own = signed(
            parts[index]?.[0] ?? {},
            parts[index]?.[2] === true ? `inc${index}.yaml` : name(index),
          );
          return modelOf([...basesOf(index).map(whole), own]);
        };
        const composed = compose(files, profile === undefined ? undefined : 'p');
        expect(composed.tree['tree']).toEqual(
          profile === undefined ? whole(0) : modelOf([whole(0), signed(profile, 'main.yaml')]),
        );
        for (const { steps, file } of leaves(composed.tree['tree'] ?? {})) {
          expect([steps, composed.locate(joinPath('tree', ...steps))?.file]).toEqual([steps, file]);
        }
      },
    ),
    { numRuns: 300 },
  );
});

/**
 * Merging seen from the keys: the last layer decides what stands at a key, and lower mappings show
 * through upper ones.
 */
function modelOf(layers: readonly JsonValue[]): JsonValue {
  const top = layers.at(-1) ?? null;
  if (typeof top !== 'object' || top === null || Array.isArray(top)) return top;
  const start =
    layers.findLastIndex(
      (layer) => typeof layer !== 'object' || layer === null || Array.isArray(layer),
    ) + 1;
  const mappings = layers.slice(start) as JsonObject[];
  const keys = new Set(mappings.flatMap((layer) => Object.keys(layer)));
  return Object.fromEntries(
    [...keys].map((key) => [
      key,
      modelOf(mappings.flatMap((layer) => (Object.hasOwn(layer, key) ? [layer[key] ?? null] : []))),
    ]),
  );
}
