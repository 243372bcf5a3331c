import { contractBlock } from '../../blocks/contract/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import type { ContractConfig, ContractField } from '../../blocks/contract/schema.ts';
import { AppError } from '../../lib/errors.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import type { Plan } from '../../plan/plan.ts';
import { defineCommand } from '../framework/command.ts';
import type { CliContext } from '../framework/context.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXIT } from '../framework/exit.ts';
import { choiceOption } from '../framework/option.ts';
import { count } from '../../lib/text/count.ts';
import { table } from '../render/render.ts';
import { CONFIG_ARGUMENT } from '../framework/shared-options.ts';

export const contractCommand = defineCommand({
  name: 'contract',
  summary: 'Show the contract of a document, or export it for other tools.',
  description:
    'Prints the contract: the fields, types and limits that readers of the records can rely on. With `--export` it is printed in a format for other tools: ' +
    '`contract` (canonical JSON: equal contracts give equal text), `json-schema` (2020-12) or `openlineage` (a schema facet). Nothing is contacted.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    export: choiceOption({
      value: 'FORM',
      choices: ['summary', 'contract', 'json-schema', 'openlineage'],
      default: 'summary',
      description: 'What to print instead of a summary: contract, json-schema or openlineage.',
    }),
    ...DOCUMENT_OPTIONS,
  },
  examples: [
    { command: 'headgate contract orders.yaml', description: 'What readers can rely on' },
    {
      command: 'headgate contract orders.yaml --export json-schema > orders.schema.json',
      description: 'As JSON Schema, for readers',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    const { loadPlan } = await import('../documents/load-plan.ts');
    const { plan } = await loadPlan(context, {
      config,
      completion: options,
      onlyChecked: true,
      keepSecrets: true,
    });
    const contract = contractOf(plan);
    const { contractJson, contractJsonSchema, contractLineageFacet } =
      await import('../../blocks/contract/export.ts');
    const { terminal, wiring } = context;
    switch (options.export) {
      case 'contract':
        terminal.data(`${contractJson(contract)}\n`);
        break;
      case 'json-schema':
        terminal.data(`${stringifyJson(contractJsonSchema(contract), 2)}\n`);
        break;
      case 'openlineage':
        terminal.data(
          `${stringifyJson(contractLineageFacet(contract, `urn:headgate:${wiring.version}`), 2)}\n`,
        );
        break;
      case 'summary':
        printContract(context, contract);
        break;
      default:
        options.export satisfies never;
    }
    return EXIT.ok;
  },
});

function contractOf({ rows, unselected }: Plan): ContractConfig {
  const [row] = [...rows, ...unselected];
  const contract = row && blockOf(row, contractBlock);
  if (contract !== undefined) return contract;
  throw new AppError('no_contract', 'the document has no `pipeline.contract`', {
    hint: 'see `headgate schema contract`',
  });
}

const ON_BREACH: Readonly<Record<ContractConfig['on_breach'], string>> = {
  fail: 'ends the run before its page is written',
  quarantine: 'goes to the dead-letter queue',
  warn: 'is logged and counted',
};

function printContract({ terminal }: CliContext, contract: ContractConfig): void {
  const owner = contract.owner === undefined ? '' : `, kept by ${contract.owner}`;
  terminal.print(
    `${terminal.ink('bold', `contract ${contract.version}`)}${owner}: ${count(contract.fields.length, 'field')}`,
  );
  if (contract.description !== undefined) terminal.print(contract.description);
  const extra = contract.allow_extra_fields ? 'may have other fields, too' : 'has no other fields';
  terminal.print(`A record that breaks it ${ON_BREACH[contract.on_breach]}. A record ${extra}.\n`);
  const cells = contract.fields.map((field) => [field.name, typeOf(field), limitsOf(field)]);
  for (const line of table(['field', 'type', 'limits'], cells)) terminal.print(`  ${line}`);
}

function typeOf({ type, nullable, required }: ContractField): string {
  return `${type}${nullable ? ' or null' : ''}${required ? '' : ', optional'}`;
}

function limitsOf(field: ContractField): string {
  const { min, max, min_length: shortest, max_length: longest, pattern } = field;
  return [
    ...(field.enum === undefined
      ? []
      : [`one of ${field.enum.map((value) => stringifyJson(value)).join(', ')}`]),
    ...(min === undefined ? [] : [`at least ${min}`]),
    ...(max === undefined ? [] : [`at most ${max}`]),
    ...(shortest === undefined ? [] : [`at least ${count(shortest, 'character')}`]),
    ...(longest === undefined ? [] : [`at most ${count(longest, 'character')}`]),
    ...(pattern === undefined ? [] : [`matches ${pattern}`]),
  ].join(', ');
}
