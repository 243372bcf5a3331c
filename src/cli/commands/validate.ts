import type { Document } from '../../document/document.ts';
import { withPlaces } from '../../document/text/locate.ts';
import { ConfigError } from '../../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import type { FanOutPlan, Plan, PlannedRow } from '../../plan/plan.ts';
import type { CliContext } from '../framework/context.ts';
import { defineCommand } from '../framework/command.ts';
import { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXIT } from '../framework/exit.ts';
import { switchOption } from '../framework/option.ts';
import { count } from '../../lib/text/count.ts';
import { table } from '../render/render.ts';
import { chunksOf, partitionDocument } from '../../blocks/partition/explain.ts';
import { CONFIG_ARGUMENT, SELECTION_OPTIONS } from '../framework/shared-options.ts';

export const validateCommand = defineCommand({
  name: 'validate',
  summary: 'Check a document before anything runs.',
  description:
    'Reads the document, fills in its variables, checks every block, connector and row, and says what would run. All problems are reported at once. ' +
    'Transforms are compiled, so that a query that cannot be parsed or a missing reference file is reported too. ' +
    'Only the secrets managers that the document names are contacted; with `--no-secrets` not even those.',
  arguments: [CONFIG_ARGUMENT],
  options: {
    json: switchOption({ description: 'Print JSON.' }),
    ...DOCUMENT_OPTIONS,
    ...SELECTION_OPTIONS,
    noSecrets: switchOption({
      description: 'Do not contact secrets managers; leave their tokens as they are.',
    }),
    showComposed: switchOption({
      description:
        'Print the document with `extends`, includes and profile merged, before tokens are resolved. Secrets are masked.',
    }),
  },
  examples: [
    { command: 'headgate validate orders.yaml', description: 'Before committing a change' },
    {
      command: 'headgate validate orders.yaml --profile prod --show-composed',
      description: 'The merged document',
    },
  ],
  async run(context, { options, positionals: [config] }) {
    if (options.showComposed) {
      const { showComposed } = await import('../render/show-composed.ts');
      await showComposed(context, config, options);
      return EXIT.ok;
    }
    const { loadPlan } = await import('../documents/load-plan.ts');
    let document: Document;
    let plan: Plan;
    const resolved: string[] = [];
    try {
      ({ document, plan } = await loadPlan(context, {
        config,
        selection: options,
        completion: options,
        onlyChecked: true,
        keepSecrets: options.noSecrets,
        onSecret: (token) => resolved.push(token),
      }));
      await checkTransforms(context, document, plan);
    } catch (error) {
      // A program that asked for JSON gets the problems as JSON, too.
      if (options.json && error instanceof ConfigError)
        context.terminal.json({ valid: false, mode: modeOf(error), issues: error.issues });
      throw error;
    }
    if (options.json) context.terminal.json(await validityOf(plan, document));
    else await printValidation(context, plan, resolved);
    return EXIT.ok;
  },
});

/**
 * Throws `ConfigError` when a transform cannot be compiled; one with a stand-in for a parameter or
 * a token is left to the run.
 */
async function checkTransforms(
  { env }: CliContext,
  { locate }: Document,
  plan: Plan,
): Promise<void> {
  const { compileIssues, transformsOf } = await import('../../engine/checks/compile-check.ts');
  const { PLACEHOLDERS } = await import('../../document/params/param-type.ts');
  const open = [String(PLACEHOLDERS.string), '${'];
  const known = transformsOf(plan).filter(
    ({ config }) => !open.some((text) => stringifyJson(config).includes(text)),
  );
  const tokens = {
    now: { date: env.clock.now(), zone: 'UTC' },
    records: new Map<string, JsonValue>(),
  };
  const issues = await compileIssues(known, { env, tokens });
  if (issues.length > 0) throw new ConfigError(withPlaces(issues, locate));
}

/** Without a plan, only the path of an issue shows that the document has nodes. */
function modeOf({ issues }: ConfigError): 'matrix' | 'topology' {
  return issues.some(
    ({ path }) => path.startsWith('pipeline.nodes') || path.startsWith('pipeline.edges'),
  )
    ? 'topology'
    : 'matrix';
}

interface Decided {
  readonly row: PlannedRow | FanOutPlan;
  readonly runs: boolean;
}

function decidedRows(plan: Plan): Decided[] {
  const running = [...plan.rows, ...plan.fanOuts].map((row) => ({ row, runs: true }));
  const others = [...plan.unselected, ...plan.unselectedFanOuts].map((row) => ({
    row,
    runs: false,
  }));
  return [...running, ...others].sort((a, b) => a.row.index - b.row.index);
}

async function validityOf(plan: Plan, document: Document): Promise<Record<string, unknown>> {
  if (plan.topology !== undefined) {
    const { topologyValidity } = await import('../render/topology-view.ts');
    return { ...topologyValidity(plan, plan.topology), params: document.params };
  }
  const rows = decidedRows(plan);
  return {
    valid: true,
    mode: 'matrix',
    name: plan.name,
    params: document.params,
    row_count: rows.length,
    roots: rows.filter(({ row }) => row.role === 'root').length,
    children: rows.filter(({ row }) => row.role === 'child').length,
    selection_active: plan.selectionActive,
    rows: rows.map(({ row, runs }) => ({
      id: row.id,
      source: row.source.type,
      sink: row.role === 'discovery' ? null : row.sink.type,
      role: row.role,
      parent_id: row.role === 'discovery' ? null : (row.parent?.row ?? null),
      parent_key: row.role === 'discovery' ? null : (row.parent?.key ?? null),
      depends_on: row.dependsOn,
      for_each: row.forEach,
      partition: row.role === 'discovery' ? null : partitionDocument(row.partition),
      shard: row.role === 'discovery' ? null : (row.shard ?? null),
      delivery: row.role === 'discovery' ? null : row.delivery,
      guarantee: row.role === 'discovery' ? null : row.guarantee,
      status: row.status,
      tags: row.tags,
      decision: plan.selectionActive ? (runs ? 'run' : 'skip') : null,
    })),
  };
}

function roleOf(row: Decided['row']): string {
  if (row.role === 'discovery') return `lists ${row.alias}`;
  if (row.role === 'child') return `child of ${row.parent?.row ?? ''}`;
  return row.role === 'product' ? `for each ${row.forEach.join(' × ')}` : row.role;
}

async function printValidation(
  { terminal }: CliContext,
  plan: Plan,
  secrets: readonly string[],
): Promise<void> {
  const rows = decidedRows(plan);
  for (const token of secrets) terminal.print(`resolved  \${${token}}`);
  if (plan.topology !== undefined) {
    const { drawGraph, sizeOf } = await import('../render/topology-view.ts');
    terminal.print(`${terminal.ink('green', 'valid')}  ${plan.name}: ${sizeOf(plan.topology)}`);
    for (const line of drawGraph(plan.topology, plan.rows)) terminal.print(`  ${line}`);
    return;
  }
  terminal.print(
    `${terminal.ink('green', 'valid')}  ${plan.name}: ${count(rows.length, 'row')}${rows.every(({ runs }) => runs) ? '' : `, ${plan.rows.length + plan.fanOuts.length} of them would run`}`,
  );
  const cells = rows.map(({ row, runs }) => [
    row.id,
    row.source.type,
    row.role === 'discovery' ? '' : row.sink.type,
    roleOf(row),
    row.role === 'discovery' ? '' : row.guarantee,
    row.status,
    runs ? 'run' : 'skip',
  ]);
  for (const line of table(
    ['row', 'source', 'sink', 'role', 'guarantee', 'status', 'decision'],
    cells,
  ))
    terminal.print(`  ${line}`);
  for (const { id, partition } of plan.rows)
    if (partition !== undefined) terminal.print(`  ${id}: ${chunksOf(partition)}`);
}
