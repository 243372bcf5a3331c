import { z } from 'zod';
import { json, text } from '../../kit/schema.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { defineStructure } from '../block.ts';

export const varsSchema = z.lazy(() => z.record(text(), json()));

export const varsBlock = defineStructure<Record<string, JsonValue>>({
  name: 'vars',
  placement: 'top',
  description: 'Values by name, for use as `${vars.<name>}` anywhere in the document.',
  schema: varsSchema,
  examples: [{ region: 'eu', bucket: 'data-${vars.region}' }],
});
