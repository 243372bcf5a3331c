/**
 * Rules that need the text only; `doctor --offline` has the same findings, and more: those without
 * which the document would not be valid.
 */
import { textFindings, type TextFinding } from '../text-findings.ts';
import { defineLintRule, type LintRule } from '../define-rule.ts';

function ofText(code: TextFinding['code'], about: Omit<LintRule, 'code' | 'check'>): LintRule {
  return defineLintRule({
    ...about,
    code,
    check: ({ tree }) =>
      textFindings(tree)
        .filter((found) => found.code === code)
        .map(({ path, message, hint }) => ({ path, message, fix: hint })),
  });
}

const document = (more = ''): string => `version: 1
name: orders
${more}pipeline:
  source: { type: rest, config: { base_url: 'https://api.example.com', path: /orders } }
  sink: { type: jsonl, config: { path: out.jsonl } }
`;

export const unreferencedAuthProvider = ofText('unreferenced-auth-provider', {
  severity: 'warning',
  summary: 'Nothing uses a login that is declared.',
  why: 'It was forgotten, or a part names another one by mistake.',
  fix: 'Name it with `auth: { ref: NAME }`, or remove it.',
  example: {
    bad: document("auth: { shop: { type: static, config: { token: '${env:CLIENT}' } } }\n"),
    good: document(),
  },
});

export const unusedVar = ofText('unused-var', {
  severity: 'warning',
  summary: 'Nothing uses a variable of the document.',
  why: 'It was forgotten, or a token names another one by mistake.',
  fix: 'Write `${vars.NAME}` where it belongs, or remove it.',
  example: { bad: document('vars: { region: eu }\n'), good: document() },
});

export const noopBatchSize = ofText('noop-batch-size', {
  severity: 'warning',
  summary: 'A sink waits for more records than a page has.',
  why: 'A sink gets one page at a time, so its `batch_size` has no effect when pages hold fewer records.',
  fix: 'Lower the `batch_size` of the sink, or raise that of the source.',
  example: {
    bad: `version: 1
name: orders
pipeline:
  source: { type: csv, config: { path: a.csv, batch_size: 100 } }
  sink: { type: sqlite, config: { database_url: out.db, table_name: orders, batch_size: 5000 } }
`,
    good: `version: 1
name: orders
pipeline:
  source: { type: csv, config: { path: a.csv, batch_size: 5000 } }
  sink: { type: sqlite, config: { database_url: out.db, table_name: orders, batch_size: 5000 } }
`,
  },
});
