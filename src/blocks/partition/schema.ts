import { z } from 'zod';
import { isZone } from '../../document/tokens/strftime.ts';
import { boolean, finding, optional, text, nullAsAbsent } from '../../kit/schema.ts';
import { parseFieldPath } from '../../kit/field-path.ts';
import { cut, type PartitionSpec, type ProbeSpec } from './chunks.ts';
import { parseBound, parseWindow } from '../../document/ranges/windows.ts';
import { configField } from '../../document/structure/transform.ts';

/** A whole number of any size, or its text form. */
function wholeNumber(least?: number) {
  return z
    .preprocess(
      (value) => (typeof value === 'bigint' ? value.toString() : value),
      z.union([z.int(), z.string().regex(/^-?\d{1,19}$/)]),
    )
    .superRefine((value, ctx) => {
      if (least !== undefined && BigInt(value) < BigInt(least)) {
        ctx.addIssue(finding('out_of_range', `must be at least ${least}, got ${value}`));
      }
    });
}

const fromSource = z.lazy(() =>
  z.strictObject({
    type: text().meta({ description: 'Name of the source connector.' }),
    config: configField,
  }),
);

const probeSchema = z.lazy(() =>
  z.strictObject({
    from_source: fromSource.meta({
      description: 'Source whose first record holds the bound; asked once, when the row starts.',
    }),
    value_path: text()
      .superRefine((path, ctx) => {
        const steps = parseFieldPath(path);
        if ('error' in steps) ctx.addIssue(finding('invalid_path', steps.error));
      })
      .meta({ description: 'Path of the number in that record, e.g. `$.max_id`.' }),
  }),
);

const kind = <T extends string>(name: T, description: string) =>
  z.literal(name).meta({ description });

const chunkSize = () => wholeNumber(1).meta({ description: 'Values a chunk covers at most.' });

const integerSchema = z.lazy(() =>
  z.strictObject({
    kind: kind('integer', 'A range of whole numbers, such as the keys of a table.'),
    from: wholeNumber().meta({ description: 'First value.' }),
    to: z
      .union([wholeNumber(), probeSchema])
      .meta({ description: 'Last value, or a source that knows it.' }),
    chunk_size: chunkSize(),
    bounds: z.enum(['inclusive', 'half_open']).meta({
      description:
        '`inclusive`: `end` belongs to its chunk (`BETWEEN`); `half_open`: it begins the next one (`>=` and `<`).',
    }),
    to_unbounded: optional(boolean()).meta({
      description:
        'The last chunk has no end, so that values added meanwhile are not left out; true when absent and `to` is a source.',
    }),
  }),
);

const offsetSchema = z.lazy(() =>
  z.strictObject({
    kind: kind('offset', 'A number of records, read by offset and limit.'),
    total: z
      .union([wholeNumber(0), probeSchema])
      .meta({ description: 'How many records there are, or a source that knows it.' }),
    chunk_size: chunkSize(),
  }),
);

const timestampSchema = z.lazy(() =>
  z
    .strictObject({
      kind: kind('timestamp', 'A span of time.'),
      from: text().meta({
        description: 'Where it begins: an RFC 3339 time, or a date for its midnight in `timezone`.',
      }),
      to: text().meta({ description: 'Where it ends; not part of it.' }),
      chunk_size: z.union([z.int(), text()]).meta({
        description:
          'Seconds, or a number with `s`, `m`, `h`, `d` or `w`; days and weeks are those of the calendar in `timezone`.',
      }),
      timezone: nullAsAbsent(z.string().default('UTC')).meta({
        description: 'IANA name of the zone.',
      }),
    })
    .superRefine(({ from, to, chunk_size: size, timezone }, ctx) => {
      if (!isZone(timezone)) {
        ctx.addIssue(
          finding('invalid_value', `\`${timezone}\` is not a time zone`, {
            path: ['timezone'],
            hint: 'use an IANA name such as `Europe/Oslo`',
          }),
        );
        return;
      }
      for (const [key, value] of Object.entries({ from, to })) {
        if (parseBound(value, timezone) !== undefined) continue;
        const hint = 'e.g. `2026-01-31` or `2026-01-31T00:00:00Z`';
        ctx.addIssue(
          finding('invalid_value', `\`${value}\` is neither a date nor an RFC 3339 time`, {
            path: [key],
            hint,
          }),
        );
      }
      if (parseWindow(size) === undefined) {
        const hint = 'e.g. `1d`, `6h` or a number of seconds';
        ctx.addIssue(
          finding('invalid_value', `\`${size}\` is not a span of time greater than 0`, {
            path: ['chunk_size'],
            hint,
          }),
        );
      }
    }),
);

/** Bounds that the document names are held to each other when it is loaded. */
export const partitionSchema = z.lazy(() =>
  z
    .discriminatedUnion('kind', [integerSchema, timestampSchema, offsetSchema])
    .superRefine((spec, ctx) => {
      if (probeOf(spec) !== undefined || ctx.issues.length > 0) return;
      const result = cut(spec);
      if ('fault' in result) ctx.addIssue(finding('out_of_range', result.fault));
    }),
);

/** The source that knows the bound, when the document does not. */
export function probeOf(spec: PartitionSpec): ProbeSpec | undefined {
  const bound = spec.kind === 'integer' ? spec.to : spec.kind === 'offset' ? spec.total : undefined;
  return typeof bound === 'object' ? bound : undefined;
}
