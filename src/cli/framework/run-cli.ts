/** One command line, from arguments to exit code. */
import type { Command } from './command.ts';
import { SHARED_OPTIONS } from './shared-options.ts';
import { createContext, type CliContext, type Wiring } from './context.ts';
import { loadVariables } from './env-file.ts';
import { EXIT, exitOf } from './exit.ts';
import { givenFor, readOptions } from './option.ts';
import { printRefusal } from './json-refusal.ts';
import { reportError } from './report-error.ts';
import { systemRefusal } from './system-refusal.ts';
import { processWorld, type World } from './world.ts';

/** Never throws: failures are printed and become the exit code. */
export async function runCli(
  argv: readonly string[],
  wiring: Wiring,
  world: World = processWorld(),
): Promise<number> {
  let context = createContext(world, wiring, {
    log: { level: 'info', isChosen: false },
    allowedConnectors: [],
  });
  let wantsJson = false;
  try {
    if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V'))
      return printVersion(context);
    const { COMMANDS } = await import('../commands/index.ts');
    const { parseLine } = await import('./command-line.ts');
    const line = parseLine(argv, COMMANDS);
    if (line.kind === 'version') return printVersion(context);
    if (line.kind === 'help') return await printHelp(context, line.command, COMMANDS);
    if (line.kind === 'nothing') return await printOverview(context, COMMANDS);
    const common = readOptions(SHARED_OPTIONS, line.flags, world.variables);
    const variables = loadVariables(common, world.cwd, world.variables);
    // Read again: the file may set them, too.
    const { logLevel, allowConnector } = readOptions(SHARED_OPTIONS, line.flags, variables);
    const isChosen =
      givenFor('logLevel', SHARED_OPTIONS.logLevel, line.flags, variables) !== undefined;
    context = createContext({ ...world, variables }, wiring, {
      log: { level: logLevel, isChosen },
      allowedConnectors: allowConnector,
    });
    const options = readOptions(line.command.options, line.flags, variables);
    wantsJson = options['json'] === true;
    return await line.command.run(context, { options, positionals: line.positionals });
  } catch (thrown) {
    const error = systemRefusal(thrown);
    if (wantsJson && !context.terminal.hasPrinted) printRefusal(context, error, 'json');
    reportError(error, {
      terminal: context.terminal,
      cwd: world.cwd,
      document: context.document(),
    });
    return exitOf(error);
  } finally {
    context.terminal.clearProgress();
  }
}

function printVersion({ terminal, wiring }: CliContext): number {
  terminal.print(`headgate ${wiring.version}`);
  return EXIT.ok;
}

async function printHelp(
  { terminal }: CliContext,
  command: Command | undefined,
  commands: readonly Command[],
): Promise<number> {
  const { commandHelp, overview } = await import('./help.ts');
  const heading = (text: string): string => terminal.ink('bold', text);
  terminal.print(
    command === undefined ? overview(commands, heading) : commandHelp(command, heading),
  );
  return EXIT.ok;
}

/** Without a command help is printed, with an exit code that tells a script about its mistake. */
async function printOverview(
  { terminal }: CliContext,
  commands: readonly Command[],
): Promise<number> {
  const { overview } = await import('./help.ts');
  terminal.note(overview(commands, (text) => terminal.paint('bold', text)));
  return EXIT.usage;
}
