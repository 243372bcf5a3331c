import { extname } from 'node:path';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { Format } from '../document/parse/parse.ts';

/** By the name of the file; of a text that has none yet, by what the editor takes it for. */
export function formatOf({ uri, languageId }: TextDocument): Format {
  const extension = extname(uri).toLowerCase();
  return extension === '.json' || (extension === '' && languageId.includes('json'))
    ? 'json'
    : 'yaml';
}
