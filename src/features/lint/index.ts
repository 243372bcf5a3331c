import type { LintFinding, LintRule, LintSubject } from './define-rule.ts';
import { appendAfterCrash } from './rules/append-after-crash.ts';
import { appendRepeatsAll } from './rules/append-repeats-all.ts';
import { incrementalOverwrite } from './rules/incremental-overwrite.ts';
import { missingName } from './rules/missing-name.ts';
import { noContract } from './rules/no-contract.ts';
import { noDlq } from './rules/no-dlq.ts';
import { noState } from './rules/no-state.ts';
import { rowWithoutId } from './rules/row-without-id.ts';
import { secretInTheOpen } from './rules/secret-in-the-open.ts';
import { noopBatchSize, unreferencedAuthProvider, unusedVar } from './rules/text-rules.ts';
import { unboundedOverwrite } from './rules/unbounded-overwrite.ts';
import { unusedParam } from './rules/unused-param.ts';
import { unusedPreset } from './rules/unused-preset.ts';

/** Every rule, sorted by code. */
export const LINT_RULES: readonly LintRule[] = [
  appendAfterCrash,
  appendRepeatsAll,
  incrementalOverwrite,
  missingName,
  noContract,
  noDlq,
  noState,
  noopBatchSize,
  rowWithoutId,
  secretInTheOpen,
  unboundedOverwrite,
  unreferencedAuthProvider,
  unusedParam,
  unusedPreset,
  unusedVar,
];

export interface Lint extends LintFinding {
  readonly rule: LintRule;
}

/** In the order of the rules; rows that share a sink share what is said of it. */
export function lint(subject: LintSubject, rules: readonly LintRule[] = LINT_RULES): Lint[] {
  return rules.flatMap((rule) => {
    const seen = new Set<string>();
    return rule.check(subject).flatMap((finding) => {
      if (seen.has(finding.path)) return [];
      seen.add(finding.path);
      return [{ ...finding, rule }];
    });
  });
}
