import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { runCommand, testWiring } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-fix-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function cli(
  ...words: string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  return runCommand(words, testWiring(parts), { cwd });
}

function write(name: string, content: string | Buffer): void {
  writeFileSync(path.join(cwd, name), content);
}

const read = (name: string): string => readFileSync(path.join(cwd, name), 'utf8');

const document = (config: string, more = ''): string => `# kept
version: 1
name: orders
pipeline:
  source:
    type: csv
    config: { path: in.csv${config} } # the export
${more}  sink: { type: jsonl, config: { path: out.jsonl } }
`;

/** The document runs once it is mended; gives what it wrote. */
async function mended(text: string): Promise<string[]> {
  write('d.yaml', text);
  const fix = await cli('fix', 'd.yaml', '--apply');
  expect([fix.code, fix.err]).toEqual([0, expect.stringContaining('wrote d.yaml')]);
  expect(read('d.yaml')).toContain('# kept');
  expect(read('d.yaml')).toContain('# the export');
  expect((await cli('run', 'd.yaml', '--quiet')).code).toBe(0);
  return read('out.jsonl').trim().split('\n');
}

describe('fix', () => {
  it('shows the values that stop most records, and proposes a change without making it', async () => {
    write('in.csv', 'id,n\n1,2\nx,3\n3,N/A\n5,N/A\n4\n');
    const text = document(', columns: { id: int64, n: int64 }');
    write('d.yaml', text);
    const { code, out, err } = await cli('fix', 'd.yaml');
    expect(code).toBe(1);
    expect(out).toMatch(/^row-0 {2}5 records read, 4 cannot go on\n {4}"N\/A" {2}`n` in line 4 of/);
    expect(out).toContain('"x"  `id` in line 3 of in.csv is no int64');
    expect(out).toContain('because "N/A" stands for no value');
    expect(out).toMatch(/^\+ .*null_values: \[ N\/A \].*on_error: dlq/m);
    expect(out).toMatch(/after: {2}5 records read, 2 cannot go on/);
    expect(err).toContain('nothing is written: `--apply` changes d.yaml');
    expect(read('d.yaml')).toBe(text);
  });

  it('shows the first record that the change lets through', async () => {
    write('in.csv', 'id,n\n1,2\n2,3\n3,4\n4,5\n5,N/A\n');
    write('d.yaml', document(', columns: { id: int64, n: int64 }'));
    const { out } = await cli('fix', 'd.yaml');
    expect(out).toMatch(
      /before: 5 .* 1 cannot go on\n.*after: {2}5 .*all go on\n {4}\{"id":5,"n":null\}\n/,
    );
    expect(out).not.toContain('{"id":1');
  });

  it('puts aside what cannot be mended', async () => {
    write('in.csv', 'id\n1\nx\n');
    expect(await mended(document(', columns: { id: int64 }'))).toEqual(['{"id":1}']);
    expect(read('rejected.jsonl')).toContain('"x"');
  });

  it.each<[string, string | Buffer, string, string[]]>([
    ['another delimiter', 'id;n\n1;2\n', '', ['{"id":"1","n":"2"}']],
    [
      'lines above the table',
      'Report\n\nid,n\n1,2\n3,4\n',
      '',
      ['{"id":"1","n":"2"}', '{"id":"3","n":"4"}'],
    ],
    ['another encoding', Buffer.from('id,n\n1,Köln\n', 'latin1'), '', ['{"id":"1","n":"Köln"}']],
    ['UTF-16', Buffer.from('\ufeffid,n\n1,2\n', 'utf16le'), '', ['{"id":"1","n":"2"}']],
    [
      'a delimiter that is not that of the file',
      'id,n\n1,2\n',
      ", delimiter: ';'",
      ['{"id":"1","n":"2"}'],
    ],
  ])('finds how the file is read: %s', async (_name, content, config, lines) => {
    write('in.csv', content);
    expect(await mended(document(config))).toEqual(lines);
  });

  it('mends commas in numbers, and names of fields and keys that are nearly right', async () => {
    write('in.csv', 'id;price\n1;2,5\n2;1.000,75\n');
    const cast =
      '  transforms:\n    - { type: cast, config: { feilds: { id: int, prise: float } } }\n';
    expect(await mended(document(", delimiter: ';'", cast))).toEqual([
      '{"id":1,"price":2.5}',
      '{"id":2,"price":1000.75}',
    ]);
  });

  it('mends a document in JSON, whose numbers stay as they are written', async () => {
    write('in.csv', 'id;price\n1;2,5\nx;3,5\n2;NA\n');
    const text = `{
    "version": 1, "name": "orders",
    "pipeline": {
        "source": { "type": "csv", "config": { "path": "in.csv", "delimitr": ";", "batch_size": 1e2 } },
        "transforms": [{ "type": "cast", "config": { "fields": { "price": "float" } } }],
        "sink": { "type": "jsonl", "config": { "path": "out.jsonl" } }
    }
}
`;
    write('d.json', text);
    const fix = await cli('fix', 'd.json', '--apply');
    expect([fix.code, fix.err]).toEqual([0, expect.stringContaining('wrote d.json')]);
    expect(read('d.json')).toMatch(/^ {4}"version": 1,\n/m);
    expect(read('d.json')).toContain('"batch_size": 1e2');
    expect(JSON.parse(read('d.json'))).toMatchObject({
      pipeline: {
        source: { config: { path: 'in.csv', delimiter: ';' } },
        transforms: [{ config: { decimal_separator: ',' } }],
        dlq: { sink: { type: 'jsonl' } },
      },
    });
    expect((await cli('run', 'd.json', '--quiet')).code).toBe(0);
  });

  it.each([
    ['may separate thousands', ['1,234', '9,001']],
    ['separates thousands', ['1,234', '12,500.50', '7,5']],
  ])('leaves a comma alone that %s', async (_name, numbers) => {
    write('in.csv', `id;price\n${numbers.map((one, at) => `${at};${one}\n`).join('')}`);
    const cast = '  transforms:\n    - { type: cast, config: { fields: { price: float } } }\n';
    write('d.yaml', document(", delimiter: ';'", cast));
    const { out } = await cli('fix', 'd.yaml');
    expect(out).toContain('"1,234"');
    expect(out).not.toContain('decimal_separator');
  });

  it('goes on with what a wrong delimiter has hidden', async () => {
    write('in.csv', 'id;n\n1;2\n2;N/A\n');
    expect(await mended(document(', columns: { id: int64, n: int64 }'))).toEqual([
      '{"id":1,"n":2}',
      '{"id":2,"n":null}',
    ]);
  });

  it('leaves a document alone that works, and one for which nothing helps', async () => {
    write('in.csv', 'id,n\n1,2\n');
    write('d.yaml', document(''));
    const fine = await cli('fix', 'd.yaml');
    expect([fine.code, fine.err]).toEqual([0, 'nothing to mend in these records\n']);
    write('d.yaml', document('').replace('in.csv', 'gone.csv'));
    const gone = await cli('fix', 'd.yaml', '--apply');
    expect([gone.code, gone.err]).toEqual([1, 'no change was found that helps\n']);
    expect(gone.out).toContain('gone.csv: it does not exist');
    write('d.yaml', 'version: 1\nname: x\npipeline: {}\n');
    expect((await cli('fix', 'd.yaml')).err).toContain('cannot be used');
  });

  it('is one JSON document, and shows no value of a document that masks some', async () => {
    write('in.csv', 'id,card\nhush,1\n');
    const masking =
      '  masking: { rules: [{ match: { fields: [id] }, action: { type: redact } }] }\n';
    write('d.yaml', document(', columns: { id: int64 }', masking));
    const { out } = await cli('fix', 'd.yaml', '--output', 'json');
    expect(out).not.toContain('hush');
    expect(JSON.parse(out)).toEqual({
      config: 'd.yaml',
      rows: [
        {
          row: 'row-0',
          before: { records: 1, cannot_go_on: 1, fatal: null, output: [] },
          worst: [
            {
              stage: 'source',
              field: 'id',
              place: 'line 2 of in.csv',
              message: '`id` in line 2 of in.csv is no int64',
              records: 1,
            },
          ],
          after: { records: 1, cannot_go_on: 1, fatal: null, output: [] },
        },
      ],
      patch: {
        reasons: [expect.stringContaining('put aside')],
        diff: expect.arrayContaining([expect.stringMatching(/^\+ .*on_error: dlq/)]),
        puts_aside: true,
        applied: false,
      },
    });
  });
});
