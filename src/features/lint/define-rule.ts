/** Advice about a document that is valid: one rule a file, declared once. */
import type { Parts } from '../../kit/parts.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { Plan } from '../../plan/plan.ts';

export interface LintSubject {
  /** As composed: its tokens are still in it. */
  readonly tree: JsonObject;
  readonly plan: Plan;
  readonly parts: Parts;
}

export interface LintFinding {
  /** Where in the document: `matrix[2].sink`; empty for the document as a whole. */
  readonly path: string;
  /** What is there, in one sentence. */
  readonly message: string;
  /** What to do here, where more can be said than in the rule. */
  readonly fix?: string | undefined;
}

export interface LintRule {
  /** Stable. */
  readonly code: string;
  /**
   * `warning`: the document probably does something else than what is wanted. `advice`: it could be
   * safer.
   */
  readonly severity: 'warning' | 'advice';
  /** One sentence, for the list of rules. */
  readonly summary: string;
  readonly why: string;
  readonly fix: string;
  /** Documents with and without the fault; both are tested. */
  readonly example: { readonly bad: string; readonly good: string };
  readonly check: (subject: LintSubject) => readonly LintFinding[];
}

export function defineLintRule(rule: LintRule): LintRule {
  return Object.freeze(rule);
}
