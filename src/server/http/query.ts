/** Query strings: how they are read, and the kinds of parameter routes share. */
import { z, type ZodType } from 'zod';
import { check, finding } from '../../kit/schema.ts';
import type { Issue } from '../../lib/errors.ts';
import { parseRfc3339 } from '../../lib/time/rfc3339.ts';
import { parseWhole } from '../../lib/whole-number.ts';
import { refused } from './request-body.ts';

/**
 * Parses a query string. A repeated parameter is an error, because it is unclear which value was
 * meant.
 */
export function readQuery<Q>(schema: ZodType<Q>, search: string): Q {
  const values = Object.create(null) as Record<string, string>;
  const issues: Issue[] = [];
  for (const [name, value] of new URLSearchParams(search)) {
    if (name in values)
      issues.push({
        code: 'repeated',
        path: name,
        message: 'the parameter is given more than once',
      });
    else if (value.includes('\0'))
      issues.push({ code: 'nul_character', path: name, message: 'holds a NUL character' });
    values[name] = value;
  }
  if (issues.length > 0) throw refused(issues);
  const result = check(schema, values);
  if (!result.ok) throw refused(result.issues);
  return result.value;
}

/** Without the bounds that the library publishes: every whole number is taken. */
const wholeNumber = z.number().meta({ type: 'integer' });

/** A whole number; beyond the bounds it counts as the nearest bound. */
export function clamped(bounds: { readonly min: number; readonly max: number }) {
  const { min, max } = bounds;
  const clamp = (value: unknown, ctx: z.RefinementCtx): unknown => {
    if (typeof value !== 'string') return value;
    const whole = parseWhole(value);
    if (whole !== undefined) return Math.min(max, Math.max(min, Number(whole)));
    ctx.addIssue(finding('wrong_type', `expected a whole number, got ${JSON.stringify(value)}`));
    return z.NEVER;
  };
  return z.preprocess(clamp, wholeNumber.optional());
}

/** The `limit` of a list: beyond the bounds the nearest bound, and `fallback` when it is absent. */
export function listLimit(of: string, bounds: { readonly max: number; readonly fallback: number }) {
  return clamped({ min: 1, max: bounds.max })
    .transform((limit) => limit ?? bounds.fallback)
    .meta({
      description: `${of}; ${bounds.fallback} when absent. Below 1 counts as 1, and above ${bounds.max} as ${bounds.max}.`,
    });
}

/** An RFC 3339 time. Form decoding turns the `+` of an offset into a space; it is put back. */
export function timestamp(description: string) {
  return z
    .string()
    .transform((written, ctx) => {
      const time = parseRfc3339(written.replaceAll(' ', '+'));
      if (time !== undefined) return time;
      ctx.addIssue(
        finding('invalid_value', `${JSON.stringify(written)} is not an RFC 3339 time`, {
          hint: 'for example 2026-08-01T12:00:00Z',
        }),
      );
      return z.NEVER;
    })
    .optional()
    .meta({ format: 'date-time', description });
}

/**
 * A comma-separated list of known words; blanks and empty entries are ignored, and an empty list
 * counts as no parameter.
 */
export function commaList<W extends string>(words: readonly W[]) {
  const split = (value: unknown, ctx: z.RefinementCtx): unknown => {
    if (typeof value !== 'string') return value;
    const entries = value
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '');
    const stray = entries.filter((entry) => !words.some((word) => word === entry));
    for (const entry of stray)
      ctx.addIssue(
        finding('invalid_value', `${JSON.stringify(entry)} is not one of ${words.join(', ')}`),
      );
    if (stray.length > 0) return z.NEVER;
    return entries.length === 0 ? undefined : entries;
  };
  return z.preprocess(split, z.array(z.enum(words)).optional());
}
