import { isKeyed } from '../../kit/write-spec.ts';
import { re2js } from '../../lib/lazy.ts';
import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { Placed } from '../../document/parse/read-blocks.ts';
import { nearest } from '../../lib/text/nearest.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { BlockPlace, BlockTools } from '../define-block.ts';
import { maskingRulesFor, type MaskingConfig, type MaskingRule } from './schema.ts';

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
      const message = `\`${name}\` is neither a sink preset nor a sink`;
      if (near !== undefined)
        issues.error('unknown_template', path, message, `did you mean \`${near}\`?`);
      else issues.warn('without_effect', path, `the rule masks nothing there: ${message}`);
    }
  }
}

/**
 * Under a key that is masked to one text, all records but the last would be lost. `hash` and
 * `tokenize` keep different keys different.
 */
export function checkMaskedKey(
  masking: MaskingConfig,
  { writes, sink, name }: AssembledRow,
  { path: place, issues }: BlockPlace,
): void {
  if (writes === undefined || !isKeyed(writes.writeMode)) return;
  const rules = maskingRulesFor(masking, sink.plan);
  /** Which values it finds is known only when they come. */
  const doubtDetector = ({ rule }: (typeof rules)[number], column: string): void => {
    const detector = rule.match.value_detector;
    if (detector === undefined || keepsApart(rule)) return;
    issues.warn(
      'masked_key',
      joinPath(place, 'rules', masking.rules.indexOf(rule), 'action'),
      `where values of \`${column}\`, the key of ${name}, look like \`${detector}\`, \`${rule.action.type}\` makes them equal and records replace each other: use \`hash\` or \`tokenize\`, or \`applies_to\` to leave this sink out`,
    );
  };
  for (const column of writes.key) {
    const first = rules.find(({ rule }) => names(rule, column));
    for (const one of rules.slice(0, first === undefined ? rules.length : rules.indexOf(first)))
      doubtDetector(one, column);
    if (first === undefined) continue;
    const { type } = first.rule.action;
    if (keepsApart(first.rule)) continue;
    issues.error(
      'masked_key',
      joinPath(place, 'rules', masking.rules.indexOf(first.rule), 'action'),
      `\`${type}\` would make different values of \`${column}\` equal, which is the key of ${name}: records would replace each other`,
      `use \`hash\` or \`tokenize\` for it, another \`key\`, or \`applies_to\` to leave this sink out`,
    );
  }
}

/** Whether different values stay different. */
function keepsApart({ action: { type } }: MaskingRule): boolean {
  return type === 'hash' || type === 'tokenize';
}

function names({ match }: MaskingRule, column: string): boolean {
  if (match.fields?.includes(column) === true) return true;
  const { field_pattern: pattern } = match;
  return pattern !== undefined && re2js().RE2JS.compile(pattern).test(column);
}
