/** The move with everything a careful owner asks for, and what it must write. */
import { createHmac } from 'node:crypto';
import type { Person } from '../data.ts';

const KEY = 'a-key-for-the-benchmark';

export const GOVERNED_FIELDS = [
  'id',
  'full_name',
  'email',
  'amount',
  'ts',
  'active',
  'payload',
] as const;

/** Texts of a CSV file are cast first. */
export function governedDocument(
  input: string,
  output: string,
  from: 'csv' | 'jsonl' = 'csv',
): string {
  const cast =
    from === 'csv'
      ? '\n    - { type: cast, config: { fields: { id: int, amount: float, active: bool } } }'
      : '';
  return `version: 1
name: governed
pipeline:
  source: { type: ${from}, config: { path: ${input} } }
  transforms:
    - { type: rename_field, config: { fields: { name: full_name } } }${cast}
    - { type: filter, config: { path: active, op: eq, value: true } }
  masking:
    key: ${KEY}
    rules:
      - { name: email, match: { fields: [email] }, action: { type: hash } }
  contract:
    version: '1.0.0'
    owner: bench
    on_breach: quarantine
    fields:
      - { name: id, type: integer, min: 1 }
      - { name: full_name, type: string, min_length: 1 }
      - { name: email, type: string, min_length: 64 }
      - { name: amount, type: number, min: 0 }
      - { name: ts, type: string, min_length: 20 }
      - { name: active, type: boolean }
  dlq:
    sink: { type: jsonl, config: { path: ${output}.dead } }
  sink: { type: jsonl, config: { path: ${output} } }
`;
}

/** Undefined: filtered out. No row breaks the contract. */
export function governedValues(person: Person): readonly unknown[] | undefined {
  if (!person.active) return undefined;
  const email = createHmac('sha256', KEY).update(person.email).digest('hex');
  return [person.id, person.name, email, person.amount, person.ts, true, person.payload];
}
