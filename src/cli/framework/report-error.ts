/** Prints a failure: what and where, why, and what to do about it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { AppError, ConfigError, RunError, messageOf, type Issue } from '../../lib/errors.ts';
import { cureOfAny } from '../../wire/command-codes.ts';
import { fileFault } from '../../lib/files/file-fault.ts';
import type { Terminal } from '../render/render.ts';

export interface ReportOptions {
  readonly terminal: Terminal;
  readonly cwd: string;
  /** The document the command worked on, for issues that name no file. */
  readonly document: string | undefined;
}

export function reportError(error: unknown, options: ReportOptions): void {
  const { terminal } = options;
  if (error instanceof ConfigError) {
    reportIssues(error, options);
  } else {
    terminal.note(
      `${terminal.paint('red', 'error:')} ${messageOf(error)}${codeOf(error, terminal)}`,
    );
    if (error instanceof RunError && error.at !== undefined)
      terminal.note(`${terminal.paint('cyan', 'at:')} ${error.at}`);
    const hint = hintOf(error);
    if (hint !== undefined) terminal.note(`${terminal.paint('cyan', 'hint:')} ${hint}`);
  }
  for (const cause of causesOf(error)) terminal.note(`caused by: ${cause}`);
  if (!(error instanceof AppError) && error instanceof Error && error.stack !== undefined) {
    terminal.note(terminal.paint('dim', error.stack.slice(error.stack.indexOf('\n') + 1)));
    terminal.note('this is a defect of Headgate: please report it with the lines above');
  }
}

/** A command line that cannot be understood has no code to look up: its help says it all. */
function codeOf(error: unknown, terminal: Terminal): string {
  if (!(error instanceof AppError) || error.code === 'usage') return '';
  return `  ${terminal.paint('dim', `[${error.code}]`)}`;
}

function hintOf(error: unknown): string | undefined {
  if (!(error instanceof AppError)) return undefined;
  return error.hint ?? (error.code === 'usage' ? undefined : cureOfAny(error.code));
}

function reportIssues(error: ConfigError, options: ReportOptions): void {
  const { terminal } = options;
  // What is at fault may be another file than the document: a sample, or one that it includes.
  const files = new Set(error.issues.map(({ file }) => file ?? options.document));
  const [only] = files;
  const named = files.size === 1 ? only : (options.document ?? error.issues[0]?.file);
  const name = named === undefined ? 'the document' : shortPath(named, options.cwd);
  const problems = error.issues.length === 1 ? '1 problem' : `${error.issues.length} problems`;
  terminal.note(`${terminal.paint('red', 'error:')} ${name} cannot be used: ${problems}`);
  for (const issue of error.issues) reportIssue(issue, undefined, options);
}

/**
 * Where issues of both kinds stand together, each says its severity. `headgate.yaml:12:7
 * matrix[2].sink.config.write_mode  "upsrt" is not …  (did you mean `upsert`?)  [invalid_value]`
 */
export function reportIssue(
  issue: Issue,
  severity: 'error' | 'warning' | undefined,
  options: ReportOptions,
): void {
  const { terminal, cwd } = options;
  const style = severity === 'warning' ? 'yellow' : 'red';
  const file = issue.file ?? options.document;
  const place = [
    file === undefined ? undefined : shortPath(file, cwd),
    issue.line,
    issue.line === undefined ? undefined : issue.column,
  ];
  const parts = [
    terminal.paint('bold', place.filter((step) => step !== undefined).join(':')),
    severity === undefined ? '' : terminal.paint(style, severity),
    terminal.paint('cyan', issue.path),
    issue.message,
    issue.hint === undefined ? '' : `(${issue.hint})`,
    terminal.paint('dim', `[${issue.code}]`),
  ];
  terminal.note(parts.filter((part) => part !== '').join('  '));
  if (!terminal.watched || file === undefined || issue.line === undefined) return;
  for (const line of excerpt(path.resolve(cwd, file), issue.line, issue.column))
    terminal.note(terminal.paint(line.caret ? style : 'dim', line.text));
}

/**
 * The line before, the line itself and a caret under the place; nothing when the file cannot be
 * read (any more).
 */
function excerpt(
  file: string,
  line: number,
  column: number | undefined,
): { text: string; caret: boolean }[] {
  let lines: string[];
  try {
    lines = readFileSync(file, 'utf8').split(/\r?\n/);
  } catch {
    return [];
  }
  const gutter = String(line).length + 4;
  const shown = [line - 1, line]
    .filter((number) => number >= 1 && lines[number - 1] !== undefined)
    .map((number) => ({
      text: `${String(number).padStart(gutter)} | ${lines[number - 1]}`,
      caret: false,
    }));
  if (column === undefined || shown.length === 0) return shown;
  // Tabs are kept, so that the caret stands under its character whatever a tab is wide.
  const before = (lines[line - 1] ?? '').slice(0, column - 1).replaceAll(/[^\t]/g, ' ');
  return [...shown, { text: `${' '.repeat(gutter)} | ${before}^`, caret: true }];
}

/**
 * Errors of the system and of the language that messages tell in plain words. A parser of the language
 * quotes what it read, which may be a secret.
 */
function isPlain(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  if (cause instanceof RangeError || cause instanceof SyntaxError) return true;
  return fileFault(cause).says !== cause.message;
}

/** Sentences of the causes, as long as each says something the one before did not. */
function causesOf(error: unknown): string[] {
  const sentences: string[] = [];
  let previous = messageOf(error);
  const seen = new Set<unknown>([error]);
  for (
    let cause = error instanceof Error ? error.cause : undefined;
    cause !== undefined && !seen.has(cause);
  ) {
    seen.add(cause);
    const sentence = messageOf(cause);
    if (!previous.includes(sentence) && !isPlain(cause)) sentences.push(sentence);
    previous = sentence;
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return sentences;
}

/** Relative when that is shorter and inside the folder people stand in. */
export function shortPath(file: string, cwd: string): string {
  const relative = path.relative(cwd, path.resolve(cwd, file));
  return relative === '' || relative.startsWith('..') ? file : relative;
}
