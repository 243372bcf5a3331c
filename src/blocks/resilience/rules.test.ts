import { expect, test } from 'vitest';
import { issuesOf, plan } from '../../../test/fakes/documents.ts';

const document = (resilience: string, dlq = ''): string =>
  `version: 1\npipeline:\n  source: {type: lines, config: {path: in}}\n  sink: {type: nowhere}\n${dlq}resilience: ${resilience}\n`;
const DLQ = '  dlq: {sink: {type: nowhere}}\n';

test('records that go to the dead letters in the end need a dlq; dropping and failing do not', () => {
  expect(issuesOf(() => plan(document('{poison: {}}')))).toEqual([
    'dlq_required resilience.poison',
  ]);
  expect(plan(document('{poison: {}}', DLQ)).rows[0]?.blocks['resilience']).toMatchObject({
    poison: { action: 'dlq' },
  });
  expect(plan(document('{poison: {action: drop}}')).warnings).toEqual([]);
});

test('a circuit breaker that can never open is reported', () => {
  expect(plan(document('{circuit_breaker: {}}')).warnings.map((one) => one.code)).toEqual([
    'breaker_unused',
  ]);
  expect(plan(document('{circuit_breaker: {}}', DLQ))).toMatchObject({
    warnings: [],
    rows: [{ blocks: { resilience: { breaker: { consecutiveFailures: 5 } } } }],
  });
});

test('settings that a commit of whole pages leaves nothing to do are reported', () => {
  const once = [
    'version: 1',
    'delivery: exactly_once',
    'pipeline:',
    '  source: {type: changes}',
    '  sink: {type: table, config: {table: t}}',
    '  state: {type: folder, config: {path: s}}',
    'resilience: {poison: {action: drop}}',
    'execution: {adaptive_batch_size: {enabled: true}}',
  ].join('\n');
  expect(plan(once).warnings.map(({ code, path }) => `${code} ${path}`)).toEqual([
    'without_effect resilience.poison',
    'without_effect execution.adaptive_batch_size',
  ]);
});
