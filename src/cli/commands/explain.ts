import { topologyDocument } from '../../features/plan-view/plan-view.ts';
import { defineCommand } from '../framework/command.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXIT } from '../framework/exit.ts';
import { integerOption, switchOption, textOption } from '../framework/option.ts';
import { count } from '../../lib/text/count.ts';
import { wrap } from '../render/render.ts';
import { CONFIG_ARGUMENT, SELECTION_OPTIONS } from '../framework/shared-options.ts';

const WIDTH = 96;
/** Beyond this many rows a reader gets the first ones and a hint. */
const ROWS_SHOWN = 5;

export const explainCommand = defineCommand({
  name: 'explain',
  summary: 'Describe in plain words what a document does and guarantees.',
  description:
    'Tells where records come from, what happens to them, where they and the rejected ones go, and what is guaranteed; with `--sample` also what each stage does to some records. Nothing is contacted; for `infer_types` the first records of a local file are read.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    json: switchOption({ description: 'Print JSON.' }),
    rows: switchOption({
      description: `Explain every row, also when there are more than ${ROWS_SHOWN}.`,
    }),
    sample: textOption({
      value: 'FILE',
      completes: 'file',
      description: 'Show what each stage of the row does to the records of this file.',
    }),
    limit: integerOption({
      value: 'N',
      min: 1,
      default: 10,
      description: 'With `--sample`: records to take.',
    }),
    ...DOCUMENT_OPTIONS,
    ...SELECTION_OPTIONS,
  },
  examples: [
    {
      command: 'headgate explain orders.yaml',
      description: 'Before you run what somebody else wrote',
    },
    {
      command: 'headgate explain orders.yaml --sample orders.jsonl',
      description: 'With records that you know',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { formatFanOut } = await import('../render/row-times.ts');
    const { formatNotifications, formatRecording, notificationsDocument } =
      await import('../render/format-after-run.ts');
    const { explainDocument, introduce, formatRow } = await import('../render/explain-plan.ts');
    const { terminal } = context;
    const { plan, parts } = await loadPlan(context, {
      config,
      selection: options,
      completion: options,
      onlyChecked: true,
      keepSecrets: true,
    });
    const { inferredTypes } = await import('../documents/inferred-types.ts');
    const shown = options.rows || options.json ? plan.rows : plan.rows.slice(0, ROWS_SHOWN);
    const typesOf = await inferredTypes(context, { plan, parts, rows: shown });
    if (options.json) {
      const graph = plan.topology === undefined ? {} : topologyDocument(plan.topology);
      const document = {
        ...explainDocument(plan, typesOf),
        ...graph,
        ...notificationsDocument(plan),
      };
      if (options.sample === undefined) {
        terminal.json(document);
        return EXIT.ok;
      }
      const { printSample } = await import('../documents/plan-sample.ts');
      return printSample(context, {
        plan,
        parts,
        rows: plan.rows,
        document,
        sample: options.sample,
        limit: options.limit,
      });
    }
    for (const line of introduce(plan)) terminal.print(line);
    if (plan.topology !== undefined) {
      const { drawGraph } = await import('../render/topology-view.ts');
      terminal.print('');
      for (const line of drawGraph(plan.topology, plan.rows)) terminal.print(`  ${line}`);
    }
    for (const row of plan.fanOuts)
      terminal.print(`\n${terminal.ink('bold', row.id)}\n  - ${formatFanOut(row)}`);
    for (const row of shown) {
      terminal.print('');
      if (plan.rows.length + plan.fanOuts.length > 1) terminal.print(terminal.ink('bold', row.id));
      for (const sentence of formatRow(row, plan.topology, typesOf(row))) {
        const [first = '', ...more] = wrap(sentence, WIDTH);
        terminal.print([`  - ${first}`, ...more.map((line) => `    ${line}`)].join('\n'));
      }
    }
    if (shown.length < plan.rows.length)
      terminal.print(
        `\nand ${count(plan.rows.length - shown.length, 'more row')}; see them with \`--rows\``,
      );
    const sentences = [...formatNotifications(plan), ...formatRecording(plan)];
    if (sentences.length > 0) terminal.print(`\n${terminal.ink('bold', 'When a run has ended')}`);
    for (const sentence of sentences) terminal.print(`  - ${sentence}`);
    if (options.sample === undefined) return EXIT.ok;
    const { printSample } = await import('../documents/plan-sample.ts');
    terminal.print('');
    return printSample(context, {
      plan,
      parts,
      rows: plan.rows,
      document: undefined,
      sample: options.sample,
      limit: options.limit,
    });
  },
});
