import type { Document } from '../document/document.ts';
import { UnfilledError } from '../document/load.ts';
import { isFull, withPlaces } from '../document/text/locate.ts';
import { findTokens } from '../document/tokens/find-tokens.ts';
import { isUnfilled } from '../document/tokens/tokens.ts';
import type { Parts } from '../kit/parts.ts';
import { ConfigError, type Issue } from '../lib/errors.ts';
import { isAtOrBelow, joinPath } from '../lib/text/text-path.ts';
import { planDocument, type PlanOptions } from './plan-document.ts';

/**
 * Loads a document that is going to be planned: where tokens of it are at fault, what else is wrong
 * with it is told together with them.
 */
export async function loadToPlan<T>(
  load: () => T | Promise<T>,
  parts: Parts,
  options: PlanOptions,
): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw withOtherFaults(error, parts, options);
  }
}

/** What a document was refused for, and what else is wrong with it. */
export function withOtherFaults(error: unknown, parts: Parts, options: PlanOptions): unknown {
  if (!(error instanceof UnfilledError) || isFull(error.issues)) return error;
  const { issues, stage, document } = error;
  const others = otherFaults(document, parts, options);
  return new ConfigError(withPlaces([...issues, ...others], document.locate), { stage });
}

function otherFaults(document: Document, parts: Parts, options: PlanOptions): readonly Issue[] {
  try {
    planDocument(document, parts, options);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const places = findTokens(document.tree)
      .filter(({ token }) => token.kind === 'directive')
      .map(({ steps }) => joinPath('', ...steps));
    const areNamesKnown = places.every((place) => IN_CONFIG.test(place));
    return error.issues.filter(
      ({ code, path, message }) =>
        // They were judged when their values were bound.
        !isAtOrBelow(path, 'params') &&
        !places.some((place) => place !== path && isAtOrBelow(place, path)) &&
        !isUnfilled(message) &&
        (areNamesKnown || !NAMING.has(code)),
    );
  }
}

const IN_CONFIG = /(?:^vars|\.config)\b/;

/** Faults that a name may have which is not known yet. */
const NAMING: ReadonlySet<string> = new Set([
  'duplicate_row_id',
  'empty_selection',
  'invalid_state_key',
  'missing_ancestor',
  'missing_template',
  'token_out_of_scope',
  'unknown_auth',
  'unknown_label',
  'unknown_node',
  'unknown_row',
  'unknown_tag',
  'unknown_template',
]);
