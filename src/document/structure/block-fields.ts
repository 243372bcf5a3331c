import type { ZodType } from 'zod';
import { optional } from '../../kit/schema.ts';
import type { BlockGrammar } from '../block.ts';

/** The fields of the blocks that stand at a place, in the order of the list. */
export function fieldsOf(
  blocks: readonly BlockGrammar[],
  placement: BlockGrammar['placement'],
): Record<string, ZodType> {
  return Object.fromEntries(
    blocks
      .filter((block) => block.placement === placement)
      .map(({ name, schema, description, summary = description }) => [
        name,
        optional(schema).meta({ description: summary }),
      ]),
  );
}
