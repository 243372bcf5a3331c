/**
 * In the sources a list of definitions imports them all. A bundle need not load sixty connectors to
 * run two: there, each definition of a list is a stand-in that knows its names and loads the module
 * of the definition when anything else of it is asked for.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import type { Plugin } from 'rolldown';
import { NAMES } from './stand-in.js';

/** Below the sources. Each names its definitions in imports of one line and does nothing else with them. */
const LISTS = [
  'connectors/index.ts',
  'transforms/index.ts',
  'state/index.ts',
  'secrets/index.ts',
  'channels/index.ts',
  'cli/commands/index.ts',
];

const IMPORT = /^import \{([^}]+)\} from '(\.[^']+)';$/gm;
const STAND_IN = join(import.meta.dirname, 'stand-in.js');
/** In place of `./`, which would be looked for beside the sources. */
const BESIDE = '#/';

export interface DefinitionLists {
  /** Modules with definitions, by the name of the file that each of them becomes. */
  readonly entries: Readonly<Record<string, string>>;
  readonly plugin: Plugin;
  /** Whether this names a file of the bundle that is loaded when a definition is asked for. */
  readonly isReference: (id: string) => boolean;
}

/** Imports the lists, to learn the names of what stands in them. */
export async function readDefinitionLists(sources: string): Promise<DefinitionLists> {
  const entries: Record<string, string> = {};
  const texts = new Map<string, string>();
  for (const list of LISTS) {
    const file = join(sources, list);
    const text = readFileSync(file, 'utf8');
    const replaced: [string, string][] = [];
    for (const [line, names = '', path = ''] of text.matchAll(IMPORT)) {
      const module = resolve(dirname(file), path);
      const definitions = await definitionsOf(module, names);
      if (definitions === undefined) continue;
      const entry = `definition-${entryName(relative(sources, module))}`;
      entries[entry] = module;
      replaced.push([line, standIns(definitions, entry)]);
    }
    const lazy = replaced.reduce((all, [line, lines]) => all.replace(line, lines), text);
    texts.set(file, `import { standIn } from ${JSON.stringify(STAND_IN)};\n${lazy}`);
  }
  return {
    entries,
    isReference: (id) => id.startsWith(BESIDE),
    plugin: {
      name: 'definition-lists',
      load: (id) => {
        const code = texts.get(id);
        return code === undefined ? undefined : { code, moduleType: 'ts' };
      },
      // As long as before, so that the source maps stay right.
      renderChunk: (code) =>
        code.includes(`("${BESIDE}`)
          ? { code: code.replaceAll(`("${BESIDE}`, '("./'), map: null }
          : undefined,
    },
  };
}

/** Undefined where it exports something else, such as a function that makes a definition. */
async function definitionsOf(
  module: string,
  names: string,
): Promise<Readonly<Record<string, object>> | undefined> {
  const exported = (await import(module)) as Readonly<Record<string, unknown>>;
  const wanted = names.split(',').map((name) => name.trim());
  const found = wanted.filter((name) => name !== '').map((name) => [name, exported[name]] as const);
  const isDefinition = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && Object.isFrozen(value);
  if (!found.every(([, value]) => isDefinition(value))) return undefined;
  return Object.fromEntries(found) as Record<string, object>;
}

function standIns(definitions: Readonly<Record<string, object>>, entry: string): string {
  const lines = Object.entries(definitions).map(([name, definition]) => {
    const known = Object.fromEntries(
      Object.entries(definition).filter(([key]) => NAMES.includes(key)),
    );
    const load = `() => require(${JSON.stringify(`${BESIDE}${entry}.cjs`)}).${name}`;
    return `const ${name} = standIn(${JSON.stringify(known)}, ${load});`;
  });
  return lines.join('\n');
}

function entryName(path: string): string {
  return path.replace(/(\/index)?\.ts$/, '').replaceAll('/', '-');
}
