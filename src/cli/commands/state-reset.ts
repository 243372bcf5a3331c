import type { RowReset } from '../../features/bookmarks/reset-bookmarks.ts';
import { count } from '../../lib/text/count.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';
import { listenForStop } from '../framework/signals.ts';
import { ago, stateRequest, STATE_OPTIONS } from './state-options.ts';

export const stateResetCommand = defineCommand({
  name: 'state reset',
  summary: 'Forget where rows stand: the next run reads from the beginning.',
  description:
    'Removes the bookmarks of one row (`--row`) or of all rows. Where a row delivers exactly once, its watermark at the destination is removed too: otherwise the next run would go on where the destination says. ' +
    'What the destination holds stays there.\n\n' +
    'Asks first, unless `--yes` is given. Refused while a run of the row is going on.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    yes: switchOption({ short: 'y', description: 'Do not ask.' }),
    ...STATE_OPTIONS,
  },
  examples: [
    { command: 'headgate state reset orders.yaml --row orders', description: 'One row' },
    { command: 'headgate state reset orders.yaml --yes', description: 'All rows, in a script' },
  ],
  async run(context, { options, positionals: [config] }) {
    const { plannedResets, resetBookmarks } =
      await import('../../features/bookmarks/reset-bookmarks.ts');
    const { terminal, world } = context;
    const given = await stateRequest(context, { config, options });
    using stops = listenForStop(world, 'cancel', () => {});
    const request = { ...given, signal: stops.signal };
    const isJson = options.output === 'json';
    if (!options.yes) {
      const planned = await plannedResets(request);
      if (!isJson || planned.length > 0) announce(context, planned);
      if (planned.length > 0 && !(await isWanted(context))) {
        terminal.note('nothing was changed');
        return EXIT.failed;
      }
    }
    const done = await resetBookmarks(request);
    if (isJson) terminal.json({ pipeline: request.plan.name, rows: done.map(resetDocument) });
    else report(context, done, options.yes);
    return EXIT.ok;
  },
});

async function isWanted({ world }: CliContext): Promise<boolean> {
  if (world.prompts === undefined)
    throw usageError(
      'nobody can be asked here, and `--yes` is not given',
      'look at what would be removed, and repeat the command with `--yes`',
    );
  return (await world.prompts()).confirm('Remove them?', false);
}

function announce({ terminal, world }: CliContext, resets: readonly RowReset[]): void {
  if (resets.length === 0) return;
  terminal.note('These bookmarks would be removed:');
  for (const reset of resets) terminal.note(`  ${lineOf(reset, world.clock.now())}`);
  warnOfRepeats(terminal, resets);
}

function lineOf({ row, bookmarks, hasWatermark }: RowReset, now: Date): string {
  const [only] = bookmarks;
  const what =
    bookmarks.length === 1 && only !== undefined
      ? `${only.key}, stored ${ago(only.at, now)}`
      : count(bookmarks.length, 'bookmark');
  return `${row.id}: ${what}${hasWatermark ? `, and the watermark at the ${row.sink.type} destination` : ''}`;
}

function warnOfRepeats(terminal: CliContext['terminal'], resets: readonly RowReset[]): void {
  const rows = resets.filter(({ repeats }) => repeats).map(({ row }) => row.id);
  if (rows.length === 0) return;
  terminal.warn(
    `the next run of ${rows.join(', ')} appends records that the destination has already: they will be there twice, unless you empty it or write by key (\`write_mode: upsert\`)`,
  );
}

function report({ terminal }: CliContext, done: readonly RowReset[], isQuiet: boolean): void {
  if (done.length === 0) return terminal.note('nothing is stored for these rows');
  for (const { row, bookmarks, hasWatermark } of done) {
    const watermark = hasWatermark ? ' and its watermark at the destination' : '';
    terminal.note(
      `${row.id}: ${count(bookmarks.length, 'bookmark')}${watermark} removed; the next run reads from the beginning`,
    );
  }
  if (isQuiet) warnOfRepeats(terminal, done);
}

function resetDocument({ row, bookmarks, hasWatermark, repeats }: RowReset): unknown {
  return {
    row: row.id,
    removed: bookmarks.map(({ key }) => key),
    watermark_removed: hasWatermark,
    repeats_records: repeats,
  };
}
