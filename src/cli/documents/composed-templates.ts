/** Files of templates become the document that a command works on. */
import { compose } from '../../features/templates/documents/compose.ts';
import {
  readTemplate,
  type DocumentOf,
  type TemplateDocument,
} from '../../features/templates/documents/read.ts';
import { ConfigError } from '../../lib/errors.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import type { CliContext } from '../framework/context.ts';
import { usageError } from '../framework/exit.ts';
import type { GivenDocument } from './load-plan.ts';
import { readTemplateFile } from './template-file.ts';

export interface TemplateFiles {
  readonly source: string | undefined;
  readonly sink: string | undefined;
  readonly overlay: string | undefined;
}

/** Throws `ConfigError`. */
export async function composeTemplates(
  context: CliContext,
  { source, sink, overlay }: TemplateFiles,
): Promise<GivenDocument> {
  if (source === undefined || sink === undefined)
    throw usageError(
      `\`--source\` and \`--sink\` belong together`,
      'name a file of a source template and one of a sink template',
    );
  const { world, wiring, terminal } = context;
  const read = <K extends TemplateDocument['kind']>(kind: K, file: string): DocumentOf<K> =>
    readFile(kind, file, world.cwd);
  const made = compose(
    {
      source: read('source-template', source),
      sink: read('sink-template', sink),
      ...(overlay === undefined ? {} : { overlay: { document: read('deployment', overlay) } }),
    },
    await wiring.parts(),
  );
  for (const warning of made.warnings) terminal.note(`warning: ${warning}`);
  return { name: source, text: stringifyJson(made.document, 2), format: 'json' };
}

function readFile<K extends TemplateDocument['kind']>(
  kind: K,
  file: string,
  cwd: string,
): DocumentOf<K> {
  const text = readTemplateFile(file, cwd);
  try {
    const document = readTemplate(text);
    if (document.kind === kind) return document as DocumentOf<K>;
    const message = `expected a ${kind}, got a ${document.kind}`;
    throw new ConfigError([{ code: 'invalid_value', path: 'kind', message }]);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(
      error.issues.map((issue) => ({ ...issue, file })),
      { stage: error.stage },
    );
  }
}
