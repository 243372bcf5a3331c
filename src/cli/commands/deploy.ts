import type { DeployStep } from '../../features/templates/deployment.ts';
import { messageOf } from '../../lib/errors.ts';
import { count } from '../../lib/text/count.ts';
import { CLI_CALLER, STORE_OPTIONS, withRegistry } from '../documents/template-store.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';
import { stepLine } from '../render/deploy-steps.ts';

interface Done {
  readonly step: DeployStep;
  readonly version?: number | undefined;
  readonly error?: string;
}

export const deployCommand = defineCommand({
  name: 'deploy',
  summary: 'Make the templates of a server those of a folder.',
  description:
    'Every `.yaml`, `.yml` and `.json` file of the folder and its subfolders is one template. New and changed ones are registered and launched, others stay as they are; ' +
    'nothing is done unless all files can be read. Templates that no file has are listed, and deleted with `--prune` and `--yes`.\n\n' +
    'A line begins with `+` for a new template, `~` for a changed one, `=` for one that stays and `-` for one in no file.',
  arguments: [{ name: 'folder', completes: 'directory', description: 'Folder of documents.' }],
  options: {
    dryRun: switchOption({ description: 'Show what would be done.' }),
    prune: switchOption({
      description: 'Delete templates that no file has, with all their versions; needs `--yes`.',
    }),
    yes: switchOption({ description: 'Confirms `--prune`.' }),
    draft: switchOption({ description: 'Register new versions without launching them.' }),
    ...STORE_OPTIONS,
  },
  examples: [
    { command: 'headgate deploy pipelines/ --dry-run', description: 'Look first' },
    {
      command: 'headgate deploy pipelines/ --prune --yes --server https://etl.example.org',
      description: 'In CI: the folder is the truth',
    },
  ],
  async run(context, { options, positionals: [folder] }) {
    if (folder === undefined)
      throw usageError('say which folder to deploy', 'for example `headgate deploy pipelines/`');
    const { templatesOfFolder } = await import('../documents/template-folder.ts');
    const { carryOut, planDeployment } = await import('../../features/templates/deployment.ts');
    const files = templatesOfFolder(folder, context.world.cwd);
    if (files.length === 0)
      throw usageError(`there is no document in ${folder}`, 'files end in .yaml, .yml or .json');
    const how = { isDraft: options.draft };
    const done = await withRegistry(context, options, async (registry, signal): Promise<Done[]> => {
      const steps = await planDeployment(files, registry, how);
      if (options.dryRun) return steps.map((step) => ({ step }));
      requireYes(steps, options);
      const results: Done[] = [];
      for (const step of steps) {
        if (step.kind === 'delete' && !options.prune) results.push({ step });
        else
          results.push(
            await carryOut(step, registry, { caller: CLI_CALLER, signal, how }).then(
              (version) => ({ step, version }),
              (error: unknown) => ({ step, error: messageOf(error) }),
            ),
          );
      }
      return results;
    });
    report(context, done, options);
    return done.some(({ error }) => error !== undefined) ? EXIT.failed : EXIT.ok;
  },
});

/** Before anything is done. */
function requireYes(
  steps: readonly DeployStep[],
  { prune, yes }: { readonly prune: boolean; readonly yes: boolean },
): void {
  const ids = steps.flatMap((step) => (step.kind === 'delete' ? [`\`${step.id}\``] : []));
  if (!prune || yes || ids.length === 0) return;
  throw usageError(
    `${count(ids.length, 'template')} would be deleted, with all versions: ${ids.join(', ')}; nothing was done`,
    'say `--yes` to delete them',
  );
}

interface Reporting {
  readonly dryRun: boolean;
  readonly prune: boolean;
  readonly json: boolean;
}

function report(
  { terminal }: CliContext,
  done: readonly Done[],
  { dryRun, prune, json }: Reporting,
): void {
  if (json)
    return terminal.json({
      dry_run: dryRun,
      templates: done.map(({ step, version, error }) => ({
        id: step.id,
        action: step.kind === 'delete' && !prune ? 'extra' : step.kind,
        file: step.kind === 'create' || step.kind === 'change' ? step.file.file : null,
        version: version ?? null,
        error: error ?? null,
      })),
    });
  for (const { step, version, error } of done)
    terminal.print(`${stepLine(step, version)}${error === undefined ? '' : `: ${error}`}`);
  const failed = done.filter(({ error }) => error !== undefined).length;
  if (failed > 0)
    terminal.note(
      `${terminal.paint('red', 'error:')} ${count(failed, 'template')} could not be deployed`,
    );
  const extra = done.filter(({ step }) => step.kind === 'delete').length;
  if (extra > 0 && !prune)
    terminal.note(`${count(extra, 'template')} in no file; --prune --yes deletes what no file has`);
}
