import type { BlockGrammar } from '../document/block.ts';

/** A block of the document, declared once in a folder of its own. */
export type BlockDefinition<Spec = unknown> = BlockGrammar<Spec>;

export function defineBlock<Spec>(definition: BlockDefinition<Spec>): BlockDefinition<Spec> {
  return Object.freeze(definition);
}
