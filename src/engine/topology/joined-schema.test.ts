import { expect, it } from 'vitest';
import type { RecordField, RecordSchema, RecordType } from '../../kit/record-schema.ts';
import { UNKNOWN_SCHEMA } from '../../kit/record-schema.ts';
import { CommonSchema, joinedSchema } from './joined-schema.ts';

const field = (name: string, kind: 'int64' | 'utf8' | 'date', nullable = false): RecordField => ({
  name,
  type: { kind },
  nullable,
});
const place: RecordType = { kind: 'struct', fields: [field('city', 'utf8')] };
const build: RecordSchema = {
  fields: [
    field('id', 'int64'),
    field('day', 'date'),
    { name: 'place', type: place, nullable: false },
  ],
};
const probe: RecordSchema = { fields: [field('ref', 'int64'), field('note', 'utf8')] };
const SPEC: Parameters<typeof joinedSchema>[0] = {
  mode: 'inner',
  project: [{ from: 'day', as: 'day' }],
  on_missing: null,
  on_collision: 'overwrite',
};

it('projected fields have the types of the build side, behind those of the probe side', () => {
  expect(joinedSchema(SPEC, build, probe).fields).toEqual([...probe.fields, field('day', 'date')]);
  const inside = { ...SPEC, project: [{ from: 'place.city', as: 'city' }] };
  expect(joinedSchema(inside, build, probe).fields.at(-1)).toEqual(field('city', 'utf8'));
});

it('what a record without a match gets may be null, or make the type unknown', () => {
  const left: typeof SPEC = { ...SPEC, mode: 'left' };
  expect(joinedSchema(left, build, probe).fields.at(-1)).toEqual(field('day', 'date', true));
  expect(joinedSchema({ ...left, on_missing: 'none' }, build, probe)).toEqual({
    fields: probe.fields,
    others: true,
  });
});

it('a field that both sides have is of one side, or nothing is known of it', () => {
  const note = { ...SPEC, project: [{ from: 'day', as: 'note' }] };
  expect(joinedSchema(note, build, probe).fields).toEqual([
    field('ref', 'int64'),
    field('note', 'date'),
  ]);
  expect(joinedSchema({ ...note, on_collision: 'skip' as const }, build, probe)).toEqual(probe);
  const open = { ...build, others: true };
  expect(joinedSchema(note, open, probe)).toEqual({
    fields: [field('ref', 'int64')],
    others: true,
  });
});

it('nothing is made up where a side is unknown', () => {
  expect(joinedSchema(SPEC, undefined, probe)).toEqual({ fields: probe.fields, others: true });
  expect(joinedSchema(SPEC, build, UNKNOWN_SCHEMA)).toEqual({
    fields: [field('day', 'date')],
    others: true,
  });
  const common = new CommonSchema();
  common.see(build);
  common.see(build);
  expect(common.schema).toBe(build);
  common.see(probe);
  expect(common.schema).toBeUndefined();
});
