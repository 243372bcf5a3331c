import type { Placed } from '../../document/parse/read-blocks.ts';
import { nearest } from '../../lib/text/nearest.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { BlockTools } from '../define-block.ts';
import type { MaskingConfig } from './schema.ts';

/**
 * A rule whose sink is misspelled would leave its data unmasked without a word. Rules are shared
 * between documents, so one may name a sink that this document does not have: that is a doubt.
 */
export function checkMaskingTargets(
  { path: place, value: masking }: Placed<MaskingConfig>,
  { sinks, issues }: BlockTools,
): void {
  for (const [index, rule] of masking.rules.entries()) {
    for (const [at, name] of rule.applies_to.entries()) {
      if (sinks.has(name)) continue;
      const path = joinPath(place, 'rules', index, 'applies_to', at);
      const near = nearest(name, sinks.names);
      const message = `\`${name}\` is neither a sink template nor a sink`;
      if (near !== undefined)
        issues.error('unknown_template', path, message, `did you mean \`${near}\`?`);
      else issues.warn('without_effect', path, `the rule masks nothing there: ${message}`);
    }
  }
}
