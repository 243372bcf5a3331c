/** The folder of the VS Code extension: its manifest says what is there, and it starts our command. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../src/cli/commands/index.ts';
import { DOCUMENT_NAMES } from '../src/cli/framework/offers.ts';

const ROOT = resolve(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'editors/vscode');

interface Manifest {
  readonly version: string;
  readonly license: string;
  readonly main: string;
  readonly engines: { readonly vscode: string };
  readonly activationEvents: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly contributes: {
    readonly languages: readonly {
      readonly id: string;
      readonly filenames: readonly string[];
      readonly extensions: readonly string[];
      readonly configuration: string;
    }[];
    readonly grammars: readonly { language: string; scopeName: string; path: string }[];
    readonly configuration: { readonly properties: Readonly<Record<string, { default: unknown }>> };
  };
}

const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
const manifest = JSON.parse(read('package.json')) as Manifest;
const { languages, grammars, configuration } = manifest.contributes;

describe('the manifest', () => {
  it('has the version and the licence of the program', () => {
    const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
    expect([manifest.version, manifest.license]).toEqual([own.version, own.license]);
  });

  it('names files that are there', () => {
    const named = [
      manifest.main,
      ...languages.map((one) => one.configuration),
      ...grammars.map(({ path }) => path),
    ];
    expect(named.filter((name) => !existsSync(join(FOLDER, name)))).toEqual([]);
    for (const name of named.filter((one) => one.endsWith('.json')))
      expect(() => JSON.parse(read(name)) as unknown, name).not.toThrow();
    for (const { path, scopeName } of grammars)
      expect(JSON.parse(read(path))).toMatchObject({ scopeName });
  });

  it('wakes for each of its languages, which cover the names of documents', () => {
    const ids = languages.map(({ id }) => id);
    expect(new Set(manifest.activationEvents)).toEqual(
      new Set(ids.map((id) => `onLanguage:${id}`)),
    );
    expect(grammars.map(({ language }) => language)).toEqual(ids);
    expect(languages.flatMap(({ filenames }) => filenames)).toEqual([...DOCUMENT_NAMES]);
    expect(languages.flatMap(({ extensions }) => extensions)).toEqual(
      DOCUMENT_NAMES.map((name) => `.${name}`),
    );
  });
});

describe('the extension', () => {
  it('requires nothing but the editor and what the manifest lists', () => {
    const required = [...read('extension.js').matchAll(/require\('([^'/]+)/g)].map(
      ([, name]) => name,
    );
    expect(required).toEqual(['vscode', ...Object.keys(manifest.dependencies)]);
  });

  it('starts the language server for its languages, and ends it', async () => {
    const { exported, started, events } = load();
    await exported.activate();
    await exported.deactivate();
    expect(COMMANDS.map(({ name }) => name)).toContain(started[0]?.server.args[0]);
    expect(started).toMatchObject([
      {
        server: { command: configuration.properties['headgate.path']?.default, args: ['lsp'] },
        client: { documentSelector: languages.map(({ id }) => ({ language: id })) },
      },
    ]);
    expect(events).toEqual(['start', 'stop']);
  });

  it('says what to do where the program is not there', async () => {
    const { exported, events } = load('spawn headgate ENOENT');
    await exported.activate();
    expect(events).toEqual([
      'start',
      expect.stringMatching(/spawn headgate ENOENT.*npm i -g headgate.*headgate\.path/),
    ]);
  });
});

interface Started {
  readonly server: { readonly command: string; readonly args: readonly string[] };
  readonly client: object;
}

interface Extension {
  activate(): Promise<void>;
  deactivate(): Promise<void> | undefined;
}

/** The extension with an editor and a client that only note what is asked of them. */
function load(fault?: string): {
  readonly exported: Extension;
  readonly started: Started[];
  readonly events: string[];
} {
  const started: Started[] = [];
  const events: string[] = [];
  class LanguageClient {
    constructor(_id: string, _name: string, server: Started['server'], client: object) {
      started.push({ server, client });
    }
    start(): Promise<void> {
      events.push('start');
      return fault === undefined ? Promise.resolve() : Promise.reject(new Error(fault));
    }
    stop(): Promise<void> {
      events.push('stop');
      return Promise.resolve();
    }
  }
  const modules: Readonly<Record<string, unknown>> = {
    vscode: {
      window: { showErrorMessage: (message: string) => events.push(message) },
      workspace: {
        getConfiguration: (section: string) => ({
          get: (name: string) => configuration.properties[`${section}.${name}`]?.default,
        }),
      },
    },
    'vscode-languageclient/node': { LanguageClient },
  };
  const exports = {} as Extension;
  runInNewContext(read('extension.js'), {
    require: (name: string) => modules[name],
    exports,
    process,
    Error,
  });
  return { exported: exports, started, events };
}
