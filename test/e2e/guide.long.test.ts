/**
 * The guide and its sister pages, followed to the letter: their files are saved, their commands are
 * run, and what they print is compared.
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headgate } from './headgate.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDERS = ['guide', 'how-to', 'coming-from'];

interface Command {
  readonly line: string;
  readonly expected: readonly string[];
}

type Snippet =
  | { readonly kind: 'file'; readonly name: string; readonly text: string }
  | { readonly kind: 'console'; readonly commands: readonly Command[] };

/**
 * Fenced blocks that are to be saved (`# name.yaml` in the first line, or `[name.csv]` behind the
 * language) or run (`console`), in order. Programs (`ts`) are only to be read.
 */
function snippetsOf(markdown: string): Snippet[] {
  return [...markdown.matchAll(/^```(?!ts\n)(\w+)(?: \[(\S+)\])?\n([\s\S]*?)^```$/gm)].map(
    ([, language, given, text = '']) => {
      if (language === 'console') return { kind: 'console', commands: commandsOf(text) };
      const name = given ?? /^# (\S+\.(?:yaml|json|jsonl|py))\n/.exec(text)?.[1];
      if (name === undefined)
        throw new Error(`a snippet begins with neither a file name nor a command:\n${text}`);
      return { kind: 'file', name, text };
    },
  );
}

function commandsOf(text: string): Command[] {
  return text.split(/^\$ /m).flatMap((part) => {
    const [line = '', ...expected] = part.trimEnd().split('\n');
    return line === '' ? [] : [{ line, expected }];
  });
}

async function follow({ line, expected }: Command, cwd: string): Promise<void> {
  const [, assignments = '', args = '', note] =
    /^((?:\w+=\S+ )*)headgate (.*?)(?: # (.*))?$/.exec(line) ?? [];
  const variables = Object.fromEntries(
    [...assignments.matchAll(/(\w+)=(\S+) /g)].map(([, name = '', value = '']) => [name, value]),
  );
  const run = await headgate(args.split(' '), { cwd, variables });
  const printed = `${run.stdout}\n${run.stderr}`;
  expect(run.code, `${line}\n${printed}`).toBe(
    Number(/exits with (\d)/.exec(note ?? '')?.[1] ?? 0),
  );
  for (const text of expected)
    expect(printed.split('\n').map((one) => one.trimEnd())).toContainEqual(
      expect.stringMatching(patternOf(text)),
    );
}

/** `…` stands for whatever differs from run to run. */
function patternOf(text: string): RegExp {
  const literal = text
    .trimEnd()
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll(/ +/g, ' +'));
  return new RegExp(`^${literal.join('.*')}$`);
}

function save(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const pages = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, 'docs', folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-guide-'));
  cpSync(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the guide', () => {
  it.each(pages)('%s does what it shows', async (page) => {
    const snippets = snippetsOf(readFileSync(join(ROOT, 'docs', page), 'utf8'));
    expect(snippets.filter(({ kind }) => kind === 'console')).not.toHaveLength(0);
    for (const snippet of snippets) {
      if (snippet.kind === 'file') save(join(folder, snippet.name), snippet.text);
      else for (const command of snippet.commands) await follow(command, folder);
    }
  });
});
