import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import type { Locate } from './text/locate.ts';
import type { Origin } from './compose/origin.ts';

/**
 * A document as far as it can be known without the parts of a build: read, interpolated, merged.
 * The plan judges its blocks.
 */
export interface Document {
  /**
   * After load-time interpolation. Holds run-time tokens, and marks where `$${` stood; survives a
   * trip through JSON.
   */
  readonly tree: JsonObject;
  /** Drives state keys and metric labels. */
  readonly name: string;
  readonly origin: Origin;
  /** The location of a path in the text; `undefined` when the text is not known. */
  readonly locate: Locate;
  /** The values bound to `params`, for showing: secret ones are masked. */
  readonly params: Readonly<Record<string, JsonValue>>;
}
