/**
 * Writes everything that is derived from the definitions; `--check` only compares and fails on a
 * difference.
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { COMMANDS } from '../src/cli/commands/index.ts';
import { cliReference } from '../src/cli/framework/reference.ts';
import { DESCRIBED_BLOCKS, GRAMMAR } from '../src/blocks/index.ts';
import { editorSchema } from '../src/document/editor-schema.ts';
import { ISSUES } from '../src/document/parse/issues.ts';
import { LINT_RULES } from '../src/features/lint/index.ts';
import { parts } from '../src/parts.ts';
import { describeApi } from '../src/server/openapi.ts';
import { ROUTES } from '../src/server/routes/index.ts';
import { COMMAND_CODES } from '../src/wire/command-codes.ts';
import { RUN_CODES } from '../src/wire/run-codes.ts';
import { clientTypes } from './gen/client-types.ts';
import { errorsPage, lintPage, partPages, type GeneratedFile } from './gen/reference.ts';
import { withConnectors } from './gen/readme.ts';

const ROOT = resolve(import.meta.dirname, '..');
/** Folders that hold generated files only: what is not generated any more is removed. */
const OWNED = ['docs/reference', 'schemas', 'src/client/generated'];

const api = describeApi(ROUTES);
const files: GeneratedFile[] = [
  ...partPages(parts, DESCRIBED_BLOCKS, ROOT),
  { path: 'docs/reference/cli.md', text: cliReference(COMMANDS) },
  {
    path: 'docs/reference/errors.md',
    text: errorsPage({ issues: ISSUES, runs: RUN_CODES, commands: COMMAND_CODES }),
  },
  { path: 'docs/reference/lint.md', text: lintPage(LINT_RULES) },
  { path: 'docs/reference/openapi.json', text: json(api) },
  {
    path: 'README.md',
    text: withConnectors(readFileSync(join(ROOT, 'README.md'), 'utf8'), parts),
  },
  await clientTypes(api),
  { path: 'schemas/headgate.schema.json', text: json(editorSchema(parts, GRAMMAR)) },
];

const stale = process.argv.includes('--check') ? compare() : write();
if (stale.length > 0) {
  console.error(
    `generated files are out of date, run \`npm run gen\`:\n${stale.map((path) => `  ${path}`).join('\n')}`,
  );
  process.exitCode = 1;
}

function compare(): string[] {
  const changed = files.filter(
    ({ path, text }) =>
      !existsSync(join(ROOT, path)) || readFileSync(join(ROOT, path), 'utf8') !== text,
  );
  return [...changed.map(({ path }) => path), ...leftovers()];
}

function write(): string[] {
  for (const path of leftovers()) rmSync(join(ROOT, path));
  for (const { path, text } of files) {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    writeFileSync(join(ROOT, path), text);
  }
  console.log(`${files.length} files written`);
  return [];
}

function leftovers(): string[] {
  const expected = new Set(files.map(({ path }) => path));
  return OWNED.flatMap((folder) => walk(join(ROOT, folder)))
    .map((path) => relative(ROOT, path))
    .filter((path) => !expected.has(path));
}

function walk(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? walk(path) : [path];
  });
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
