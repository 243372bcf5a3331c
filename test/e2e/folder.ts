/** A folder of its own for one test file: documents and inputs go in, outputs are read back. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { headgate, type Finished } from './headgate.ts';

export interface Folder {
  readonly path: string;
  write(name: string, content: string | Uint8Array): void;
  /** Writes records as JSON lines. */
  records(name: string, records: readonly unknown[]): void;
  /** Writes a document as JSON, which is YAML too. */
  document(name: string, pipeline: object, rest?: object): void;
  text(name: string): string;
  /** Reads JSON lines. */
  lines(name: string): unknown[];
  run(args: readonly string[], variables?: Readonly<Record<string, string>>): Promise<Finished>;
  remove(): void;
}

export function makeFolder(purpose: string): Folder {
  const path = mkdtempSync(join(tmpdir(), `headgate-${purpose}-`));
  const write = (name: string, content: string | Uint8Array): void => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), content);
  };
  const text = (name: string): string => readFileSync(join(path, name), 'utf8');
  return {
    path,
    write,
    text,
    records: (name, records) =>
      write(name, records.map((record) => `${JSON.stringify(record)}\n`).join('')),
    document: (name, pipeline, rest = {}) =>
      write(name, JSON.stringify({ version: 1, name: purpose, pipeline, ...rest })),
    lines: (name) => linesOf(text(name)),
    run: (args, variables = {}) => headgate(args, { cwd: path, variables }),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Every line must be ended: a torn last line is a failure of the test. */
export function linesOf(text: string): unknown[] {
  const lines = text.split('\n');
  if (lines.pop() !== '') throw new Error('the last line is not ended');
  return lines.map((line) => JSON.parse(line) as unknown);
}
