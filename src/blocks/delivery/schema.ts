import { z } from 'zod';

export const deliverySchema = z.lazy(() =>
  z.enum(['at_least_once', 'exactly_once']).meta({
    description:
      '`exactly_once` demands that a repeated page changes nothing; a document that cannot keep it is refused.',
  }),
);
export type Delivery = z.infer<typeof deliverySchema>;
