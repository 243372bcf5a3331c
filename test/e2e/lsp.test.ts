/** Editors: the program as an editor starts it, and the client side of the protocol's own library. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
  type CompletionItem,
  type Diagnostic,
  type Hover,
  type Location,
  type Position,
  type ProtocolConnection,
  type PublishDiagnosticsParams,
  type Range,
  type TextEdit,
} from 'vscode-languageserver/node';
import { eventually } from '../support/eventually.ts';
import { launcherPath } from '../servers/bundle.ts';

const LAUNCHER = await launcherPath();
const cwd = mkdtempSync(join(tmpdir(), 'headgate-lsp-'));
let child: ChildProcess;
let connection: ProtocolConnection;
let capabilities: object;
let stderr = '';
const published = new Map<string, PublishDiagnosticsParams>();

beforeAll(async () => {
  child = spawn(process.execPath, [LAUNCHER, 'lsp', '--stdio'], {
    cwd,
    env: { PATH: process.env['PATH'], SHOP_PASSWORD: 'never-to-be-seen' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('there are pipes');
  child.stderr?.on('data', (data: Buffer) => (stderr += data.toString()));
  connection = createProtocolConnection(
    new StreamMessageReader(stdout),
    new StreamMessageWriter(stdin),
  );
  connection.onNotification(
    'textDocument/publishDiagnostics',
    (params: PublishDiagnosticsParams) => void published.set(params.uri, params),
  );
  connection.listen();
  const answer = await connection.sendRequest<{ capabilities: object }>('initialize', {
    processId: process.pid,
    rootUri: null,
    capabilities: {},
  });
  ({ capabilities } = answer);
  await connection.sendNotification('initialized', {});
});

afterAll(() => {
  connection.dispose();
  child.kill('SIGKILL');
  rmSync(cwd, { recursive: true });
});

const uriOf = (name: string): string => pathToFileURL(join(cwd, name)).href;

/** Opens a document with the cursor at `|`, and gives its place. */
async function open(name: string, marked: string): Promise<{ uri: string; position: Position }> {
  const uri = uriOf(name);
  const offset = marked.indexOf('|');
  const text = marked.replace('|', '');
  const before = text.slice(0, Math.max(0, offset)).split('\n');
  await connection.sendNotification('textDocument/didOpen', {
    textDocument: {
      uri,
      languageId: name.endsWith('.json') ? 'headgate-json' : 'headgate-yaml',
      version: 1,
      text,
    },
  });
  return { uri, position: { line: before.length - 1, character: before.at(-1)?.length ?? 0 } };
}

async function diagnosticsOf(uri: string, version = 1): Promise<Diagnostic[]> {
  await expect.poll(() => published.get(uri)?.version).toBe(version);
  return published.get(uri)?.diagnostics ?? [];
}

/** `4:10-4:13`, counted from one. */
function written({ start, end }: Range): string {
  return `${start.line + 1}:${start.character + 1}-${end.line + 1}:${end.character + 1}`;
}

async function ask<T>(method: string, name: string, marked: string): Promise<T> {
  const { uri, position } = await open(name, marked);
  return connection.sendRequest<T>(method, { textDocument: { uri }, position });
}

let documents = 0;
async function complete(marked: string, extension = 'yaml'): Promise<CompletionItem[]> {
  documents += 1;
  return ask('textDocument/completion', `typed-${documents}.${extension}`, marked);
}

const labels = (items: readonly CompletionItem[]): string[] => items.map(({ label }) => label);

it('says what it can do', () => {
  expect(capabilities).toMatchObject({
    hoverProvider: true,
    definitionProvider: true,
    documentFormattingProvider: true,
    completionProvider: {},
  });
});

it('underlines the faults of validation, and goes on when they are mended', async () => {
  const faulty = `version: 1
name: shop
pipeline:
  source: { type: csvv, config: { path: in.csv } }
  sink:
    type: sqlite
    config: { database_url: out.db, table_nam: t, write_mode: merge }
`;
  const { uri } = await open('faulty.yaml', faulty);
  const found = await diagnosticsOf(uri);
  expect(found.map(({ range, code, severity }) => [written(range), code, severity])).toEqual([
    ['4:19-4:23', 'unknown_type', 1],
    ['7:5-7:11', 'missing_key', 1],
    ['7:37-7:46', 'unknown_key', 1],
    ['7:63-7:68', 'invalid_value', 1],
  ]);
  expect(found[2]?.message).toContain('did you mean `table_name`?');
  const mended = faulty
    .replace('csvv', 'csv')
    .replace('table_nam', 'column_mapping: auto_map, table_name')
    .replace(', write_mode: merge', '');
  await connection.sendNotification('textDocument/didChange', {
    textDocument: { uri, version: 2 },
    contentChanges: [{ text: mended }],
  });
  const rest = await diagnosticsOf(uri, 2);
  expect(rest.map(({ severity }) => severity)).not.toContain(1);
});

it('shows what lint finds, and reads no variable and no secret', async () => {
  const { uri } = await open(
    'lint.yaml',
    `version: 1
name: shop
vars:
  unused: 1
pipeline:
  source: { type: csv, config: { path: in.csv } }
  sink:
    type: postgres
    config:
      connection_url: 'postgres://me:\${env:SHOP_PASSWORD}@\${env:NOT_SET}/\${vault:kv/shop#key}'
      table_name: t
      column_mapping: auto_map
`,
  );
  const found = await diagnosticsOf(uri);
  const unused = found.find(({ code }) => code === 'unused-var');
  expect([unused?.severity, unused && written(unused.range)]).toEqual([2, '4:11-4:12']);
  expect(found.filter(({ severity }) => severity === 1)).toEqual([]);
  expect(JSON.stringify(found)).not.toContain('never-to-be-seen');
});

it('says where a text is no YAML, and which file of several is at fault', async () => {
  const { uri } = await open('broken.yaml', 'version: 1\npipeline: {\n');
  expect((await diagnosticsOf(uri)).map(({ code }) => code)).toEqual(['bad_yaml']);
  writeFileSync(join(cwd, 'common.yaml'), 'pipeline: { sourc: { type: csv } }\n');
  const extending = await open(
    'child.yaml',
    'version: 1\nextends: common.yaml\npipeline: { sink: { type: stdout } }\n',
  );
  const found = await diagnosticsOf(extending.uri);
  const other = found.find(({ code }) => code === 'unknown_key');
  expect(other?.relatedInformation?.[0]?.location).toEqual({
    uri: uriOf('common.yaml'),
    range: { start: { line: 0, character: 12 }, end: { line: 0, character: 12 } },
  });
  // The text in the editor stands for the file that is not saved yet.
  await open('common.yaml', 'pipeline: { source: { type: csv, config: { path: in.csv } } }\n');
  await expect
    .poll(() => published.get(extending.uri)?.diagnostics.map(({ code }) => code))
    .not.toContain('unknown_key');
});

it('completes types where brackets are still open, and says what they are', async () => {
  const items = await complete('version: 1\npipeline:\n  sink: {type: |\nmatrix:\n  - id: a\n');
  expect(labels(items)).toEqual(expect.arrayContaining(['sqlite', 'postgres', 'stdout']));
  expect(labels(items)).not.toContain('config');
  expect(items.find(({ label }) => label === 'sqlite')?.documentation).toEqual({
    kind: 'markdown',
    value: 'Rows of a table in a SQLite database file.',
  });
});

it('completes the settings of the type, and their values', async () => {
  const keys = await complete(
    'pipeline:\n  sink:\n    type: sqlite\n    config:\n      table_name: t\n      wri|\n    other: x\n',
  );
  expect(labels(keys)).toEqual(expect.arrayContaining(['write_mode', 'database_url', 'key']));
  expect(labels(keys)).not.toContain('table_name');
  expect(keys.find(({ label }) => label === 'write_mode')?.textEdit).toEqual({
    range: { start: { line: 5, character: 6 }, end: { line: 5, character: 9 } },
    newText: 'write_mode: ',
  });
  const values = await complete('pipeline:\n  sink: { type: sqlite, config: { write_mode: | } }\n');
  expect(labels(values)).toEqual(expect.arrayContaining(['append', 'upsert']));
  const top = await complete('version: 1\n|\n');
  expect(labels(top)).toEqual(expect.arrayContaining(['pipeline', 'matrix', 'name']));
});

it('completes JSON with its quotes', async () => {
  const keys = await complete('{"version": 1, "pipeline": {"sink": {"type": "csv", |', 'json');
  expect(keys.find(({ label }) => label === 'config')?.textEdit?.newText).toBe('"config": ');
  const inside = await complete('{"pipeline": {"sink": {"type": "sql|"}}}', 'json');
  expect(inside.find(({ label }) => label === 'sqlite')?.textEdit).toEqual({
    range: { start: { line: 0, character: 32 }, end: { line: 0, character: 35 } },
    newText: 'sqlite',
  });
});

const NAMED = `version: 1
name: shop
vars: { folder: data }
auth:
  crm: { type: static, config: { token: x } }
pipeline:
  sources:
    orders: { type: csv, config: { path: '\${vars.folder}/in.csv' } }
  sinks:
    out: { type: sqlite, config: { database_url: out.db, table_name: t } }
matrix:
  - id: first
    source: { ref: orders }
    sink: { ref: out }
  - id: second
    depends_on: [first]
`;

it('completes the names of presets, logins, rows and variables', async () => {
  const at = (marked: string) => complete(`${NAMED}  - id: third\n${marked}`).then(labels);
  expect(await at('    sink: { ref: |')).toEqual(['out']);
  expect(await at('    source: { ref: |')).toEqual(['orders']);
  expect(await at('    depends_on:\n      - fi|\n')).toEqual(
    expect.arrayContaining(['first', 'second', 'third']),
  );
  expect(await at('    parent: |')).toEqual(expect.arrayContaining(['first', 'second']));
  expect(await at("    source: { ref: orders, config: { path: '${vars.f|' } }")).toEqual([
    'folder',
  ]);
  expect(await at('    source: { type: rest, config: { auth: { ref: |')).toEqual(['crm']);
  // What follows a quote that is still open is not lost.
  const above = 'matrix:\n  - sink: { ref: "|\npipeline:\n  sinks: { lake: { type: stdout } }\n';
  expect(labels(await complete(above))).toEqual(['lake']);
  // The settings are those of the preset.
  expect(await at('    sink: { ref: out, config: { |')).toContain('write_mode');
});

it('explains the field and the part under the cursor', async () => {
  const field = await ask<Hover>(
    'textDocument/hover',
    'hover.yaml',
    'pipeline:\n  sink:\n    type: sqlite\n    config: { write_m|ode: append }\n',
  );
  expect(field.contents).toEqual({
    kind: 'markdown',
    value: expect.stringMatching(
      /^\*\*write_mode\*\*\n\n.+\n\nType: string {2}\nDefault: `"append"`/,
    ),
  });
  expect(field.range && written(field.range)).toBe('4:15-4:25');
  const part = await ask<Hover>(
    'textDocument/hover',
    'hover-type.yaml',
    'pipeline:\n  sink: { type: sql|ite, config: {',
  );
  expect(part.contents).toEqual({
    kind: 'markdown',
    value: '**sqlite**\n\nRows of a table in a SQLite database file.',
  });
});

it('goes to what a name refers to, also in a file that the document extends', async () => {
  const find = async (name: string, from: string, to: string): Promise<string> => {
    const found = await ask<Location | null>(
      'textDocument/definition',
      name,
      NAMED.replace(from, to),
    );
    return found === null ? 'nowhere' : written(found.range);
  };
  expect(await find('to-sink.yaml', 'ref: out', 'ref: o|ut')).toBe('10:5-10:8');
  expect(await find('to-source.yaml', 'ref: orders', 'ref: or|ders')).toBe('8:5-8:11');
  expect(await find('to-row.yaml', '[first]', '[fi|rst]')).toBe('12:9-12:14');
  expect(await find('to-var.yaml', '{vars.folder}', '{vars.fo|lder}')).toBe('3:9-3:15');
  expect(await find('to-none.yaml', 'name: shop', 'name: sh|op')).toBe('nowhere');
  writeFileSync(
    join(cwd, 'presets.yaml'),
    'pipeline:\n  sinks:\n    lake: { type: jsonl, config: { path: out.jsonl } }\n',
  );
  const elsewhere = await ask<Location>(
    'textDocument/definition',
    'extending.yaml',
    'version: 1\nextends: presets.yaml\nmatrix:\n  - sink: { ref: la|ke }\n',
  );
  expect([elsewhere.uri, written(elsewhere.range)]).toEqual([uriOf('presets.yaml'), '3:5-3:9']);
});

it('formats as `fmt` does, and leaves a text alone that it cannot read', async () => {
  const { uri } = await open('order.yaml', 'name:   shop\nversion: 1 # first\n');
  const format = (of: string) =>
    connection.sendRequest<TextEdit[]>('textDocument/formatting', {
      textDocument: { uri: of },
      options: { tabSize: 2, insertSpaces: true },
    });
  expect(await format(uri)).toEqual([
    {
      range: { start: { line: 0, character: 0 }, end: { line: 2, character: 0 } },
      newText: 'version: 1 # first\nname: shop\n',
    },
  ]);
  const broken = await open('cannot.yaml', 'a: {\n');
  expect(await format(broken.uri)).toEqual([]);
});

it('ends when it is told to', async () => {
  await connection.sendRequest('shutdown');
  await connection.sendNotification('exit');
  await eventually(() => expect(child.exitCode).toBe(0));
  expect(stderr).toBe('');
});
