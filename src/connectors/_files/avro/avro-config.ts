import { z } from 'zod';
import { optional } from '../../../kit/schema.ts';

function fromJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

export const avroSchema = (description: string) =>
  optional(z.preprocess(fromJson, z.record(z.string(), z.unknown()))).meta({ description });
