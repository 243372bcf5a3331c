import { expect, it } from 'vitest';
import { loadDocument } from '../../document/load.ts';
import { ConfigError, type Issue } from '../../lib/errors.ts';
import { Redactor } from '../../lib/redact.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';

/** Errors and warnings about the key of an upsert. */
function about(rules: readonly object[]): string[] {
  const pipeline = {
    source: { type: 'jsonl', config: { path: 'in.jsonl' } },
    sink: {
      type: 'sqlite',
      config: {
        database_url: 'x.db',
        table_name: 't',
        column_mapping: 'auto_map',
        write_mode: 'upsert',
        key: ['mail'],
      },
    },
    masking: { rules },
  };
  const document = loadDocument(JSON.stringify({ version: 1, name: 'm', pipeline }), {
    format: 'json',
    origin: { kind: 'submitted' },
    variables: {},
    readFile: () => new Uint8Array(),
    redactor: new Redactor(),
    secretManagers: parts.secrets,
  });
  const told = (severity: string, issues: readonly Issue[]): string[] =>
    issues
      .filter(({ code }) => code === 'masked_key')
      .map(({ path }) => `${severity} ${path.replace('pipeline.masking.', '')}`);
  try {
    return told('warning', planDocument(document, parts, { cpus: 1 }).warnings);
  } catch (error) {
    if (error instanceof ConfigError) return told('error', error.issues);
    throw error;
  }
}

const redact = { action: { type: 'redact' } };
const named = { match: { fields: ['mail'] } };
const found = { match: { value_detector: 'email' } };

it('a rule that makes keys equal is refused where it names them, and only warned about where it may find them', () => {
  expect(about([{ ...named, ...redact }])).toEqual(['error rules[0].action']);
  expect(about([{ ...found, ...redact }])).toEqual(['warning rules[0].action']);
  expect(about([{ ...found, action: { type: 'hash' } }])).toEqual([]);
  expect(
    about([
      { ...named, action: { type: 'hash' } },
      { ...found, ...redact },
    ]),
  ).toEqual([]);
  expect(about([{ ...found, ...redact, applies_to: ['jsonl'] }])).toEqual([]);
});
