import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DiagnosticSeverity, type Diagnostic, type Range } from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { stepsOf } from '../document/parse/steps.ts';
import type { Problem } from './check-document.ts';
import { parseTree, wordsOf, type Word } from './document-tree.ts';

const SEVERITIES = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  advice: DiagnosticSeverity.Information,
};

/** Issues about the key itself; others are about its value. */
const ABOUT_KEYS = new Set(['unknown_key', 'duplicate_key']);

export function diagnosticsOf(
  document: TextDocument,
  file: string,
  problems: readonly Problem[],
): Diagnostic[] {
  const words = problems.length === 0 ? [] : wordsOf(parseTree(document.getText()));
  return problems.map((problem) => {
    const { code, message, hint, severity } = problem;
    const elsewhere = problem.file !== undefined && resolve(problem.file) !== file;
    return {
      range: elsewhere ? firstLine(document) : rangeOf(document, words, problem),
      severity: SEVERITIES[severity],
      code,
      source: 'headgate',
      message: hint === undefined ? message : `${message}\n${hint}`,
      ...(elsewhere ? { relatedInformation: [inOtherFile(problem)] } : {}),
    };
  });
}

function inOtherFile({ file = '', line = 1, column = 1, message }: Problem) {
  const place = { line: line - 1, character: column - 1 };
  const location = { uri: pathToFileURL(resolve(file)).href, range: { start: place, end: place } };
  return { location, message };
}

/** The word that is at fault: the key, or its value where that is plain text. */
function rangeOf(
  document: TextDocument,
  words: readonly Word[],
  { code, path, line, column = 1 }: Problem,
): Range {
  if (line === undefined) return firstLine(document);
  const start = document.offsetAt({ line: line - 1, character: column - 1 });
  const at = words.findIndex((word) => word.start === start);
  const word = words[at];
  if (word === undefined) return restOfLine(document, start);
  const value = words[at + 1];
  const isAboutValue =
    word.role === 'key' &&
    !ABOUT_KEYS.has(code) &&
    stepsOf(path).at(-1) === word.text &&
    value?.role === 'value' &&
    value.end > value.start &&
    value.path.length === word.path.length &&
    value.path.every((step, index) => step === word.path[index]);
  return spanOf(document, isAboutValue ? value : word);
}

function spanOf(document: TextDocument, { start, end }: Pick<Word, 'start' | 'end'>): Range {
  return { start: document.positionAt(start), end: document.positionAt(end) };
}

function restOfLine(document: TextDocument, start: number): Range {
  const line = /^[^\r\n]*/.exec(document.getText().slice(start))?.[0] ?? '';
  return spanOf(document, { start, end: start + line.trimEnd().length });
}

function firstLine(document: TextDocument): Range {
  return restOfLine(document, 0);
}
