import type { ZodType } from 'zod';

/**
 * One block of the document, declared once: the parser, `/v1/schemas/block/{name}`, the reference
 * pages and the editor schema are derived from it. `placement` says where it stands: inside
 * `pipeline` or at the top level.
 */
export interface BlockDefinition<T> {
  readonly name: string;
  readonly placement: 'pipeline' | 'top';
  readonly description: string;
  readonly schema: ZodType<T>;
  /** Values that must parse; run as tests and printed in the docs. */
  readonly examples: readonly unknown[];
}

export function defineBlock<T>(definition: BlockDefinition<T>): BlockDefinition<T> {
  return Object.freeze(definition);
}
