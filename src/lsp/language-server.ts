/** A language server for documents (Language Server Protocol), over a pair of streams. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TextDocumentSyncKind, TextDocuments, TextEdit } from 'vscode-languageserver';
import { createConnection } from 'vscode-languageserver/node';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { GRAMMAR } from '../blocks/index.ts';
import { editorSchema } from '../document/editor-schema.ts';
import { composeText } from '../document/load.ts';
import type { Format } from '../document/parse/parse.ts';
import { canonicalPaths, localFiles } from '../document/text/local-file.ts';
import type { Locate } from '../document/text/locate.ts';
import type { Parts } from '../kit/parts.ts';
import type { Env } from '../lib/env.ts';
import { ConfigError, messageOf } from '../lib/errors.ts';
import { checkDocument } from './check-document.ts';
import { completionsAt } from './completion.ts';
import { definitionAt } from './definition.ts';
import { diagnosticsOf } from './diagnostics.ts';
import { hoverAt } from './hover.ts';
import type { SchemaNode } from './schema-at.ts';
import { formatOf } from './text-format.ts';

/** How long a text must rest before it is checked. */
const REST_MS = 200;

export interface LanguageServerOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly version: string;
  readonly env: Env;
  readonly parts: Parts;
  /** As `fmt` would write it; throws `ConfigError`. */
  format(text: string, format: Format, file: string): string;
}

/** Returns once it listens. At the end of the input or after `exit` the process ends. */
export function startLanguageServer(options: LanguageServerOptions): void {
  const { env } = options;
  const connection = createConnection(options.input, options.output);
  const documents = new TextDocuments(TextDocument);
  const root = editorSchema(options.parts, GRAMMAR) as SchemaNode;
  const checks = new Checks(documents, options, (uri, version, diagnostics) =>
    connection.sendDiagnostics({ uri, version, diagnostics }),
  );

  connection.onInitialize(() => ({
    serverInfo: { name: 'headgate', version: options.version },
    capabilities: {
      textDocumentSync: TextDocumentSyncKind.Incremental,
      completionProvider: { triggerCharacters: [' ', ':', '"', '{', '[', '.', '-'] },
      hoverProvider: true,
      definitionProvider: true,
      documentFormattingProvider: true,
    },
  }));
  documents.onDidChangeContent(({ document }) => checks.schedule(document.uri));
  documents.onDidClose(({ document }) => {
    checks.forget(document.uri);
    void connection.sendDiagnostics({ uri: document.uri, diagnostics: [] });
  });
  connection.onCompletion(({ textDocument, position }) => {
    const document = documents.get(textDocument.uri);
    return document && completionsAt(document, document.offsetAt(position), root);
  });
  connection.onHover(({ textDocument, position }) => {
    const document = documents.get(textDocument.uri);
    return document && hoverAt(document, document.offsetAt(position), root);
  });
  connection.onDefinition(({ textDocument, position }) => {
    const document = documents.get(textDocument.uri);
    if (document === undefined) return undefined;
    return definitionAt(document, document.offsetAt(position), () => locatorOf(document, env.cwd));
  });
  connection.onDocumentFormatting(({ textDocument }) => {
    const document = documents.get(textDocument.uri);
    return document && formatted(document, options);
  });
  documents.listen(connection);
  connection.listen();
}

/** A document that cannot be read stays as it is: its diagnostics say why. */
function formatted(
  document: TextDocument,
  { format, env }: Pick<LanguageServerOptions, 'format' | 'env'>,
): TextEdit[] {
  const before = document.getText();
  try {
    const text = format(before, formatOf(document), fileOf(document, env.cwd));
    const whole = { start: document.positionAt(0), end: document.positionAt(before.length) };
    return text === before ? [] : [TextEdit.replace(whole, text)];
  } catch (error) {
    if (error instanceof ConfigError) return [];
    throw error;
  }
}

/** A text that is not saved yet stands in the folder in which the editor was started. */
function fileOf({ uri }: TextDocument, cwd: string): string {
  return uri.startsWith('file:') ? fileURLToPath(uri) : join(cwd, 'untitled');
}

function locatorOf(document: TextDocument, cwd: string): Locate | undefined {
  const path = fileOf(document, cwd);
  try {
    return composeText(
      { path, format: formatOf(document), text: document.getText() },
      { readFile: localFiles(cwd), canonicalPath: canonicalPaths(cwd) },
    ).locate;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

type Publish = (
  uri: string,
  version: number,
  diagnostics: ReturnType<typeof diagnosticsOf>,
) => Promise<void>;

/** One check of a document at a time, after its text has rested. */
class Checks {
  readonly #documents: TextDocuments<TextDocument>;
  readonly #options: LanguageServerOptions;
  readonly #publish: Publish;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** Other files that were read for a document. */
  readonly #files = new Map<string, ReadonlySet<string>>();

  constructor(
    documents: TextDocuments<TextDocument>,
    options: LanguageServerOptions,
    publish: Publish,
  ) {
    this.#documents = documents;
    this.#options = options;
    this.#publish = publish;
  }

  /** The document, and those that include it. */
  schedule(uri: string): void {
    const document = this.#documents.get(uri);
    const file = document && fileOf(document, this.#options.env.cwd);
    const others = [...this.#files].filter(([, files]) => file !== undefined && files.has(file));
    for (const one of new Set([uri, ...others.map(([name]) => name)])) {
      clearTimeout(this.#timers.get(one));
      this.#timers.set(
        one,
        setTimeout(() => void this.#check(one), REST_MS),
      );
    }
  }

  forget(uri: string): void {
    clearTimeout(this.#timers.get(uri));
    this.#timers.delete(uri);
    this.#files.delete(uri);
  }

  async #check(uri: string): Promise<void> {
    const document = this.#documents.get(uri);
    if (document === undefined) return;
    const { env, parts } = this.#options;
    const { version } = document;
    const file = fileOf(document, env.cwd);
    try {
      const { problems, files } = await checkDocument(
        { file, format: formatOf(document), text: document.getText() },
        { env, parts, openText: (path) => this.#openText(path) },
      );
      // A newer text has a check of its own.
      if (this.#documents.get(uri)?.version !== version) return;
      this.#files.set(uri, files);
      await this.#publish(uri, version, env.redactor.json(diagnosticsOf(document, file, problems)));
    } catch (error) {
      env.log.error('a document could not be checked', { uri, error: messageOf(error) });
    }
  }

  #openText(file: string): string | undefined {
    return this.#documents
      .all()
      .find((document) => fileOf(document, this.#options.env.cwd) === file)
      ?.getText();
  }
}
