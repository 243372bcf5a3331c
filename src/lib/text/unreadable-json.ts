import { messageOf } from '../errors.ts';
import { jsonFault } from './json.ts';

/** Why a place that holds JSON cannot be read. What it holds may be a secret, and is not quoted. */
export function unreadableJson(error: unknown): string {
  return error instanceof SyntaxError ? `it ${jsonFault(error)}` : messageOf(error);
}
