import { stringify } from 'yaml';
import { composeFile } from '../../document/load.ts';
import { canonicalPaths, localFiles } from '../../document/text/local-file.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import { configFile } from '../framework/config-file.ts';
import type { CliContext } from '../framework/context.ts';
import { completionOf, type DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import type { Values } from '../framework/option.ts';

/**
 * Prints the merged document, its tokens as they are. One that consists of a single file is printed
 * as it is written.
 */
export function showComposed(
  context: CliContext,
  config: string | undefined,
  options: Values<typeof DOCUMENT_OPTIONS>,
): void {
  const { world, env, terminal } = context;
  const { profile } = completionOf(options, env.variables);
  const { tree, text, format, changed } = composeFile(configFile(context, config), {
    readFile: localFiles(world.cwd),
    canonicalPath: canonicalPaths(world.cwd),
    ...(profile === undefined ? {} : { profile }),
  });
  if (!changed) terminal.data(text);
  else
    terminal.data(
      format === 'json'
        ? `${stringifyJson(tree, 2)}\n`
        : stringify(tree, { lineWidth: 0, aliasDuplicateObjects: false }),
    );
}
