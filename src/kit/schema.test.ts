import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonSchemaOf } from './json-schema.ts';
import { boolean, check, integer, optional } from './schema.ts';

const schema = z.strictObject({
  path: z.string().meta({ description: 'A path.' }),
  size: integer({ min: 1 }).default(5).meta({ description: 'A size.' }),
  mode: z.enum(['append', 'upsert']).default('append').meta({ description: 'A mode.' }),
  flag: boolean().default(true).meta({ description: 'A flag.' }),
  list: optional(z.array(z.string())).meta({ description: 'A list.' }),
  mask: z.unknown().optional().meta({ description: 'Any value, null too.' }),
  inner: z.strictObject({ deep: integer().optional() }).optional().meta({ description: 'More.' }),
});

describe('a config', () => {
  it('takes null as absence wherever null has no meaning of its own', () => {
    const given = {
      path: 'a',
      size: null,
      mode: null,
      flag: null,
      list: null,
      mask: null,
      inner: { deep: null },
    };
    expect(check(schema, given)).toEqual({
      ok: true,
      value: { path: 'a', size: 5, mode: 'append', flag: true, mask: null, inner: {} },
    });
    expect(given.inner).toEqual({ deep: null });
  });

  it('says of a required key that is null that it is required', () => {
    expect(check(schema, { path: null }, 'sink.config')).toEqual({
      ok: false,
      issues: [{ code: 'missing_key', message: '`path` is required', path: 'sink.config.path' }],
    });
  });

  it('says what a schema says of a text that has not its form, of keys too', () => {
    const bucket = z.string().regex(/^[a-z]+$/, 'is not the name of a bucket');
    const names = z.strictObject({
      bucket: bucket.meta({ description: 'A bucket.' }),
      plain: z.string().regex(/^\d+$/).meta({ description: 'Digits.' }),
      keys: z.record(bucket, z.string()).meta({ description: 'By bucket.' }),
    });
    expect(check(names, { bucket: 'A b', plain: 'x', keys: { 'C d': '' } })).toEqual({
      ok: false,
      issues: [
        {
          code: 'invalid_value',
          message: '"A b" is not the name of a bucket',
          hint: 'it must have the form /^[a-z]+$/',
          path: 'bucket',
        },
        { code: 'invalid_value', message: '"x" is not of the form /^\\d+$/', path: 'plain' },
        {
          code: 'invalid_value',
          message: '`C d` is not the name of a bucket',
          hint: 'it must have the form /^[a-z]+$/',
          path: 'keys["C d"]',
        },
      ],
    });
  });

  it.each(['x://u:hunter22@h/d', 'https://h/?token=hunter22'])(
    'does not quote an address that may hold a login: %s',
    (path) => {
      const told = [
        check(schema, { path: 'a', size: path }),
        check(schema, { path: 'a', mode: path }),
        check(z.string().regex(/^h$/, 'is no host'), path),
      ].flatMap((one) => (one.ok ? [] : one.issues.map(({ message }) => message)));
      expect(told).toHaveLength(3);
      expect(told.join('\n')).toContain('this address is no host');
      expect(told.join('\n')).not.toContain('hunter');
    },
  );

  it('reports everything at once, each with its place and what was probably meant', () => {
    const checked = check(schema, { path: 7, sise: 1, mode: 'upsrt', size: 0 }, 'x');
    expect(
      checked.ok ? [] : checked.issues.map(({ code, path, hint }) => [code, path, hint]),
    ).toEqual([
      ['wrong_type', 'x.path', undefined],
      ['out_of_range', 'x.size', undefined],
      ['invalid_value', 'x.mode', 'did you mean `upsert`?'],
      ['unknown_key', 'x.sise', 'did you mean `size`?'],
    ]);
  });

  it('reads numbers and booleans from their text, and publishes both forms with the default', () => {
    expect(check(schema, { path: 'a', size: '12', flag: 'false' })).toMatchObject({
      ok: true,
      value: { size: 12, flag: false },
    });
    expect(jsonSchemaOf(schema).properties?.['size']).toMatchObject({
      type: ['integer', 'string'],
      default: 5,
      minimum: 1,
    });
  });
});
