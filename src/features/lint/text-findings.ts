/** Doubts that need neither network nor variables: only the text of the document is looked at. */
import { hasField, isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { mergeTrees } from '../../document/compose/merge.ts';

export interface TextFinding {
  readonly severity: 'error' | 'warning';
  readonly code:
    | 'dangling-auth-ref'
    | 'unreferenced-auth-provider'
    | 'unused-var'
    | 'noop-batch-size';
  readonly message: string;
  readonly hint: string;
  /** Where it stands in the document. */
  readonly path: string;
}

/** Page size of a source that names none. */
const DEFAULT_BATCH_SIZE = 1000;

/** `tree` as parsed: tokens are still in it. */
export function textFindings(tree: JsonObject): TextFinding[] {
  return [...lintAuth(tree), ...lintVars(tree), ...lintBatchSizes(tree)];
}

interface AuthRef {
  readonly name: string;
  readonly path: string;
}

function lintAuth(tree: JsonObject): TextFinding[] {
  const providers = isObject(tree['auth']) ? Object.keys(tree['auth']) : [];
  const { auth: _providers, ...rest } = tree;
  const refs = [...authRefs(rest, '')];
  const dangling = refs
    .filter(({ name }) => !providers.includes(name) && !name.includes('${'))
    .map(({ name, path }): TextFinding => ({
      severity: 'error',
      code: 'dangling-auth-ref',
      message: `\`auth.ref\` names \`${name}\`, which the document does not declare`,
      hint: suggestion(name, providers) ?? 'declare it under `auth`',
      path,
    }));
  // A reference with a token in it may mean any of them.
  const unclear = refs.some(({ name }) => name.includes('${'));
  const unused = unclear ? [] : providers.filter((name) => !refs.some((ref) => ref.name === name));
  const unreferenced = unused.map((name): TextFinding => ({
    severity: 'warning',
    code: 'unreferenced-auth-provider',
    message: `nothing uses the auth provider \`${name}\``,
    hint: `name it with \`auth: { ref: ${name} }\`, or remove it`,
    path: joinPath('auth', name),
  }));
  return [...dangling, ...unreferenced];
}

function* authRefs(value: JsonValue, path: string): Generator<AuthRef> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* authRefs(item, joinPath(path, index));
  } else if (isObject(value)) {
    const auth = value['auth'];
    if (isObject(auth) && typeof auth['ref'] === 'string')
      yield { name: auth['ref'], path: joinPath(path, 'auth', 'ref') };
    for (const [key, item] of Object.entries(value)) yield* authRefs(item, joinPath(path, key));
  }
}

function lintVars(tree: JsonObject): TextFinding[] {
  if (!isObject(tree['vars'])) return [];
  const texts = [...textsIn(tree)];
  return Object.keys(tree['vars'])
    .filter((name) => !texts.some((text) => text.includes(`\${vars.${name}}`)))
    .map((name) => ({
      severity: 'warning',
      code: 'unused-var',
      message: `nothing uses the variable \`${name}\``,
      hint: `write \`\${vars.${name}}\` where it belongs, or remove it`,
      path: joinPath('vars', name),
    }));
}

/** Every text of the document, keys included: tokens may stand in both. */
function* textsIn(value: JsonValue): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item);
  else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      yield key;
      yield* textsIn(item);
    }
  }
}

/** A sink gets one page at a time, so a sink batch as large as a page or larger is never filled. */
function lintBatchSizes(tree: JsonObject): TextFinding[] {
  const pipeline = tree['pipeline'];
  if (!isObject(pipeline)) return [];
  const rows = Array.isArray(tree['matrix']) ? tree['matrix'] : [];
  const places: { path: string; pipeline: JsonObject }[] = [{ path: 'pipeline', pipeline }];
  for (const [index, row] of rows.entries()) {
    if (isObject(row) && isObject(row['sink']))
      places.push({ path: `matrix[${index}]`, pipeline: mergeTrees(pipeline, row) });
  }
  return places.flatMap(({ path, pipeline: merged }) => {
    const batch = batchSizeOf(merged['sink']);
    const page = batchSizeOf(merged['source']) ?? DEFAULT_BATCH_SIZE;
    if (batch === undefined || page === 0 || batch === 0 || batch <= page) return [];
    if (path !== 'pipeline' && batch === batchSizeOf(pipeline['sink'])) return [];
    return [
      {
        severity: 'warning' as const,
        code: 'noop-batch-size' as const,
        message: `the sink never gets to a batch of ${batch} records: the pages of the source hold at most ${page}`,
        hint: `lower the sink's \`batch_size\`, or raise the source's to ${batch}`,
        path: joinPath(path, 'sink', 'config', 'batch_size'),
      },
    ];
  });
}

function batchSizeOf(part: JsonValue | undefined): number | undefined {
  const config = isObject(part) && hasField(part, 'config') ? part['config'] : undefined;
  const size = isObject(config) ? config['batch_size'] : undefined;
  return typeof size === 'number' ? size : undefined;
}
