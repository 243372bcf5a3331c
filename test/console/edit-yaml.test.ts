import { expect, it } from 'vitest';
import { valueAt, valuesOf, withValue } from '../../console/src/author/form/edit-yaml.ts';

const TEXT = `# head
version: 1   # the format
pipeline:
    source:
        type: csv # what
        config: { path: a.csv, delimiter: ';' }

    # where to
    sink:
        type:  jsonl
        config:
            # the file
            path: "b.jsonl" # quoted

# rows
matrix:
  - id: one   # the first
    sink: { config: {} }
  - { id: two }
`;
const SINK = ['pipeline', 'sink', 'config'];

const cases: readonly (readonly [string, (string | number)[], unknown, string, string])[] = [
  [
    'a quoted text',
    [...SINK, 'path'],
    'c.jsonl',
    'path: "b.jsonl" # quoted',
    'path: c.jsonl # quoted',
  ],
  [
    'a text of a flow map',
    ['pipeline', 'source', 'config', 'delimiter'],
    ',',
    "delimiter: ';'",
    'delimiter: ","',
  ],
  [
    'a new key of a flow map',
    ['pipeline', 'source', 'config', 'limit'],
    5,
    "delimiter: ';' }",
    "delimiter: ';', limit: 5 }",
  ],
  [
    'a token in a flow map',
    ['pipeline', 'source', 'config', 'key'],
    '${env:KEY}',
    "';' }",
    `';', key: "\${env:KEY}" }`,
  ],
  [
    'a new key of a block map',
    [...SINK, 'batch_size'],
    10,
    '# quoted\n',
    '# quoted\n            batch_size: 10\n',
  ],
  [
    'a new map',
    [...SINK, 'auth', 'type'],
    'none',
    '# quoted\n',
    '# quoted\n            auth:\n              type: none\n',
  ],
  ['the kind', ['pipeline', 'source', 'type'], 'sqlite', 'type: csv # what', 'type: sqlite # what'],
  [
    'nothing, in a flow map',
    ['pipeline', 'source', 'config', 'delimiter'],
    undefined,
    ", delimiter: ';'",
    '',
  ],
  [
    'nothing, first in a flow map',
    ['pipeline', 'source', 'config', 'path'],
    undefined,
    'path: a.csv, ',
    '',
  ],
  [
    'nothing, alone in a block map',
    [...SINK, 'path'],
    undefined,
    'path: "b.jsonl" # quoted',
    '{} # quoted',
  ],
  [
    'a member of a row',
    ['matrix', 0, 'sink', 'config', 'path'],
    'x',
    'config: {} }',
    'config: { path: x } }',
  ],
  [
    'a row',
    ['matrix', 2],
    { id: 'three', source: { config: { table: 't' } } },
    '- { id: two }\n',
    '- { id: two }\n  - id: three\n    source:\n      config:\n        table: t\n',
  ],
  [
    'several lines',
    [...SINK, 'note'],
    'a\n  b\n',
    '# quoted\n',
    '# quoted\n            note: |\n              a\n                b\n',
  ],
];

it.each(cases)('changes only its place: %s', (_name, steps, value, before, after) => {
  expect(TEXT).toContain(before);
  const changed = withValue(TEXT, steps, value);
  expect(changed).toBe(TEXT.replace(before, () => after));
  expect(valueAt(valuesOf(changed ?? ''), steps)).toEqual(value);
});

it('keeps the comment beside a line that goes', () => {
  const text = 'a:\n  b: 1 # why\n  c: 2\n';
  expect(withValue(text, ['a', 'b'], undefined)).toBe('a:\n  # why\n  c: 2\n');
});

it('replaces a text of several lines by one of several lines', () => {
  const text = 'a:\n  q: |\n    SELECT 1\n    FROM x\n  # after\n  c: 2\n';
  expect(withValue(text, ['a', 'q'], 'SELECT 2\nFROM y\n')).toBe(
    'a:\n  q: |\n    SELECT 2\n    FROM y\n  # after\n  c: 2\n',
  );
});

it('fills in what is empty', () => {
  expect(withValue('a:\n  b: # later\n  c: 1\n', ['a', 'b'], 'x')).toBe(
    'a:\n  b: x # later\n  c: 1\n',
  );
  expect(withValue('a:\n  b: # later\n  c: 1\n', ['a', 'b', 'd'], 'x')).toBe(
    'a:\n  b: # later\n    d: x\n  c: 1\n',
  );
  expect(withValue('', ['pipeline', 'source', 'type'], 'csv')).toBe(
    'pipeline:\n  source:\n    type: csv\n',
  );
  expect(withValue('# only this\n', ['version'], 1)).toBe('# only this\nversion: 1\n');
});

it('replaces a text that is empty, in quotes', () => {
  expect(withValue('a:\n  b: "" # none\n', ['a', 'b'], 'c')).toBe('a:\n  b: c # none\n');
});

it('changes JSON as JSON', () => {
  const text = '{\n  "a": {\n    "b": 1\n  }\n}\n';
  expect(withValue(text, ['a', 'c'], 'x')).toBe('{\n  "a": {\n    "b": 1,\n    "c": "x"\n  }\n}\n');
  expect(withValue(text, ['a', 'b'], 'yes')).toBe('{\n  "a": {\n    "b": "yes"\n  }\n}\n');
  expect(withValue('{"m":[]}', ['m', 0], { id: 1 })).toBe('{"m":[{"id":1}]}');
});

it('replaces a map that holds no comment, and leaves one that does', () => {
  const text = 'a:\n  map:\n    x: 1\n    y: 2\nb: 1 # end\n';
  expect(withValue(text, ['a', 'map'], { z: 3 })).toBe('a:\n  map:\n    z: 3\nb: 1 # end\n');
  expect(withValue(text.replace('x: 1', 'x: 1 # why'), ['a', 'map'], { z: 3 })).toBeUndefined();
});

it('does not touch what is shared, or cannot be read', () => {
  expect(withValue('a: &x { b: 1 }\nc: *x\n', ['c', 'b'], 2)).toBeUndefined();
  expect(withValue('a: [\n', ['a'], 2)).toBeUndefined();
});
