import {
  isAlias,
  isCollection,
  isScalar,
  parseDocument,
  stringify,
  type Document,
  type Node,
} from 'yaml';
import { composeFile } from '../../document/load.ts';
import { secretValues, type SecretValue } from '../../document/secret-values.ts';
import { canonicalPaths, localFiles } from '../../document/text/local-file.ts';
import { Redactor } from '../../lib/redact.ts';
import { stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import { configFile } from '../framework/config-file.ts';
import type { CliContext } from '../framework/context.ts';
import { completionOf, type DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import type { Values } from '../framework/option.ts';

/**
 * Prints the merged document, its tokens as they are and its secrets masked. One that consists of a
 * single file is printed as it is written.
 */
export async function showComposed(
  context: CliContext,
  config: string | undefined,
  options: Values<typeof DOCUMENT_OPTIONS>,
): Promise<void> {
  const { world, env, terminal, wiring } = context;
  const { profile } = completionOf(options, env.variables);
  const { tree, text, format, changed } = composeFile(configFile(context, config), {
    readFile: localFiles(world.cwd),
    canonicalPath: canonicalPaths(world.cwd),
    ...(profile === undefined ? {} : { profile }),
  });
  const { editorSchema } = await import('../../document/editor-schema.ts');
  const { GRAMMAR } = await import('../../blocks/index.ts');
  const secrets = secretValues(tree, editorSchema(await wiring.parts(), GRAMMAR));
  const print = (masked: string): void =>
    terminal.data(env.redactor.text(redactorOf(secrets).text(masked)));
  const asWritten = changed ? undefined : textWithout(secrets, text);
  if (asWritten !== undefined) return print(asWritten);
  const masked = treeWithout(secrets, tree);
  print(
    format === 'json'
      ? `${stringifyJson(masked, 2)}\n`
      : stringify(masked, { lineWidth: 0, aliasDuplicateObjects: false }),
  );
}

/** A secret may stand once more in a comment. */
function redactorOf(secrets: readonly SecretValue[]): Redactor {
  const redactor = new Redactor();
  for (const { value, shown } of secrets)
    if (typeof value === 'string' && !shown.includes('://')) redactor.register(value);
  return redactor;
}

function treeWithout(secrets: readonly SecretValue[], tree: JsonObject): JsonObject {
  const copy = structuredClone(tree);
  for (const { steps, shown } of secrets) {
    let at: unknown = copy;
    for (const step of steps.slice(0, -1)) at = (at as Record<string | number, unknown>)[step];
    (at as Record<string | number, unknown>)[steps.at(-1) ?? ''] = shown;
  }
  return copy;
}

/** Undefined where a secret is not found in the text, as below a merge key. */
function textWithout(secrets: readonly SecretValue[], text: string): string | undefined {
  if (secrets.length === 0) return text;
  const document = parseDocument(text, { merge: false });
  const cuts = new Map<number, { readonly end: number; readonly shown: string }>();
  for (const { steps, shown } of secrets) {
    const range = nodeAt(document, steps)?.range;
    if (range === undefined || range === null) return undefined;
    const isBlock = text[range[1] - 1] === '\n';
    cuts.set(range[0], { end: isBlock ? range[1] - 1 : range[1], shown: JSON.stringify(shown) });
  }
  let out = '';
  let at = 0;
  for (const [start, { end, shown }] of [...cuts].sort(([one], [other]) => one - other)) {
    out += text.slice(at, start) + shown;
    at = end;
  }
  return out + text.slice(at);
}

function nodeAt(document: Document, steps: SecretValue['steps']): Node | undefined {
  let at: unknown = document.contents;
  for (const step of steps) {
    if (isAlias(at)) at = at.resolve(document);
    at = isCollection(at) ? at.get(step, true) : undefined;
  }
  if (isAlias(at)) at = at.resolve(document);
  return isScalar(at) ? at : undefined;
}
