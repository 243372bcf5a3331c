import { z } from 'zod';
import { optional } from '../../kit/schema.ts';
import { defineBlock } from '../block.ts';

export const deliverySchema = z.lazy(() =>
  z.enum(['at_least_once', 'exactly_once']).meta({
    description:
      '`exactly_once` demands that a repeated page changes nothing; a document that cannot keep it is refused.',
  }),
);
export type Delivery = z.infer<typeof deliverySchema>;

export const deliveryField = z.lazy(() =>
  optional(deliverySchema).meta({ description: 'What is promised about repeated records.' }),
);

export const deliveryBlock = defineBlock<Delivery>({
  name: 'delivery',
  placement: 'top',
  description: 'What a run promises about records that are read twice after a failure.',
  schema: deliverySchema,
  examples: ['at_least_once', 'exactly_once'],
});
