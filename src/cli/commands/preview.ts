import { AppError } from '../../lib/errors.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import type { Parts } from '../../kit/parts.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXIT, signalExit } from '../framework/exit.ts';
import { momentOption } from '../framework/moment-option.ts';
import { integerOption, switchOption } from '../framework/option.ts';
import { CONFIG_ARGUMENT, SELECTION_OPTIONS } from '../framework/shared-options.ts';
import { listenForStop, type Stops } from '../framework/signals.ts';

interface NodesRequest {
  readonly plan: Plan;
  readonly parts: Parts;
  /** Records of each source. */
  readonly limit: number;
  readonly clock?: Date | undefined;
}

export const previewCommand = defineCommand({
  name: 'preview',
  summary: 'Show the first records of a row, after transforms and masking.',
  description:
    'Reads the source of the first selected row that has no parent, and prints its records as JSON lines; of a graph of nodes what each sink would be given. No sink is opened and no bookmark is read or stored. With `--stages` they are shown before and after each stage, and at each node of a graph.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    limit: integerOption({ value: 'N', min: 1, default: 10, description: 'Records to show.' }),
    stages: switchOption({
      description: 'Show what each stage does to the records, and which would be put aside.',
    }),
    clock: momentOption({ description: 'Time to use for `${now.*}`, instead of the present.' }),
    ...DOCUMENT_OPTIONS,
    ...SELECTION_OPTIONS,
  },
  examples: [
    { command: 'headgate preview orders.yaml --limit 3', description: 'What would be written' },
    {
      command: 'headgate preview orders.yaml --limit 3 --stages',
      description: 'What becomes of it on the way',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { plan, parts } = await loadPlan(context, {
      config,
      selection: options,
      completion: options,
    });
    const { terminal, world, env } = context;
    if (options.stages) {
      if (plan.topology !== undefined) return previewNodes(context, { plan, parts, ...options });
      const { printSample } = await import('../documents/plan-sample.ts');
      const { limit, clock } = options;
      return printSample(context, {
        plan,
        parts,
        rows: [firstRoot(plan)],
        document: undefined,
        sample: undefined,
        limit,
        clock,
      });
    }
    using stops = listenForStop(world, 'cancel', () => {});
    if (plan.topology !== undefined) {
      const { previewTopology } = await import('../../engine/preview/preview-topology.ts');
      const clock = options.clock ?? world.clock.now();
      const shown = await previewTopology({
        plan,
        parts,
        env: context.envAt('warn'),
        limit: options.limit,
        clock,
        signal: stops.signal,
      });
      for (const [sink, records] of shown) {
        terminal.note(
          records.length === 0 ? `sink node ${sink}: no records` : `sink node ${sink}:`,
        );
        for (const record of records) terminal.data(`${stringifyJson(record)}\n`);
      }
      return exitOf(stops);
    }
    const { preview } = await import('../../engine/preview/preview.ts');
    const row = firstRoot(plan);
    let shown = 0;
    const records = preview({
      plan,
      parts,
      env,
      row,
      limit: options.limit,
      clock: options.clock ?? world.clock.now(),
      signal: stops.signal,
    });
    for await (const record of records) {
      terminal.data(`${stringifyJson(record)}\n`);
      shown += 1;
    }
    if (shown === 0) terminal.note(`row ${row.id}: no records`);
    return exitOf(stops);
  },
});

async function previewNodes(
  context: CliContext,
  { plan, parts, limit, clock }: NodesRequest,
): Promise<number> {
  const { traceGraph } = await import('../../engine/preview/trace-graph.ts');
  const { printGraphSample } = await import('../documents/graph-sample.ts');
  using stops = listenForStop(context.world, 'cancel', () => {});
  const traces = await traceGraph({
    plan,
    parts,
    env: context.envAt('error'),
    limit,
    clock: clock ?? context.world.clock.now(),
    signal: stops.signal,
  });
  printGraphSample(context, traces);
  return traces.every(({ error }) => error === undefined) ? exitOf(stops) : EXIT.failed;
}

function exitOf(stops: Stops): number {
  const signal = stops.received();
  return signal === undefined ? EXIT.ok : signalExit(signal);
}

function firstRoot(plan: Plan): PlannedRow {
  const row = plan.rows.find((one) => one.role === 'root');
  if (row !== undefined) return row;
  throw new AppError(
    'no_root_row',
    'no selected row can be read by itself: each needs the records of its parent',
    {
      hint: 'select a row without `parent`',
    },
  );
}
