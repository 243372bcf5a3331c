import { count } from '../../lib/text/count.ts';
import type { Issue } from '../../lib/errors.ts';
import type { Lint } from '../../features/lint/index.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { completionOf, DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { listOption, switchOption } from '../framework/option.ts';
import { shortPath } from '../framework/report-error.ts';
import { CONFIG_ARGUMENT, OUTPUT_OPTION } from '../framework/shared-options.ts';

type Severity = Lint['rule']['severity'];
const STYLES: Readonly<Record<Severity, 'yellow' | 'cyan'>> = {
  warning: 'yellow',
  advice: 'cyan',
};

export const lintCommand = defineCommand({
  name: 'lint',
  summary: 'Say what could be better in a valid document.',
  description:
    'Looks at the document and its plan, and contacts nothing. Each finding has a stable code, its place, why it matters and what to do; ' +
    'docs/reference/lint.md lists them all. With `--strict` the exit code is 1 when there is anything.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    strict: switchOption({ description: 'Fail when anything is found.' }),
    allow: listOption({
      value: 'CODE',
      description: 'Leave out what this rule finds.',
      offers: async () =>
        (await import('../../features/lint/index.ts')).LINT_RULES.map(({ code }) => code),
    }),
    output: OUTPUT_OPTION,
    ...DOCUMENT_OPTIONS,
  },
  examples: [
    { command: 'headgate lint orders.yaml', description: 'What could be better' },
    {
      command: 'headgate lint orders.yaml --strict --allow no-contract',
      description: 'In CI, with one rule left out',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { lint, LINT_RULES } = await import('../../features/lint/index.ts');
    for (const code of options.allow)
      if (!LINT_RULES.some((rule) => rule.code === code))
        throw usageError(
          `--allow: there is no rule \`${code}\``,
          `rules: ${LINT_RULES.map((rule) => rule.code).join(', ')}`,
        );
    const { composeFile } = await import('../../document/load.ts');
    const { canonicalPaths, localFiles } = await import('../../document/text/local-file.ts');
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { world, env, terminal } = context;
    const { file, plan, parts } = await loadPlan(context, {
      config,
      completion: options,
      onlyChecked: true,
      keepSecrets: true,
    });
    const { profile } = completionOf(options, env.variables);
    const { tree, locate } = composeFile(file, {
      readFile: localFiles(world.cwd),
      canonicalPath: canonicalPaths(world.cwd),
      ...(profile === undefined ? {} : { profile }),
    });
    const rules = LINT_RULES.filter(({ code }) => !options.allow.includes(code));
    const found = lint({ tree, plan, parts }, rules).map((one) => ({
      ...one,
      place: placeOf(one.path === '' ? undefined : locate(one.path), world.cwd),
    }));
    const name = shortPath(file, world.cwd);
    if (options.output === 'json') terminal.json(lintDocument(name, found));
    else print(context, name, found);
    return options.strict && found.length > 0 ? EXIT.failed : EXIT.ok;
  },
});

type Place = Pick<Issue, 'line' | 'column' | 'file'>;

function placeOf(place: Place | undefined, cwd: string): Place | undefined {
  return place?.file === undefined ? place : { ...place, file: shortPath(place.file, cwd) };
}

interface Placed extends Lint {
  readonly place: Place | undefined;
}

function lintDocument(name: string, found: readonly Placed[]): unknown {
  return {
    config: name,
    findings: found.map(({ rule, path, message, fix, place }) => ({
      severity: rule.severity,
      code: rule.code,
      path,
      ...(place?.line === undefined ? {} : { line: place.line, column: place.column }),
      ...(place?.file === undefined || place.file === name ? {} : { file: place.file }),
      message,
      why: rule.why,
      fix: fix ?? rule.fix,
    })),
  };
}

function print({ terminal }: CliContext, name: string, found: readonly Placed[]): void {
  for (const { rule, path, message, fix, place } of found) {
    const file = place?.file ?? name;
    const at = place?.line === undefined ? '' : `:${place.line}:${place.column ?? 1}`;
    const where = path === '' ? '' : `  ${path}`;
    terminal.print(
      `${terminal.ink('bold', `${file}${at}`)}  ${terminal.ink(STYLES[rule.severity], rule.severity)}${where}  ${message}  [${rule.code}]`,
    );
    terminal.print(`    why: ${rule.why}`);
    terminal.print(`    fix: ${fix ?? rule.fix}`);
  }
  terminal.note(found.length === 0 ? 'nothing to improve' : summary(found));
}

function summary(found: readonly Lint[]): string {
  const of = (severity: Severity): number =>
    found.filter(({ rule }) => rule.severity === severity).length;
  const advice = of('advice');
  return `${count(of('warning'), 'warning')}, ${advice} ${advice === 1 ? 'piece' : 'pieces'} of advice`;
}
