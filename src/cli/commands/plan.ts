import { AppError } from '../../lib/errors.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import type { FactTopic } from '../../blocks/define-block.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import type { CliContext } from '../framework/context.ts';
import { defineCommand } from '../framework/command.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXIT, usageError } from '../framework/exit.ts';
import { rowIds } from '../framework/offers.ts';
import { integerOption, switchOption, textOption } from '../framework/option.ts';
import { count } from '../../lib/text/count.ts';
import { factsAbout } from '../../features/plan-view/row-checks.ts';
import { rowDocument, topologyDocument } from '../../features/plan-view/plan-view.ts';
import { factsOf } from '../../features/plan-view/row-facts.ts';
import {
  formatEvidence,
  formatTypes,
  type RowTypes,
} from '../../features/plan-view/stage-types.ts';
import { formatFanOut, timesOf } from '../render/row-times.ts';
import { CONFIG_ARGUMENT, SELECTION_OPTIONS } from '../framework/shared-options.ts';

export const planCommand = defineCommand({
  name: 'plan',
  summary: 'Show how each matrix row would run, before any record moves.',
  description:
    'Shows connectors, write mode, delivery guarantee and lane of each matrix row that would run, with the reasons. Nothing is contacted, except with `--live`; for `infer_types` the first records of a local file are read.\n\n' +
    'With `--sample` or `--live` some records go through the stages of one row, and are shown before and after each; what masking hides is hidden ' +
    'everywhere. `--live` also probes the sink and compares the records with the columns that are there; nothing is written. With `--diff` two documents are compared: rows, parts, settings, guarantees, and bookmarks that the next run would not find.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    row: textOption({ value: 'ID', offers: rowIds, description: 'Show this row only.' }),
    json: switchOption({ description: 'Print JSON: an object for one row, a list for several.' }),
    ...DOCUMENT_OPTIONS,
    ...SELECTION_OPTIONS,
    sample: textOption({
      value: 'FILE',
      completes: 'file',
      conflicts: ['diff'],
      description:
        'Show what each stage of the row does to the records of this file; nothing is contacted without `--live`.',
    }),
    live: switchOption({
      conflicts: ['diff'],
      description:
        'Read the first records of the source, show what each stage of the row does to them, and compare them with the columns of the destination. With `--sample` only the destination is read.',
    }),
    limit: integerOption({
      value: 'N',
      min: 1,
      default: 10,
      description: 'With `--sample` and `--live`: records to take.',
    }),
    diff: textOption({
      value: 'FILE',
      completes: 'file',
      description: 'Show the differences to this document: rows, connectors, settings, guarantees.',
    }),
    resolveSecrets: switchOption({
      description: 'Ask secrets managers; without it their tokens stay as they are.',
    }),
  },
  examples: [
    {
      command: 'headgate plan orders.yaml --row eu',
      description: 'One matrix row',
    },
    {
      command: 'headgate plan orders.yaml --sample orders.jsonl',
      description: 'What happens to some records',
    },
    {
      command: 'headgate plan orders.yaml --diff orders.old.yaml',
      description: 'What a change of the document changes',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { plan, parts } = await loadPlan(context, {
      config,
      selection: options,
      completion: options,
      onlyChecked: !options.live,
      keepSecrets: !options.resolveSecrets && !options.live,
    });
    if (options.live && options.sample === undefined && plan.topology !== undefined)
      throw usageError(
        '`--live` reads the source of a row, and a graph of nodes has no such row',
        'use `headgate preview`, or `--sample` with a `--row`',
      );
    const rows = options.row === undefined ? plan.rows : [rowCalled(options.row, plan)];
    if (options.diff !== undefined)
      return (await import('../render/plan-diff.ts')).printPlanDiff(context, {
        plan,
        other: options.diff,
        options,
      });
    if (options.sample !== undefined || options.live) {
      const document =
        options.json && rows[0] !== undefined ? rowDocument(rows[0], plan) : undefined;
      const { printSample } = await import('../documents/plan-sample.ts');
      return printSample(context, {
        plan,
        parts,
        rows,
        document,
        sample: options.sample,
        limit: options.limit,
        looks: options.live,
      });
    }
    const { inferredTypes } = await import('../documents/inferred-types.ts');
    const typesOf = await inferredTypes(context, { plan, parts, rows });
    const { topology } = plan;
    const graph =
      topology === undefined || options.row !== undefined
        ? undefined
        : await import('../render/topology-view.ts');
    if (options.json) {
      const one =
        rows.length === 1 && rows[0] !== undefined
          ? rowDocument(rows[0], plan, typesOf(rows[0]))
          : rows.map((row) => rowDocument(row, plan, typesOf(row)));
      const whole =
        topology === undefined || options.row !== undefined
          ? one
          : {
              ...topologyDocument(topology),
              rows: rows.map((row) => rowDocument(row, plan, typesOf(row))),
            };
      context.terminal.json(whole);
    } else
      printPlan(context, {
        plan,
        rows,
        typesOf,
        drawing: topology === undefined ? undefined : graph?.drawGraph(topology, plan.rows),
      });
    return EXIT.ok;
  },
});

function rowCalled(id: string, plan: Plan): PlannedRow {
  const all = [...plan.rows, ...plan.unselected];
  const row = all.find((one) => one.id === id);
  if (row !== undefined) return row;
  const hint = suggestion(
    id,
    all.map((one) => one.id),
    'rows',
  );
  throw new AppError(
    'unknown_row',
    `there is no row \`${id}\``,
    hint === undefined ? {} : { hint },
  );
}

interface PrintedPlan {
  readonly plan: Plan;
  readonly rows: readonly PlannedRow[];
  readonly typesOf: (row: PlannedRow) => RowTypes;
  /** The graph, for a plan of nodes. */
  readonly drawing: readonly string[] | undefined;
}

function printPlan({ terminal }: CliContext, { plan, rows, typesOf, drawing }: PrintedPlan): void {
  const order = plan.schedule === 'lpt' ? 'heaviest first' : 'as declared';
  const what =
    plan.topology === undefined
      ? `${count(rows.length, 'row')}, at most ${plan.maxConcurrent} at a time, ${order}`
      : `${count(plan.topology.nodes.length, 'node')}, all at the same time`;
  terminal.print(`${terminal.ink('bold', plan.name)}: ${what}, on error ${plan.onError}`);
  for (const line of drawing ?? []) terminal.print(`  ${line}`);
  for (const row of rows === plan.rows ? plan.fanOuts : [])
    terminal.print(`\n${terminal.ink('bold', row.id)}\n  ${formatFanOut(row)}`);
  for (const row of rows) {
    terminal.print(`\n${terminal.ink('bold', row.id)}`);
    for (const [name, text] of linesOf(row, typesOf(row)))
      terminal.print(`  ${terminal.ink('dim', name.padEnd(14))}${text}`);
  }
}

/** Settings that the `concurrency` of a submission replaces. */
function concurrencyLine({ source, sink }: PlannedRow): (readonly [string, string])[] {
  const keys = [source, sink].flatMap(({ type, config, definition }) =>
    (definition.concurrencyKeys ?? []).map((key) => {
      const value = config[key];
      const now = typeof value === 'number' || typeof value === 'string' ? ` (now ${value})` : '';
      return `\`${key}\` of ${type}${now}`;
    }),
  );
  return keys.length === 0
    ? []
    : [['concurrency', `${keys.join(', ')}; a run submitted with \`concurrency\` replaces it`]];
}

/** The types after each stage of which something is known. */
function typeLines(types: RowTypes): (readonly [string, string])[] {
  const titled = (title: string, lines: readonly string[]) =>
    lines.map((line, index) => [index === 0 ? title : '', line] as const);
  const evidence = formatEvidence(types.stages[0]?.schema);
  return [...titled('types', formatTypes(types)), ...titled('inferred', evidence)];
}

function linesOf(row: PlannedRow, types: RowTypes): (readonly [string, string])[] {
  const facts = factsOf(row);
  const listed = (topic: FactTopic): (readonly [string, string])[] => {
    const about = factsAbout(topic, row);
    return about.length === 0 ? [] : [[topic, about.map(({ short }) => short).join(', ')]];
  };
  const mode =
    facts.writeMode === undefined
      ? ''
      : `, ${facts.writeMode}${facts.key.length === 0 ? '' : ` by ${facts.key.join(', ')}`}`;
  return [
    ['source', `${row.source.type}${facts.sourceUri === undefined ? '' : `  ${facts.sourceUri}`}`],
    ...(row.transforms.length === 0
      ? []
      : [['transforms', row.transforms.map((transform) => transform.type).join(' → ')] as const]),
    ...listed('checks'),
    ...listed('stamped'),
    ['sink', `${row.sink.type}${mode}${facts.sinkUri === undefined ? '' : `  ${facts.sinkUri}`}`],
    ...listed('dead letters'),
    ...listed('state'),
    ...listed('guarantee'),
    ...listed('taken over'),
    ...listed('retries'),
    ...listed('expects'),
    ...listed('undo'),
    ['lane', row.lane.reason],
    ...concurrencyLine(row),
    ...typeLines(types),
    ...(row.parent === undefined
      ? []
      : [
          [
            'parent',
            `${row.parent.row}, once for each of its records, by ${row.parent.key}`,
          ] as const,
        ]),
    ...(row.forEach.length === 0 ? [] : [['runs', timesOf(row) ?? ''] as const]),
    ...listed('chunks'),
    ...listed('shards'),
    ...(row.dependsOn.length === 0 ? [] : [['after', row.dependsOn.join(', ')] as const]),
  ];
}
