import { z } from 'zod';
import { text } from '../../kit/schema.ts';
import { defineStructure } from '../block.ts';
import { configField } from './transform.ts';

export const providerSchema = z.lazy(() =>
  z.strictObject({
    type: text().meta({ description: 'Kind of login.', examples: ['static', 'oauth2'] }),
    config: configField,
  }),
);
export type ProviderSpec = z.infer<typeof providerSchema>;

export const authSchema = z.lazy(() => z.record(text(), providerSchema));

export const authBlock = defineStructure<z.infer<typeof authSchema>>({
  name: 'auth',
  placement: 'top',
  description: 'Logins by name; connectors share one with `auth: {ref: <name>}`.',
  schema: authSchema,
  examples: [{ crm: { type: 'static', config: { token: '${env:CRM_TOKEN}' } } }],
});
