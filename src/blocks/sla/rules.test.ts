import { slaBlock } from './index.ts';
import { blockOf } from '../define-block.ts';
import { describe, expect, test } from 'vitest';
import { issuesOf, plan } from '../../../test/fakes/documents.ts';

const document = (...lines: string[]): string =>
  [
    'version: 1',
    'pipeline:',
    '  source: {type: lines, config: {path: in}}',
    '  sink: {type: nowhere}',
    ...lines,
  ].join('\n');
const STATE = '  state: {type: folder, config: {path: s}}';

describe('sla', () => {
  test('checks that look back need a state store; the fewest records do not', () => {
    expect(issuesOf(() => plan(document('sla: {max_staleness_secs: 60}')))).toEqual([
      'state_required sla',
    ]);
    expect(issuesOf(() => plan(document('sla: {volume_anomaly: {}}')))).toEqual([
      'state_required sla',
    ]);
    expect(plan(document('sla: {min_rows_per_run: 1}')).rows[0]?.blocks['sla']).toEqual({
      min_rows_per_run: 1,
    });
    expect(plan(document(STATE, 'sla: {volume_anomaly: {}}')).warnings).toEqual([]);
  });

  test('a store that forgets is reported', () => {
    const forgetful = plan(document('  state: {type: memory}', 'sla: {max_staleness_secs: 60}'));
    expect(forgetful.warnings.map(({ code, path }) => `${code} ${path}`)).toContain(
      'state_not_durable sla',
    );
  });

  test('a state store that keeps a history is used, whatever the source keeps', () => {
    const counting = (sla: string) =>
      plan(document(STATE, sla).replace('lines, config: {path: in}', 'numbers, config: {to: 3}'))
        .warnings;
    expect(counting('sla: {volume_anomaly: {}}')).toEqual([]);
    expect(counting('sla: {min_rows_per_run: 1}').map((one) => one.code)).toEqual(['state_unused']);
  });

  test('a row replaces the block of the document, and null takes it away', () => {
    const text = document(
      STATE,
      'sla: {min_rows_per_run: 1}',
      'matrix:',
      '  - {id: a}',
      '  - {id: b, sla: {min_rows_per_run: 2}}',
      '  - {id: c, sla: null}',
    );
    expect(plan(text).rows.map((row) => blockOf(row, slaBlock)?.min_rows_per_run)).toEqual([
      1,
      2,
      undefined,
    ]);
  });

  test('what cannot be meant is refused', () => {
    const refused = (block: string) => issuesOf(() => plan(document(STATE, `sla: ${block}`)));
    expect(refused('{}')).toEqual(['missing_key sla']);
    expect(refused('{volume_anomaly: {min_history: 1}}')).toEqual([
      'out_of_range sla.volume_anomaly.min_history',
    ]);
    expect(refused('{volume_anomaly: {min_history: 9, window: 8}}')).toEqual([
      'out_of_range sla.volume_anomaly.window',
    ]);
    expect(refused('{volume_anomaly: {sensitivity: 0}}')).toEqual([
      'out_of_range sla.volume_anomaly.sensitivity',
    ]);
  });
});

describe('reconcile', () => {
  test('counts with any source, whose config is checked at its place', () => {
    const { rows } = plan(
      document(
        'reconcile: {count: {type: numbers, config: {to: 3}, count_field: n}, tolerance_pct: "10"}',
      ),
    );
    expect(rows[0]?.blocks['reconcile']).toMatchObject({
      source: { type: 'numbers', parsed: { to: 3 } },
      countField: 'n',
      tolerancePct: 10,
    });
    expect(
      issuesOf(() => plan(document('reconcile: {count: {type: numbers, config: {to: 0}}}'))),
    ).toEqual(['out_of_range reconcile.count.config.to']);
    expect(issuesOf(() => plan(document('reconcile: {count: {type: nothing}}')))).toEqual([
      'unknown_type reconcile.count.type',
    ]);
  });

  test('a tolerance of everything is none', () => {
    expect(
      issuesOf(() =>
        plan(document('reconcile: {count: {type: numbers, config: {to: 3}}, tolerance_pct: 100}')),
      ),
    ).toEqual(['out_of_range reconcile.tolerance_pct']);
  });
});
