/**
 * Finds a package and loads its connector. Loading is synchronous: a part is looked up in the middle
 * of planning, and a package that no document names is never loaded.
 */
import { createRequire, isBuiltin } from 'node:module';
import { isAbsolute, join } from 'node:path';
import { badName, isPackageName } from '../kit/part-packages.ts';
import { messageOf } from '../lib/errors.ts';
import { checkConnector, unusable, type CheckedConnector } from './check-connector.ts';
import { offerKit } from './kit-hook.ts';

/** Where packages are looked for, in this order: files whose `node_modules` are those meant. */
export type Places = readonly string[];

export function placesOf(cwd: string): Places {
  return [cwd, import.meta.dirname].map((folder) => join(folder, 'package.json'));
}

export function loadConnector(name: string, places: Places): CheckedConnector {
  if (!isPackageName(name) || isBuiltin(name)) return { ok: false, fault: badName(name) };
  const where = `the package \`${name}\``;
  const entry = resolvePackage(name, places);
  if (entry.kind === 'missing')
    return {
      ok: false,
      fault: {
        code: 'connector_missing',
        message: `${where} is not installed`,
        hint: `npm install ${name}`,
      },
    };
  if (entry.kind === 'broken')
    return unusable(
      `${where} cannot be loaded: ${entry.reason}`,
      'install it again, or tell its author',
    );
  return loadConnectorFile(entry.file, where);
}

/** Loads the main module of a connector. */
export function loadConnectorFile(file: string, where: string): CheckedConnector {
  offerKit();
  try {
    return checkConnector(createRequire(file)(file), where);
  } catch (error) {
    return unusable(`${where} cannot be loaded: ${reasonOf(error)}`, hintOf(error));
  }
}

export type ResolvedEntry =
  | { readonly kind: 'found'; readonly file: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'broken'; readonly reason: string };

/** The file that is meant by a name, or by a name and a path that the package exports. */
export function resolvePackage(specifier: string, places: Places): ResolvedEntry {
  for (const place of places) {
    try {
      const file = createRequire(place).resolve(specifier);
      if (isAbsolute(file)) return { kind: 'found', file };
    } catch (error) {
      if (codeOf(error) !== 'MODULE_NOT_FOUND')
        return { kind: 'broken', reason: firstLine(messageOf(error)) };
    }
  }
  return { kind: 'missing' };
}

function reasonOf(error: unknown): string {
  return codeOf(error) === 'ERR_REQUIRE_ASYNC_MODULE'
    ? 'it has an `await` at the top of a module'
    : firstLine(messageOf(error));
}

function hintOf(error: unknown): string {
  const code = codeOf(error);
  if (code === 'ERR_REQUIRE_ASYNC_MODULE') return 'what it waits for belongs into `open`';
  if (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND')
    return 'install it again, with what it depends on';
  return error instanceof SyntaxError
    ? 'it may be written for another version of Headgate, or need a build before it is packed'
    : 'tell its author, or use another version of it';
}

function codeOf(error: unknown): unknown {
  return error instanceof Error ? Reflect.get(error, 'code') : undefined;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
