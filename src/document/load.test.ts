import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { load, loadOptions, refusalOf } from '../../test/fakes/documents.ts';
import { BLOCKS } from '../blocks/index.ts';
import { documentOfTree, loadDocumentFile } from './load.ts';
import { localFiles } from './text/local-file.ts';

const submitted = { kind: 'submitted' } as const;

describe('the name of a document', () => {
  test('is the one given, or its own, or that of the file, or `pipeline`', () => {
    expect(load('name: own', { name: 'given' }).name).toBe('given');
    expect(load('name: own').name).toBe('own');
    expect(load('name: "${env:NAME}"').name).toBe('value');
    expect(load('a: 1', { origin: { kind: 'file', path: 'dir/orders.daily.yaml' } }).name).toBe(
      'orders.daily',
    );
    expect(load('a: 1', { origin: submitted }).name).toBe('pipeline');
  });
});

describe('stages of refusal', () => {
  test('a text that cannot be read is reported as `parse`', () => {
    expect(refusalOf(() => load('a: [')).stage).toBe('parse');
  });

  test('tokens that cannot be filled in are reported as `interpolate`, all of them, with places', () => {
    const refusal = refusalOf(() => load('a: ${env:ONE}\nb: ${env:TWO}'));
    expect(refusal.stage).toBe('interpolate');
    expect(refusal.issues.map(({ line, column, file }) => [file, line, column])).toEqual([
      ['test.yaml', 1, 1],
      ['test.yaml', 2, 1],
    ]);
  });

  test('a schedule in a submitted document is reported as `parse`; a file may hold one', () => {
    const refusal = refusalOf(() =>
      load('schedule: {cron: "* * * * *"}', { origin: submitted, blocks: BLOCKS }),
    );
    expect([refusal.stage, refusal.issues[0]?.code, refusal.issues[0]?.line]).toEqual([
      'parse',
      'schedule_refused',
      1,
    ]);
    expect(load('schedule: {cron: "* * * * *"}').tree['schedule']).toBeDefined();
  });

  test('composition is for files only, and touches no file', () => {
    const refusal = refusalOf(() => load('a: !include secrets.yaml', { origin: submitted }));
    expect([refusal.stage, refusal.issues[0]?.code]).toEqual(['validate', 'composition_file_only']);
  });
});

describe('the defaults of a server', () => {
  test('lie beneath the document', () => {
    const base = { execution: { max_concurrent: 2, on_error: 'stop' }, vars: { a: 1, b: 2 } };
    expect(
      load('execution: {max_concurrent: 5}\nvars: {b: 3}\nx: "${vars.a}${vars.b}"', { base }).tree,
    ).toEqual({
      execution: { max_concurrent: 5, on_error: 'stop' },
      vars: { a: 1, b: 3 },
      x: '13',
    });
  });

  test('may be the tree of a loaded document: what was escaped there stays escaped', () => {
    const base = load('vars: {a: "$${env:NAME}", b: "${env:TOKEN}"}').tree;
    expect(load('x: "${vars.a}${vars.b}"', { base }).tree['x']).toBe(
      '$\u0000{env:NAME}$\u0000{now.date}',
    );
  });
});

describe('files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'documents-'));
  const read = (name: string, content: string | Uint8Array) => {
    writeFileSync(join(folder, name), content);
    return loadDocumentFile(join(folder, name), loadOptions({ readFile: localFiles(folder) }));
  };
  const codeOf = (act: () => unknown) => refusalOf(act).issues[0]?.code;

  test('the extension decides the format, whatever its case', () => {
    expect(read('a.YAML', 'b: yes').tree).toEqual({ b: 'yes' });
    expect(read('a.yml', 'b: 1').name).toBe('a');
    expect(read('a.Json', '{"b": 1}').tree).toEqual({ b: 1 });
    expect(codeOf(() => read('a.toml', 'b = 1'))).toBe('unsupported_extension');
    expect(codeOf(() => read('a', 'b: 1'))).toBe('unsupported_extension');
    expect(codeOf(() => read('b.json', 'b: yes'))).toBe('bad_json');
  });

  test('files that are absent or no text are refused by name', () => {
    const refusal = refusalOf(() =>
      loadDocumentFile(join(folder, 'none.yaml'), loadOptions({ readFile: localFiles(folder) })),
    );
    expect(refusal.issues[0]).toMatchObject({
      code: 'file_unreadable',
      message: 'there is no such file',
      hint: expect.stringContaining('check the path'),
      file: join(folder, 'none.yaml'),
    });
  });

  test.each([
    ['the line', Buffer.from('a: 1\nb: M\u00fcller\n', 'latin1'), 'line 2 is not UTF-8 text'],
    ['UTF-16', Buffer.from('\ufeffa: 1\n', 'utf16le'), 'the file is UTF-16'],
  ])('a file of another encoding is refused with %s and what to do', (_, bytes, message) => {
    expect(refusalOf(() => read('c.yaml', bytes)).issues[0]).toMatchObject({
      code: 'bad_encoding',
      message,
      hint: 'save the file as UTF-8',
    });
  });

  test('what is no file is told before what its name lacks', () => {
    const told = (path: string) =>
      refusalOf(() => loadDocumentFile(path, loadOptions({ readFile: localFiles(folder) })))
        .issues[0]?.message;
    expect(told(folder)).toBe('it is a folder, not a regular file');
    expect(told(join(folder, 'none'))).toBe('there is no such file');
  });

  test('a token says why its file cannot be read', () => {
    expect(refusalOf(() => read('t.yaml', 'a: "${file:absent}"')).issues[0]?.message).toBe(
      'the file `absent` of `${file:absent}` cannot be read: it does not exist',
    );
  });

  test('tokens read files from the folder', () => {
    writeFileSync(join(folder, 'secret.txt'), 'hush \n');
    expect(read('d.yaml', 'a: "${file:secret.txt}"').tree).toEqual({ a: 'hush' });
  });
});

test('a loaded tree makes the same document again in another process', () => {
  const first = load('name: n\na: "$${x} ${now.date} ${env:TOKEN}"');
  const again = documentOfTree(JSON.parse(JSON.stringify(first.tree)) as typeof first.tree, {
    name: first.name,
  });
  expect([again.name, again.tree]).toEqual([first.name, first.tree]);
});
