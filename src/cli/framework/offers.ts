/** What a shell may offer for a value that the definition of a command cannot list. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Parts } from '../../kit/parts.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** What is known of the line that somebody is typing. */
export interface Typed {
  readonly cwd: string;
  readonly positionals: readonly string[];
  /** The last value of an option, by its flag. */
  readonly given: ReadonlyMap<string, string>;
  parts(): Promise<Parts>;
}

/** Words for a value; what cannot be found out is nothing to offer. */
export type Offers = (typed: Typed) => Promise<readonly string[]>;

/** Where a document lies that is not named. */
export const DOCUMENT_NAMES = ['headgate.yaml', 'headgate.yml', 'headgate.json'] as const;

export const profileNames = ofDocument(({ profiles }) => keysOf(profiles));

export const paramNames = ofDocument(({ params }) => keysOf(params).map((name) => `${name}=`));

export const rowIds = ofDocument(({ matrix, pipeline }) =>
  Array.isArray(matrix)
    ? matrix.map((row, index) => textOf(row, 'id') ?? `row-${index}`)
    : isObject(pipeline)
      ? sinkNodes(pipeline)
      : [],
);

export const rowTags = ofDocument(({ matrix }) =>
  (Array.isArray(matrix) ? matrix : []).flatMap((row) => {
    const tags = isObject(row) ? row['tags'] : undefined;
    return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
  }),
);

/** The names of the parts of a kind; `kindOf` says which kind is asked for. */
export function partNames(kindOf: (typed: Typed) => string | undefined): Offers {
  return async (typed) => {
    const parts = await typed.parts();
    const registries = {
      source: parts.sources,
      sink: parts.sinks,
      transform: parts.transforms,
      state: parts.states,
      credential: parts.credentials,
    };
    const kind = kindOf(typed);
    return Object.entries(registries).flatMap(([name, registry]) =>
      name === kind ? registry.types() : [],
    );
  };
}

/** A graph has one row for each sink. */
function sinkNodes({ nodes }: JsonObject): string[] {
  return keysOf(nodes).filter(
    (name) => isObject(nodes) && textOf(nodes[name] ?? null, 'kind') === 'sink',
  );
}

function ofDocument(words: (tree: JsonObject) => readonly string[]): Offers {
  return async (typed) => {
    const file = documentOf(typed);
    if (file === undefined) return [];
    try {
      return [...new Set(words(await treeOf(file, typed)))].sort();
    } catch {
      return [];
    }
  };
}

/** As it is written, with what it extends and the profiles of all of them. */
async function treeOf(file: string, { cwd, given }: Typed): Promise<JsonObject> {
  const { composeFile } = await import('../../document/load.ts');
  const { parseFragment } = await import('../../document/parse/parse.ts');
  const { canonicalPaths, localFiles } = await import('../../document/text/local-file.ts');
  const profile = given.get('--profile');
  const { tree, text, format } = composeFile(file, {
    readFile: localFiles(cwd),
    canonicalPath: canonicalPaths(cwd),
    ...(profile === undefined ? {} : { profile }),
  });
  const { value } = parseFragment(text, format, { kind: 'file', path: file });
  const profiles = isObject(value) ? value['profiles'] : undefined;
  return profiles === undefined ? tree : { ...tree, profiles };
}

function documentOf({ cwd, positionals, given }: Typed): string | undefined {
  const named =
    given.get('--config') ?? positionals.find((word) => /\.(?:ya?ml|json)$/i.test(word));
  const found = named ?? DOCUMENT_NAMES.find((name) => existsSync(path.join(cwd, name)));
  return found === undefined ? undefined : path.resolve(cwd, found);
}

function keysOf(value: JsonValue | undefined): string[] {
  return isObject(value) ? Object.keys(value) : [];
}

function textOf(value: JsonValue, key: string): string | undefined {
  const text = isObject(value) ? value[key] : undefined;
  return typeof text === 'string' ? text : undefined;
}
