import { stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import type { Difference, VerifyReport } from '../../wire/verify.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { countedExit, signalExit } from '../framework/exit.ts';
import { rowIds } from '../framework/offers.ts';
import { integerOption, switchOption, textOption } from '../framework/option.ts';
import { count, thousands } from '../../lib/text/count.ts';
import { type Style } from '../render/render.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';
import { listenForStop } from '../framework/signals.ts';

export const verifyCommand = defineCommand({
  name: 'verify',
  summary: 'Compare the records of a destination with those of its source, key by key.',
  description:
    'Reads both sides (the source through the transforms and masking of the matrix row) and lists keys that are missing, unexpected, changed or duplicate. ' +
    'Where both sides are databases with one integer key, ranges of keys are compared by digest first, and only ranges that differ are read. ' +
    'The exit code is the number of keys that differ.\n\n' +
    'With `--repair`, missing and changed records are written again, through the quality checks, contract and sink of the row; ' +
    'records that only the destination has are deleted only with `--allow-delete`. The `verify` block of the document says how values are compared.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    row: textOption({
      value: 'ID',
      offers: rowIds,
      description: 'The matrix row (default: the first root row).',
    }),
    repair: switchOption({ description: 'Write missing and changed records again.' }),
    allowDelete: switchOption({
      description: 'Let a repair delete records that only the destination has.',
    }),
    dryRun: switchOption({ description: 'Count what a repair would do, and write nothing.' }),
    maxDifferences: integerOption({
      value: 'N',
      min: 1,
      description: 'Stop after this many differences (default: `verify.max_differences`, 1000).',
    }),
    json: switchOption({ description: 'Print JSON.' }),
    ...DOCUMENT_OPTIONS,
  },
  examples: [
    { command: 'headgate verify orders.yaml', description: 'What differs' },
    {
      command: 'headgate verify orders.yaml --repair --allow-delete --dry-run',
      description: 'What a repair would do',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { row, repair, allowDelete, dryRun, maxDifferences } = options;
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { plan, parts } = await loadPlan(context, { config, completion: options });
    const { rowToVerify, verifyRow } = await import('../../engine/verify/verify-row.ts');
    const { env, world, terminal } = context;
    using stops = listenForStop(world, 'cancel', () => {});
    const comparing = verifyRow({
      plan,
      row: rowToVerify(plan, row),
      parts,
      env,
      runId: env.ids.next(),
      clock: world.clock.now(),
      stop: stops.signal,
      kill: stops.signal,
      task: { repair, allowDelete, dryRun, maxDifferences },
    });
    try {
      const report = await comparing;
      if (options.json) terminal.json(report);
      else printReport(context, report);
      return countedExit(differingKeys(report));
    } catch (error) {
      const signal = stops.received();
      if (signal === undefined) throw error;
      return signalExit(signal);
    }
  },
});

/** A key that is duplicate on both sides is reported twice. */
function differingKeys({ differences }: VerifyReport): number {
  return new Set(differences.map(({ key }) => stringifyJson(key as JsonObject))).size;
}

const STYLES: Readonly<Record<Difference['kind'], Style>> = {
  missing_in_dest: 'red',
  extra_in_dest: 'yellow',
  changed: 'cyan',
  duplicate: 'yellow',
};
const KIND_WIDTH = 15;

function printReport({ terminal }: CliContext, report: VerifyReport): void {
  for (const difference of report.differences) {
    const kind = terminal.ink(STYLES[difference.kind], difference.kind.padEnd(KIND_WIDTH));
    terminal.print(
      `${kind}  ${stringifyJson(difference.key as JsonObject)}${detailOf(difference)}`,
    );
  }
  const { rows_fetched_source: here, rows_fetched_dest: there, strategy, truncated } = report;
  const keys = differingKeys(report);
  const verdict =
    keys === 0
      ? truncated
        ? 'no difference found'
        : terminal.ink('green', 'equal')
      : terminal.ink('red', `${count(keys, 'key')} differ${keys === 1 ? 's' : ''}`);
  terminal.print(`${report.row}: ${verdict}, by ${report.key.join(', ')}`);
  terminal.print(
    `  ${thousands(here)} records read from the source (${report.source}), ${thousands(there)} from the destination (${report.destination})`,
  );
  if (strategy === 'range') {
    const where = report.server_digests ? ', digests computed by the databases' : '';
    terminal.print(
      `  ${count(report.ranges_compared, 'key range')} compared, ${thousands(report.ranges_differing)} differed${where}`,
    );
  }
  if (report.held_back !== undefined)
    terminal.print(
      `  ${count(report.held_back, 'record')} held back in the dead-letter queue, which is no difference`,
    );
  if (truncated)
    terminal.print(
      '  not everything was compared: raise `--max-differences`, or `verify.max_rows_scanned` in the document',
    );
  const { repaired_upserts: upserts, repaired_deletes: deletes } = report;
  if (upserts !== undefined && deletes !== undefined)
    terminal.print(
      `  ${report.dry_run ? 'would be repaired' : 'repaired'}: ${count(upserts, 'record')} written, ${thousands(deletes)} deleted`,
    );
}

function detailOf({ columns, side, count: times }: Difference): string {
  if (columns !== undefined) return `  ${columns.join(', ')}`;
  return side === undefined || times === undefined ? '' : `  ${times} times in the ${side}`;
}
