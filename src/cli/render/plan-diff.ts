/** `plan --diff`: this document against another one. */
import type { Plan } from '../../plan/plan.ts';
import { comparePlans, type PlanChange } from './compare-plans.ts';
import type { CliContext } from '../framework/context.ts';
import type { DOCUMENT_OPTIONS } from '../documents/document-options.ts';
import { EXIT } from '../framework/exit.ts';
import { loadPlan } from '../documents/load-plan.ts';
import type { Values } from '../framework/option.ts';
import { count } from '../../lib/text/count.ts';
import type { SELECTION_OPTIONS } from '../framework/shared-options.ts';

interface DiffRequest {
  readonly plan: Plan;
  /** The document as it was. */
  readonly other: string;
  readonly options: Values<typeof DOCUMENT_OPTIONS> &
    Values<typeof SELECTION_OPTIONS> & { readonly json: boolean; readonly resolveSecrets: boolean };
}

export async function printPlanDiff(
  context: CliContext,
  { plan, other, options }: DiffRequest,
): Promise<number> {
  const loading = {
    config: other,
    completion: options,
    selection: options,
    onlyChecked: true,
    keepSecrets: !options.resolveSecrets,
  };
  const before = await loadPlan(context, loading);
  const changes = comparePlans(before.plan, plan);
  if (options.json) context.terminal.json({ before: other, changes });
  else printChanges(context, other, changes);
  return EXIT.ok;
}

function printChanges(
  { terminal }: CliContext,
  other: string,
  changes: readonly PlanChange[],
): void {
  if (changes.length === 0) {
    terminal.print(`no difference to ${other}`);
    return;
  }
  terminal.print(`${count(changes.length, 'change')} since ${other}`);
  for (const [row, group] of Map.groupBy(changes, (change) => change.row)) {
    if (row !== null) terminal.print(`\n${terminal.ink('bold', row)}`);
    for (const { what, before, after, warning } of group) {
      terminal.print(`  ${terminal.ink('dim', what)}  ${sentenceOf(what, before, after)}`);
      if (warning !== undefined)
        terminal.print(`    ${terminal.ink('yellow', `warning: ${warning}`)}`);
    }
  }
}

function sentenceOf(what: string, before: string | null, after: string | null): string {
  if (what.startsWith('settings'))
    return `${after} ${after?.includes(',') === true ? 'are' : 'is'} different`;
  if (before === null || before === '') return `new: ${after}`;
  return after === null || after === '' ? `gone: ${before}` : `${before} → ${after}`;
}
