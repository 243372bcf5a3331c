import { maskingBlock } from '../../blocks/masking/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import {
  maskingRulesFor,
  type LabelledRule,
  type MaskingAction,
  type MaskingConfig,
} from '../../blocks/masking/schema.ts';
import { AppError } from '../../lib/errors.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import type { Plan, PlannedRow, PlannedSink } from '../../plan/plan.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXIT } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';
import { count } from '../../lib/text/count.ts';
import { CONFIG_ARGUMENT, SELECTION_OPTIONS } from '../framework/shared-options.ts';

export const maskingCommand = defineCommand({
  name: 'masking',
  summary: 'Show which masking rules apply to which destination.',
  description:
    'Lists the masking rules for each destination that would be written, in the order in which they are tried: the first one that matches a field wins. ' +
    'Nothing is contacted, and keys are not shown. See `headgate preview` for what the records then look like.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    json: switchOption({ description: 'Print JSON.' }),
    ...DOCUMENT_OPTIONS,
    ...SELECTION_OPTIONS,
  },
  examples: [{ command: 'headgate masking orders.yaml', description: 'What leaves, and as what' }],
  async run(context, { options, positionals: [config] }) {
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { plan } = await loadPlan(context, {
      config,
      selection: options,
      completion: options,
      onlyChecked: true,
      keepSecrets: true,
    });
    const masking = maskingOf(plan);
    const destinations = destinationsOf(plan, masking);
    if (options.json) context.terminal.json(documentOf(masking, destinations));
    else printMasking(context, masking, destinations);
    return EXIT.ok;
  },
});

interface Destination {
  readonly sink: PlannedSink;
  readonly rows: readonly string[];
  readonly rules: readonly LabelledRule[];
}

function maskingOf({ rows, unselected }: Plan): MaskingConfig {
  const [row] = [...rows, ...unselected];
  const masking = row && blockOf(row, maskingBlock);
  if (masking !== undefined) return masking;
  throw new AppError('no_masking', 'the document has no `pipeline.masking`', {
    hint: 'see `headgate schema masking`',
  });
}

/** Rules are scoped by preset and type, so rows that share both share their rules. */
function destinationsOf({ rows }: Plan, masking: MaskingConfig): Destination[] {
  const groups = Map.groupBy(rows, ({ sink }: PlannedRow) => `${sink.preset} ${sink.type}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { sink } = first;
    return [
      {
        sink,
        rows: group.map((row) => row.id),
        rules: maskingRulesFor(masking, { preset: sink.preset, type: sink.type }),
      },
    ];
  });
}

function documentOf(
  masking: MaskingConfig,
  destinations: readonly Destination[],
): Record<string, unknown> {
  return {
    description: masking.description ?? null,
    keyed: masking.key !== undefined,
    destinations: destinations.map(({ sink, rows, rules }) => ({
      sink: sink.type,
      template: sink.preset,
      rows,
      rules: rules.map(({ label, rule: { match, action } }) => ({ rule: label, match, action })),
    })),
  };
}

function printMasking(
  { terminal }: CliContext,
  masking: MaskingConfig,
  destinations: readonly Destination[],
): void {
  if (masking.description !== undefined) terminal.print(`${masking.description}\n`);
  for (const { sink, rows, rules } of destinations) {
    const name = sink.preset === 'default' ? sink.type : `${sink.preset} (${sink.type})`;
    const named =
      rows.length > 5
        ? `${rows.slice(0, 5).join(', ')} and ${rows.length - 5} more`
        : rows.join(', ');
    terminal.print(`${terminal.ink('bold', name)}  ${rows.length === 1 ? 'row' : 'rows'} ${named}`);
    if (rules.length === 0) terminal.print('  no rule applies: records go there as they are');
    rules.forEach((rule, index) => terminal.print(`  ${index + 1}. ${sentenceOf(rule, masking)}`));
  }
  const unused =
    masking.rules.length -
    new Set(destinations.flatMap(({ rules }) => rules.map(({ rule }) => rule))).size;
  if (unused > 0)
    terminal.print(
      `\n${count(unused, 'rule')} of ${masking.rules.length} for destinations that are not written here`,
    );
}

function sentenceOf(
  { label, rule: { match, action } }: LabelledRule,
  { key }: MaskingConfig,
): string {
  const criteria = [
    ...(match.fields === undefined ? [] : [`the fields ${match.fields.join(', ')}`]),
    ...(match.field_pattern === undefined ? [] : [`fields that match ${match.field_pattern}`]),
    ...(match.value_detector === undefined
      ? []
      : [`values that look like ${match.value_detector}`]),
  ];
  return `${label}: ${criteria.join(', or ')} → ${outcomeOf(action, key !== undefined)}`;
}

function outcomeOf(action: MaskingAction, keyed: boolean): string {
  const digest = keyed ? 'a keyed hash' : 'a hash (without a key: known values can be found out)';
  switch (action.type) {
    case 'redact':
      return stringifyJson(action.mask);
    case 'hash':
      return digest;
    case 'tokenize':
      return `${action.prefix}… and the start of ${digest}`;
    case 'partial':
      return `all but the last ${action.keep_last} characters become ${action.mask_char}`;
    default:
      return action satisfies never;
  }
}
