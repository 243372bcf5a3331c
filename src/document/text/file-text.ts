import { extname } from 'node:path';
import { ConfigError, type Issue } from '../../lib/errors.ts';
import { fileFault, isFileFault } from '../../lib/files/file-fault.ts';
import { NotRegularFileError } from '../../lib/files/regular-file.ts';
import { lineNotUtf8 } from '../../lib/text/utf8-fault.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { MAX_DOCUMENT_BYTES } from './limits.ts';
import type { Format } from '../parse/parse.ts';

export type ReadFile = (path: string, limitBytes: number) => Uint8Array;

/** What is wrong with a file, as far as it can be said without its name. */
export type FileFault = Pick<Issue, 'code' | 'message' | 'hint'>;

export type FileText =
  | { readonly ok: true; readonly text: string; readonly bytes: number }
  | { readonly ok: false; readonly fault: FileFault };

const FORMATS: Readonly<Record<string, Format>> = {
  '.yaml': 'yaml',
  '.yml': 'yaml',
  '.json': 'json',
};

/** The extension decides. */
export function formatOf(path: string): Format | undefined {
  const extension = extname(path).toLowerCase();
  return Object.hasOwn(FORMATS, extension) ? FORMATS[extension] : undefined;
}

const pathHint = (start: string): string =>
  `check the path and the rights to it; relative paths start at the ${start}`;
/** For a file that another file names. */
export const NAMED_PATH_HINT = pathHint('folder of the file that names it');

/**
 * A file that somebody named, and that holds a document or settings in the same form. Throws
 * `ConfigError`; one that is not there is told before anything that its name lacks.
 */
export function readFormattedFile(
  path: string,
  readFile: ReadFile,
): { readonly text: string; readonly format: Format } {
  const read = readFileText(path, readFile);
  if (!read.ok) throw fileRefusal(path, read.fault);
  const format = formatOf(path);
  if (format === undefined) throw fileRefusal(path, extensionFault(path));
  return { text: read.text, format };
}

function fileRefusal(file: string, fault: FileFault): ConfigError {
  const hint = fault.code === 'file_unreadable' ? { hint: pathHint('working folder') } : {};
  return new ConfigError([{ ...hint, ...fault, path: '', file }], { stage: 'parse' });
}

export function extensionFault(path: string): FileFault {
  const extension = extname(path).toLowerCase();
  const message = `the extension ${extension === '' ? 'is missing' : `\`${extension}\` is not supported`}`;
  const hint = suggestion(extension, Object.keys(FORMATS), 'possible are');
  return { code: 'unsupported_extension', message, ...(hint === undefined ? {} : { hint }) };
}

export function readFileText(path: string, readFile: ReadFile): FileText {
  let bytes: Uint8Array;
  try {
    bytes = readFile(path, MAX_DOCUMENT_BYTES + 1);
  } catch (error) {
    return faulty('file_unreadable', whyUnreadable(error));
  }
  if (bytes.byteLength > MAX_DOCUMENT_BYTES) {
    return faulty(
      'too_large',
      `the document is larger than ${MAX_DOCUMENT_BYTES / 1024 / 1024} MB`,
    );
  }
  try {
    return {
      ok: true,
      text: new TextDecoder('utf-8', { fatal: true }).decode(bytes),
      bytes: bytes.byteLength,
    };
  } catch {
    return notUtf8(bytes);
  }
}

function whyUnreadable(error: unknown): string {
  if (error instanceof NotRegularFileError) return error.message;
  if (!isFileFault(error)) return 'the file cannot be read';
  const { kind, says } = fileFault(error);
  return kind === 'missing' ? 'there is no such file' : `the file cannot be read: ${says}`;
}

const UTF_16_MARKS = ['fffe', 'feff'];

function notUtf8(bytes: Uint8Array): FileText {
  const isUtf16 = UTF_16_MARKS.includes(Buffer.from(bytes.subarray(0, 2)).toString('hex'));
  const what = isUtf16 ? 'the file is UTF-16' : `line ${lineNotUtf8(bytes)} is not UTF-8 text`;
  const hint = 'save the file as UTF-8';
  return { ok: false, fault: { code: 'bad_encoding', message: what, hint } };
}

function faulty(code: string, message: string): FileText {
  return { ok: false, fault: { code, message } };
}
