import type { Parts } from '../../kit/parts.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { isOfSpecification } from '../../document/parse/not-available.ts';
import type { Blocks } from '../../document/parse/read-blocks.ts';
import type { IssueList } from '../issue-list.ts';

/**
 * A rule for a sink that does not exist would leave its data unmasked without a word. Connectors
 * that this version lacks may be named: rules are shared between documents, and here nothing can be
 * written to those.
 */
export function checkMaskingTargets({ pipeline }: Blocks, parts: Parts, issues: IssueList): void {
  const templates = [...pipeline.sinks.keys()];
  for (const [index, rule] of (pipeline.masking?.rules ?? []).entries()) {
    for (const [at, name] of rule.applies_to.entries()) {
      if (
        templates.includes(name) ||
        parts.sinks.get(name) !== undefined ||
        isOfSpecification('sink', name)
      )
        continue;
      const path = joinPath('pipeline.masking.rules', index, 'applies_to', at);
      issues.error(
        'unknown_template',
        path,
        `\`${name}\` is neither a sink template nor a sink`,
        issues.hintFor(name, [...templates, ...parts.sinks.types()]),
      );
    }
  }
}
