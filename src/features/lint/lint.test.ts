import { describe, expect, it } from 'vitest';
import { parseText } from '../../document/parse/parse.ts';
import { loadDocument } from '../../document/load.ts';
import { parts } from '../../parts.ts';
import { Redactor } from '../../lib/redact.ts';
import { planDocument } from '../../plan/plan-document.ts';
import type { LintSubject } from './define-rule.ts';
import { lint, LINT_RULES } from './index.ts';

function subject(text: string): LintSubject {
  const { tree } = parseText(text, 'yaml', { kind: 'submitted' });
  const document = loadDocument(text, {
    format: 'yaml',
    origin: { kind: 'submitted' },
    variables: { CLIENT: 'c' },
    redactor: new Redactor(),
    readFile: () => new Uint8Array(),
    secretManagers: parts.secrets,
  });
  return { tree, plan: planDocument(document, parts, { cpus: 1, selection: {} }), parts };
}

const codes = (text: string): string[] => lint(subject(text)).map(({ rule }) => rule.code);

describe.each(LINT_RULES)('the rule $code', ({ code, example }) => {
  it('finds the fault of its example, once', () => {
    expect(codes(example.bad).filter((found) => found === code)).toEqual([code]);
  });

  it('is content with the document that has it mended', () => {
    expect(codes(example.good)).not.toContain(code);
  });
});

it('rules are sorted by code, and say why and what to do', () => {
  const sorted = LINT_RULES.map(({ code }) => code);
  expect(sorted).toEqual(
    sorted.toSorted((one, two) => (one.replaceAll('-', ' ') < two.replaceAll('-', ' ') ? -1 : 1)),
  );
  for (const { summary, why, fix } of LINT_RULES)
    for (const text of [summary, why, fix]) expect(text).toMatch(/^[A-Z].*\.$/s);
});

it('rows that share a sink are told of it once', () => {
  const matrix = 'matrix: [{ id: a }, { id: b }]\n';
  const bad = LINT_RULES.find(({ code }) => code === 'append-repeats-all')?.example.bad ?? '';
  expect(codes(bad + matrix).filter((code) => code === 'append-repeats-all')).toHaveLength(1);
});
