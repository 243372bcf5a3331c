import { lineDiff } from '../../lib/text/line-diff.ts';
import { FileWatch } from '../documents/file-watch.ts';
import type { StageText } from '../documents/dev-session.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { configFile } from '../framework/config-file.ts';
import { EXIT, signalExit } from '../framework/exit.ts';
import { rowIds } from '../framework/offers.ts';
import { integerOption, switchOption, textOption } from '../framework/option.ts';
import { reportError, shortPath } from '../framework/report-error.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';
import { listenForStop } from '../framework/signals.ts';

export const devCommand = defineCommand({
  name: 'dev',
  summary: 'Show what each stage does to some records, again after every save.',
  description:
    'Reads the first records of a row, and prints them as the source gives them and after each stage. Whenever the document, a file that it includes, or the data is saved, ' +
    'it looks again and prints what changed, stage by stage. A document with a mistake is told of, and the next save tried. Nothing is written; Ctrl-C ends it.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    row: textOption({
      value: 'ID',
      offers: rowIds,
      description: 'Which row; the first by default.',
    }),
    sample: textOption({
      value: 'FILE',
      completes: 'file',
      description: 'Records to use in place of those of the source: `.jsonl`, `.json` or `.yaml`.',
    }),
    live: switchOption({
      description:
        'Read the source again after every save; otherwise it is read again only when its config or its file has changed.',
    }),
    limit: integerOption({
      value: 'N',
      min: 1,
      max: 1000,
      default: 5,
      description: 'Records to show.',
    }),
    once: switchOption({ description: 'Look once, and end.' }),
    debounceMs: integerOption({
      value: 'N',
      min: 0,
      max: 60_000,
      default: 150,
      description: 'Milliseconds between looks at the files.',
    }),
    ...DOCUMENT_OPTIONS,
  },
  examples: [
    { command: 'headgate dev orders.yaml', description: 'While you write it' },
    {
      command: 'headgate dev orders.yaml --sample records.jsonl --once',
      description: 'One look, with records of your own',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { world, terminal } = context;
    const file = configFile(context, config);
    using stops = listenForStop(world, 'cancel', () => {});
    const { DevSession } = await import('../documents/dev-session.ts');
    const request = { ...options, config: file, completion: options, signal: stops.signal };
    const session = new DevSession(context, request);
    const watch = new FileWatch(world.cwd);
    watch.add([file, ...(options.sample === undefined ? [] : [options.sample])]);
    let shown: readonly StageText[] | undefined;
    for (;;) {
      await watch.remember();
      let fails = false;
      try {
        const now = await session.look();
        watch.add(session.files);
        printChanges(context, shown, now);
        fails = now.some(({ isError }) => isError);
        shown = now;
      } catch (error) {
        if (stops.signal.aborted) break;
        watch.add(session.files);
        reportError(error, { terminal, cwd: world.cwd, document: context.document() });
        fails = true;
      }
      if (options.once) return fails ? EXIT.failed : EXIT.ok;
      terminal.note(terminal.paint('dim', `waiting for ${shortPath(file, world.cwd)} to be saved`));
      const changed = await watch.change(world.clock, options.debounceMs, stops.signal);
      if (changed === undefined) break;
      terminal.note(terminal.paint('dim', `${shortPath(changed, world.cwd)} was saved`));
    }
    return signalExit(stops.received() ?? 'SIGINT');
  },
});

/** Everything the first time, and then only what is different. */
function printChanges(
  { terminal }: CliContext,
  before: readonly StageText[] | undefined,
  now: readonly StageText[],
): void {
  let isSame = before !== undefined;
  for (const [index, { title, lines, isError }] of now.entries()) {
    // The same stage, wherever it stands now; of two with one title the one in the same place.
    const old =
      before?.[index]?.title === title
        ? before[index]
        : before?.find((stage) => stage.title === title);
    const changes =
      old === undefined ? lines.map((line) => `+ ${line}`) : lineDiff(old.lines, lines);
    if (before !== undefined && changes.length === 0) continue;
    isSame = false;
    terminal.print(terminal.ink(isError ? 'red' : 'bold', title));
    for (const line of before === undefined ? lines.map((one) => `  ${one}`) : changes)
      terminal.print(`  ${inked(terminal, line)}`);
  }
  for (const { title } of before ?? [])
    if (!now.some((stage) => stage.title === title)) {
      isSame = false;
      terminal.print(terminal.ink('red', `- ${title}`));
    }
  if (isSame) terminal.note('no record is different');
}

function inked(terminal: CliContext['terminal'], line: string): string {
  if (line.startsWith('+ ')) return terminal.ink('green', line);
  return line.startsWith('- ') ? terminal.ink('red', line) : line;
}
