/**
 * Records in a file beside a document: sample and test data, not what a source would
 * read.
 */
import { extname } from 'node:path';
import type { Issue } from '../../lib/errors.ts';
import { jsonFault, jsonHint, parseData, type JsonValue } from '../../lib/text/json.ts';
import { formatOf, readFileText, type ReadFile } from '../text/file-text.ts';
import { parseFragment } from './parse.ts';

export type RecordsText =
  | { readonly ok: true; readonly records: readonly JsonValue[] }
  | { readonly ok: false; readonly fault: Pick<Issue, 'code' | 'message' | 'hint'> };

const LINES: ReadonlySet<string> = new Set(['.jsonl', '.ndjson']);

/**
 * `name` is the file as the user wrote it, `path` the one to read. Throws `ConfigError` for a file
 * that is not YAML or JSON.
 */
export function readRecords({
  name,
  path,
  readFile,
}: {
  readonly name: string;
  readonly path: string;
  readonly readFile: ReadFile;
}): RecordsText {
  const isLines = LINES.has(extname(path).toLowerCase());
  const format = formatOf(path);
  if (!isLines && format === undefined)
    return faulty(
      'unsupported_extension',
      `\`${name}\` is not a file of records`,
      'possible are .jsonl, .ndjson, .json, .yaml and .yml',
    );
  const read = readFileText(path, readFile);
  if (!read.ok)
    return { ok: false, fault: { ...read.fault, message: `\`${name}\`: ${read.fault.message}` } };
  if (isLines || format === undefined) return linesOf(read.text, name);
  const { value } = parseFragment(read.text, format, { kind: 'file', path });
  return Array.isArray(value)
    ? { ok: true, records: value }
    : faulty('wrong_type', `\`${name}\` holds no list of records`);
}

function linesOf(text: string, name: string): RecordsText {
  const records: JsonValue[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      records.push(parseData(line));
    } catch (error) {
      return faulty(
        'bad_json',
        `line ${index + 1} of \`${name}\` ${jsonFault(error)}`,
        jsonHint(error, line),
      );
    }
  }
  return { ok: true, records };
}

function faulty(code: string, message: string, hint?: string): RecordsText {
  return { ok: false, fault: { code, message, ...(hint === undefined ? {} : { hint }) } };
}
