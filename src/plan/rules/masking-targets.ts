import { maskingBlock } from '../../blocks/masking/index.ts';
import type { Parts } from '../../kit/parts.ts';
import { nearest } from '../../lib/text/nearest.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { parsedBlock, type ParsedBlocks } from '../../document/parse/read-blocks.ts';
import type { IssueList } from '../issue-list.ts';

/**
 * A rule whose sink is misspelled would leave its data unmasked without a word. Rules are shared
 * between documents, so one may name a sink that this document does not have: that is a doubt.
 */
export function checkMaskingTargets(blocks: ParsedBlocks, parts: Parts, issues: IssueList): void {
  const masking = parsedBlock(blocks, maskingBlock)?.value;
  const known = [...blocks.pipeline.sinks.keys(), ...parts.sinks.types()];
  for (const [index, rule] of (masking?.rules ?? []).entries()) {
    for (const [at, name] of rule.applies_to.entries()) {
      if (known.includes(name) || parts.sinks.get(name) !== undefined) continue;
      const path = joinPath('pipeline.masking.rules', index, 'applies_to', at);
      const near = nearest(name, known);
      const message = `\`${name}\` is neither a sink template nor a sink`;
      if (near !== undefined)
        issues.error('unknown_template', path, message, `did you mean \`${near}\`?`);
      else issues.warn('without_effect', path, `the rule masks nothing there: ${message}`);
    }
  }
}
