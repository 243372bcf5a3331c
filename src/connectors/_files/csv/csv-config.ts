/** The fields of every connector that reads delimited text. */
import { z } from 'zod';
import { finding, integer } from '../../../kit/schema.ts';
import { isEncoding } from './csv-input.ts';

export function encodingName() {
  return z
    .string()
    .superRefine((name, ctx) => {
      if (isEncoding(name)) return;
      const hint = 'write `windows-1252`, `utf-16le` or `shift_jis`, for example';
      ctx.addIssue(
        finding('invalid_value', `\`${name}\` is not the name of an encoding`, { hint }),
      );
    })
    .default('utf-8')
    .meta({
      description: 'Encoding of the text, by its name on the web.',
      examples: ['windows-1252', 'utf-16le', 'shift_jis'],
    });
}

export function skippedLines() {
  return integer({ min: 0 }).default(0).meta({
    description: 'Lines before the first row that are left out, such as a title.',
  });
}

/** One character between cells, or around them; other readers have its byte code. */
export const character = (fallback: string, description: string) =>
  z
    .preprocess(characterOf, z.string().length(1))
    .default(fallback)
    .superRefine((value, ctx) => {
      if (value > '\u007f' || value === '\0' || value === '\n' || value === '\r')
        ctx.addIssue(finding('invalid_value', 'must be an ASCII character and no line end'));
    })
    .meta({ description });

function characterOf(value: unknown): unknown {
  if (value === '\\t') return '\t';
  const isCode = typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 128;
  return isCode ? String.fromCharCode(value) : value;
}
