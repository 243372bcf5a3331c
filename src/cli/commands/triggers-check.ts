import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { CheckedTriggers } from '../../features/triggers/check-triggers.ts';
import { canonicalPaths, localFiles } from '../../document/text/local-file.ts';
import { ConfigError } from '../../lib/errors.ts';
import type { Target } from '../../features/triggers/trigger-file.ts';
import { count } from '../../lib/text/count.ts';
import type { CliContext } from '../framework/context.ts';
import { defineCommand } from '../framework/command.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';
import { reportIssue } from '../framework/report-error.ts';
import { table } from '../render/render.ts';

export const triggersCheckCommand = defineCommand({
  name: 'triggers check',
  summary: 'Check a file of triggers with the documents that they run.',
  description:
    'Reads the file, and every document that it names, with values that the tokens of its trigger may have. All problems are reported at once, ' +
    'each with its place. Nothing is contacted, and nothing runs.',
  arguments: [
    { name: 'file', completes: 'file', description: 'The file: `.yaml`, `.yml` or `.json`.' },
  ],
  options: { json: switchOption({ description: 'Print JSON.' }) },
  examples: [
    { command: 'headgate triggers check triggers.yaml', description: 'Before committing a change' },
  ],
  async run(context, { options, positionals: [file] }) {
    if (file === undefined)
      throw usageError(
        'say which file to check',
        'for example `headgate triggers check triggers.yaml`',
      );
    const { env, wiring, world, terminal } = context;
    const [{ checkTriggers }, { TRIGGERS }, parts] = await Promise.all([
      import('../../features/triggers/check-triggers.ts'),
      import('../../triggers/index.ts'),
      wiring.parts(),
    ]);
    let checked: CheckedTriggers;
    try {
      checked = checkTriggers(resolve(world.cwd, file), {
        definitions: TRIGGERS,
        parts,
        cpus: availableParallelism(),
        reading: {
          variables: env.variables,
          redactor: env.redactor,
          readFile: localFiles(world.cwd),
          secretManagers: parts.secrets,
          canonicalPath: canonicalPaths(world.cwd),
        },
      });
    } catch (error) {
      // A program that asked for JSON gets the problems as JSON, too.
      if (options.json && error instanceof ConfigError)
        terminal.json({ valid: false, issues: error.issues });
      throw error;
    }
    for (const warning of checked.warnings)
      reportIssue(warning, 'warning', { terminal, cwd: world.cwd, document: file });
    if (options.json) terminal.json({ valid: true, triggers: listed(checked) });
    else print(context, checked);
    return EXIT.ok;
  },
});

function listed({ triggers }: CheckedTriggers): object[] {
  return triggers.map(({ name, enabled, definition, config, target }) => ({
    name,
    type: definition.type,
    enabled,
    starts: definition.starts(config, name),
    config:
      target.kind === 'document' && typeof target.document === 'string' ? target.document : null,
    ...(target.kind === 'template' ? { template: target.template.id } : {}),
  }));
}

function print({ terminal }: CliContext, { triggers }: CheckedTriggers): void {
  const rows = triggers.map(({ name, enabled, definition, config, target }) => [
    name,
    enabled ? definition.starts(config, name) : 'disabled',
    runs(target),
  ]);
  terminal.print(`${terminal.ink('green', 'valid')}: ${count(triggers.length, 'trigger')}`);
  if (rows.length > 0)
    for (const line of table(['trigger', 'starts a run', 'document'], rows)) terminal.print(line);
}

function runs(target: Target): string {
  if (target.kind === 'template') return `template ${target.template.id}`;
  return typeof target.document === 'string' ? target.document : 'written out';
}
