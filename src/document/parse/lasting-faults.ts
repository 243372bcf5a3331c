/** A document that others are merged over. */
import { ConfigError, type Issue } from '../../lib/errors.ts';
import type { Document } from '../document.ts';
import type { Grammar } from '../grammar.ts';
import { withPlaces } from '../text/locate.ts';
import { readBlocks } from './read-blocks.ts';

/** What is missing may still come; these stay wrong whatever is added. */
const LASTING: ReadonlySet<string> = new Set([
  'invalid_value',
  'unknown_key',
  'unknown_version',
  'wrong_type',
]);

/**
 * Throws `ConfigError` for keys that no document has and values that none of their places takes:
 * every document that is merged over this one would be refused for them. The `config` of connectors
 * is not judged, for their `type` may be another one by then.
 */
export function refuseFaultyBase(document: Document, grammar: Grammar): void {
  const issues: Issue[] = [];
  readBlocks(document, { grammar, issues });
  const lasting = issues.filter(({ code }) => LASTING.has(code));
  if (lasting.length > 0)
    throw new ConfigError(withPlaces(lasting, document.locate), { stage: 'validate' });
}
