/** A deployment over a composed document: blocks replace blocks, nothing is merged. */
import { ConfigError, type Issue } from '../../../lib/errors.ts';
import { hasField, isObject, setField, type JsonObject } from '../../../lib/text/json.ts';
import { joinPath } from '../../../lib/text/text-path.ts';
import { nearest } from '../../../lib/text/nearest.ts';
import { DEPLOYED_BLOCKS, DEPLOYED_PER_STREAM, type SourceTemplate } from './kinds.ts';
import type { DocumentOf } from './read.ts';

export interface Overlay {
  readonly document: DocumentOf<'deployment'>;
}

/** Throws `ConfigError` for streams that the source does not have. */
export function applyOverlay(
  composed: JsonObject,
  { document: { tree } }: Overlay,
  source: SourceTemplate,
): { readonly document: JsonObject; readonly contributes: readonly string[] } {
  const contributes: string[] = [];
  const document = { ...composed };
  const pipeline = { ...(isObject(composed['pipeline']) ? composed['pipeline'] : {}) };
  for (const [name, path] of Object.entries(DEPLOYED_BLOCKS)) {
    const key = name === 'notifications' && hasField(tree, 'notify') ? 'notify' : name;
    if (!hasField(tree, key)) continue;
    setField(path.startsWith('pipeline.') ? pipeline : document, name, tree[key] ?? null);
    contributes.push(path);
  }
  document['pipeline'] = pipeline;
  document['matrix'] = rowsWith(composed['matrix'], tree['streams'], { source, contributes });
  return { document, contributes };
}

function rowsWith(
  matrix: JsonObject[string] | undefined,
  streams: JsonObject[string] | undefined,
  { source, contributes }: { readonly source: SourceTemplate; readonly contributes: string[] },
): JsonObject[] {
  const given = isObject(streams) ? streams : {};
  refuseUnknownStreams(Object.keys(given), source);
  const rows = Array.isArray(matrix) ? matrix.filter(isObject) : [];
  return rows.map((row) => {
    const { id } = row;
    if (typeof id !== 'string') return row;
    const entry = given[id];
    if (!isObject(entry)) return row;
    const changed = { ...row };
    for (const key of DEPLOYED_PER_STREAM) {
      if (!hasField(entry, key)) continue;
      changed[key] = entry[key] ?? null;
      contributes.push(`matrix.${id}.${key}`);
    }
    return changed;
  });
}

function refuseUnknownStreams(names: readonly string[], { streams, name }: SourceTemplate): void {
  const known = streams.map((stream) => stream.name);
  const issues = names
    .filter((one) => !known.includes(one))
    .map((one): Issue => {
      const near = nearest(one, known);
      return {
        code: 'unknown_row',
        path: joinPath('streams', one),
        message: `\`${name}\` has no stream \`${one}\``,
        hint: near === undefined ? `it has: ${known.join(', ')}` : `did you mean \`${near}\`?`,
      };
    });
  if (issues.length > 0) throw new ConfigError(issues);
}
