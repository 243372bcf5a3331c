import type { ContractConfig } from '../../blocks/contract/schema.ts';
import { RunError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { defineMetric } from '../../lib/metrics/metrics.ts';
import { compileContract, type Breach } from './contract-breach.ts';
import { compileColumnContract } from './contract-columns.ts';
import type { PageInWork, Stage, StageContext } from './stage.ts';

export const CONTRACT_VIOLATIONS = defineMetric({
  name: 'svc_contract_violations_total',
  type: 'counter',
  help: 'Records that broke the contract, by field, rule and what was done.',
  labels: ['pipeline', 'row', 'field', 'rule', 'mode'],
});
export const CONTRACT_ABORTS = defineMetric({
  name: 'svc_contract_aborts_total',
  type: 'counter',
  help: 'Runs ended by a breach of the contract.',
  labels: ['pipeline', 'row'],
});

export const CONTRACT_METRICS = [CONTRACT_VIOLATIONS, CONTRACT_ABORTS] as const;

/** Names of extra fields come from the data; past so many different ones the label says `…`. */
const EXTRA_FIELD_LABELS = 100;

export function createContractStage(config: ContractConfig, context: StageContext): Stage {
  const breachOf = compileContract(config);
  const inColumns = compileColumnContract(config);
  const count = violationCounter(config, context);
  const settle = settlerOf(config, context);
  return {
    name: 'contract',
    run(page) {
      const { columns } = page;
      const breaches =
        columns === undefined ? recordBreaches(page.records, breachOf) : inColumns(columns);
      for (const breach of breaches.values()) {
        count(breach);
        if (config.on_breach === 'fail') break;
      }
      if (breaches.size > 0) settle(page, breaches);
    },
  };
}

function recordBreaches(
  records: readonly JsonValue[],
  breachOf: (record: JsonValue) => Breach | undefined,
): Map<number, Breach> {
  const breaches = new Map<number, Breach>();
  for (let position = 0; position < records.length; position += 1) {
    const breach = breachOf(records[position] as JsonValue);
    if (breach !== undefined) breaches.set(position, breach);
  }
  return breaches;
}

function violationCounter(
  config: ContractConfig,
  { env, pipeline, row }: StageContext,
): (breach: Breach) => void {
  const extras = new Set<string>();
  const labelOf = ({ field, rule }: Breach): string => {
    if (rule !== 'extra_field' || extras.has(field)) return field;
    if (extras.size >= EXTRA_FIELD_LABELS) return '…';
    extras.add(field);
    return field;
  };
  return (breach) => {
    const labels = {
      pipeline,
      row,
      field: labelOf(breach),
      rule: breach.rule,
      mode: config.on_breach,
    };
    env.metrics.inc(CONTRACT_VIOLATIONS, labels);
  };
}

type Settle = (page: PageInWork, breaches: ReadonlyMap<number, Breach>) => void;

function settlerOf(config: ContractConfig, { env, pipeline, row }: StageContext): Settle {
  switch (config.on_breach) {
    case 'fail':
      return (page, breaches) => {
        env.metrics.inc(CONTRACT_ABORTS, { pipeline, row });
        const [position = 0, breach] = breaches.entries().next().value ?? [];
        throw new RunError(
          'ContractViolation',
          'contract_breach',
          `contract ${config.version} is broken: ${breach?.message}`,
          { index: page.originOf(position) },
        );
      };
    case 'quarantine':
      return (page, breaches) => {
        const reasons = new Map(
          [...breaches].map(([position, { message }]) => [position, message]),
        );
        page.divert(reasons, { kind: 'ContractViolation', reason: 'contract' });
      };
    case 'warn':
      return warnOnce(config, env.log);
    default:
      return config.on_breach satisfies never;
  }
}

function warnOnce(config: ContractConfig, log: StageContext['env']['log']): Settle {
  let warned = false;
  return (page, breaches) => {
    page.breaches += breaches.size;
    const [breach] = breaches.values();
    if (warned || breach === undefined) return;
    warned = true;
    const message = `contract ${config.version} is broken: ${breach.message}; further breaches are only counted`;
    log.warn(message, { field: breach.field, rule: breach.rule });
  };
}
