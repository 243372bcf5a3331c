/** A document with a row for each data set of its source; everything else of it stays as written. */
import { parseDocument } from 'yaml';
import type { Format } from '../../document/parse/parse.ts';
import type { Discovered } from '../../kit/source.ts';
import { matrixRows } from '../../features/discovery/matrix-rows.ts';
import { isObject, parseJson, stringifyJson, type JsonValue } from '../../lib/text/json.ts';

export interface RowsRequest {
  readonly text: string;
  readonly format: Format;
  readonly found: readonly Discovered[];
  /** The preset of the source that the rows read. */
  readonly preset: string | undefined;
}

export function rowsDocument({ text, format, found, preset }: RowsRequest): string {
  const tree = (format === 'json' ? parseJson(text) : parseDocument(text).toJS()) as JsonValue;
  const matrix = matrixRows({ tree, found, preset });
  if (format === 'json')
    return `${stringifyJson({ ...(isObject(tree) ? tree : {}), matrix }, 2)}\n`;
  const document = parseDocument(text);
  document.set('matrix', document.createNode(matrix));
  return document.toString({ lineWidth: 0 });
}
