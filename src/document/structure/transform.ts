import { z } from 'zod';
import { json, optional, text } from '../../kit/schema.ts';
import { defineStructure } from '../block.ts';

/** A part's own `config`; the part judges it. */
export const configField = z.lazy(() =>
  optional(z.record(z.string(), json())).meta({
    description: 'Settings of the part; what is possible depends on its `type`.',
  }),
);

export const transformSchema = z.lazy(() =>
  z.strictObject({
    type: text().meta({ description: 'Name of the transform.', examples: ['filter'] }),
    config: configField,
  }),
);
export type TransformSpec = z.infer<typeof transformSchema>;

export const transformsField = z.lazy(() => optional(z.array(transformSchema)));

export const transformBlock = defineStructure<TransformSpec>({
  name: 'transform',
  placement: 'pipeline',
  description: 'One step that changes, drops or multiplies records.',
  schema: transformSchema,
  examples: [{ type: 'select', config: { fields: ['id', 'email'] } }, { type: 'flatten' }],
});
