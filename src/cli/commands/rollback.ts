import type { Marker } from '../../engine/rollback/markers.ts';
import type { RollbackReport } from '../../wire/rollback.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { countedExit, EXIT, signalExit, usageError } from '../framework/exit.ts';
import { rowIds } from '../framework/offers.ts';
import { switchOption, textOption } from '../framework/option.ts';
import { count, thousands } from '../../lib/text/count.ts';
import { table } from '../render/render.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';
import { listenForStop } from '../framework/signals.ts';

export const rollbackCommand = defineCommand({
  name: 'rollback',
  summary: 'Undo a run at its destination.',
  description:
    'Deletes the records that the run added, restores those that it changed or deleted, and puts back a table that it replaced. ' +
    'The stored position goes back too, so that the next run reads these records again. ' +
    'Needs `rollback` in the document when the run is made; dead letters stay where they are.\n\n' +
    'When a later run changed the same records, nothing is undone and the exit code is the number of conflicts. ' +
    'Undo the later runs first, or use `--force`.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    run: textOption({
      value: 'ID',
      description: 'Invocation to undo; `--list` shows which there are.',
    }),
    list: switchOption({ description: 'Show what can be undone, and change nothing.' }),
    row: textOption({ value: 'ID', offers: rowIds, description: 'Look at this row only.' }),
    dryRun: switchOption({ description: 'Count what would be done, and change nothing.' }),
    force: switchOption({ description: 'Undo although a later run changed the same records.' }),
    json: switchOption({ description: 'Print JSON.' }),
    ...DOCUMENT_OPTIONS,
  },
  examples: [
    { command: 'headgate rollback orders.yaml --list', description: 'What can be undone' },
    {
      command: 'headgate rollback orders.yaml --run 01980000-0000-7000-8000-000000000000 --dry-run',
      description: 'What undoing would do',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { run: runId, list, row, dryRun, force } = options;
    if (list === (runId !== undefined))
      throw usageError('one of --run and --list is needed', 'see `headgate rollback --help`');
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { plan, parts } = await loadPlan(context, { config, completion: options });
    const [{ listRollbackable }, { rollBackRun }] = await Promise.all([
      import('../../engine/rollback/find-run.ts'),
      import('../../engine/rollback/roll-back-run.ts'),
    ]);
    const { env, world, terminal } = context;
    using stops = listenForStop(world, 'cancel', () => {});
    const request = { plan, parts, env, row, signal: stops.signal };
    if (runId === undefined) {
      const markers = await listRollbackable(request);
      if (options.json) terminal.json({ pipeline: plan.name, runs: markers.map(listed) });
      else printMarkers(context, markers);
      return EXIT.ok;
    }
    const report = await rollBackRun({ ...request, runId, dryRun, force });
    if (options.json) terminal.json(report);
    else printReport(context, report);
    const signal = stops.received();
    if (signal !== undefined) return signalExit(signal);
    return report.blocked ? countedExit(report.conflicts) : EXIT.ok;
  },
});

function listed({
  run_id,
  row,
  started_at,
  sink_kind,
  sink_uri,
  mode,
  records_written,
}: Marker): Record<string, unknown> {
  return {
    run_id,
    row,
    started_at,
    sink_kind,
    dataset: sink_uri,
    mode,
    records_written: records_written ?? null,
  };
}

function printMarkers({ terminal }: CliContext, markers: readonly Marker[]): void {
  if (markers.length === 0)
    return terminal.note(
      'no run can be undone: `rollback` must be in the document when a run starts',
    );
  const cells = markers.map((marker) => [
    marker.run_id,
    marker.row,
    marker.started_at,
    marker.mode,
    marker.records_written === undefined ? 'not known' : thousands(marker.records_written),
    marker.sink_uri,
  ]);
  for (const line of table(
    ['run', 'row', 'started', 'undone as', 'records', 'dataset'],
    cells,
    [4],
  ))
    terminal.print(line);
}

const VERBS = { append: 'appended', upsert: 'changed', overwrite: 'replaced' } as const;

function printReport({ terminal }: CliContext, report: RollbackReport): void {
  const { row, dataset, mode, deleted, restored, conflicts } = report;
  const head = report.blocked
    ? terminal.ink('red', 'blocked')
    : report.applied
      ? terminal.ink('green', 'undone')
      : 'would be undone';
  terminal.print(`${head}: the records that row ${row} ${VERBS[mode]} in ${dataset}`);
  if (!report.blocked)
    terminal.print(`  ${count(deleted, 'record')} deleted, ${count(restored, 'record')} restored`);
  if (conflicts > 0) terminal.print(`  ${count(conflicts, 'conflict')}`);
  if (report.bookmark_rewound)
    terminal.print(
      `  the next run reads these records again${report.token_rewound ? ' (position and watermark)' : ''}`,
    );
  if (report.note !== null) terminal.print(`  ${report.note}`);
  if (report.later_runs.length > 0)
    terminal.print(`  later runs of the row: ${report.later_runs.join(', ')}`);
}
