import { z } from 'zod';
import { text } from '../../kit/schema.ts';
import { configField } from '../../document/structure/transform.ts';

export const stateSchema = z.lazy(() =>
  z.strictObject({
    type: text().meta({ description: 'Name of the state store.', examples: ['file'] }),
    config: configField,
  }),
);
export type StateSpec = z.infer<typeof stateSchema>;
