import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SIMPLE_TYPES, TIME_UNITS, type RecordType } from './record-schema.ts';
import { parseType, schemaText, typeText } from './type-text.ts';

const { type: anyType } = fc.letrec<{ type: RecordType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(...SIMPLE_TYPES).map((kind) => ({ kind })),
    fc.constant({ kind: 'decimal' as const }),
    fc
      .tuple(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: -9, max: 99 }))
      .map(([precision, scale]) => ({ kind: 'decimal' as const, precision, scale })),
    fc.constantFrom(...TIME_UNITS).map((unit) => ({ kind: 'timestamp' as const, unit })),
    fc
      .constantFrom('UTC', '+02:00', 'Europe/Vienna')
      .map((zone) => ({ kind: 'timestamp' as const, unit: 'ns' as const, zone })),
    tie('type').map((item) => ({ kind: 'list' as const, item })),
    fc
      .tuple(tie('type'), tie('type'))
      .map(([key, value]) => ({ kind: 'map' as const, key, value })),
    fc
      .array(
        fc.record({ name: fc.string({ maxLength: 5 }), type: tie('type'), nullable: fc.boolean() }),
        { maxLength: 3 },
      )
      .map((fields) => ({ kind: 'struct' as const, fields })),
  ),
}));

describe('the text of a type', () => {
  test('is read back as the same type', () => {
    fc.assert(
      fc.property(anyType, (type) => {
        expect(parseType(typeText(type))).toEqual(type);
      }),
    );
  });

  test.each([
    ['decimal(12, 2)', { kind: 'decimal', precision: 12, scale: 2 }],
    ['decimal(5)', { kind: 'decimal', precision: 5, scale: 0 }],
    [' timestamp( us , UTC ) ', { kind: 'timestamp', unit: 'us', zone: 'UTC' }],
    ['timestamp', { kind: 'timestamp', unit: 'us' }],
    ['list(utf8)', { kind: 'list', item: { kind: 'utf8' } }],
  ])('%s', (text, type) => {
    expect(parseType(text)).toEqual(type);
  });

  test.each([
    '',
    'int',
    'INT32',
    'decimal(0)',
    'decimal(1,)',
    'list',
    'list(int32',
    'int32)',
    'timestamp(m)',
    'map(utf8)',
    'struct(a int32)',
    'list('.repeat(99),
  ])('no type: %s', (text) => {
    expect(parseType(text)).toBeUndefined();
  });

  test('a schema is one line, which says where fields are not known', () => {
    const fields = [
      { name: 'id', type: { kind: 'int64' as const }, nullable: false },
      { name: 'full name', type: { kind: 'utf8' as const }, nullable: true },
    ];
    expect(schemaText({ fields })).toBe('id: int64 not null, "full name": utf8');
    expect(schemaText({ fields: [], others: true })).toBe('…');
  });
});
