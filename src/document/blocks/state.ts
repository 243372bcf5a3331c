import { z } from 'zod';
import { text } from '../../kit/schema.ts';
import { defineBlock } from '../block.ts';
import { configField } from './transform.ts';

export const stateSchema = z.lazy(() =>
  z.strictObject({
    type: text().meta({ description: 'Name of the state store.', examples: ['file'] }),
    config: configField,
  }),
);
export type StateSpec = z.infer<typeof stateSchema>;

export const stateBlock = defineBlock<StateSpec>({
  name: 'state',
  placement: 'pipeline',
  description:
    'Where bookmarks are kept between runs, so that a run goes on where the last one stood.',
  schema: stateSchema,
  examples: [{ type: 'file', config: { path: '.state' } }],
});
