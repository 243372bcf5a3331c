/** Holds what a run wrote against its source. The data is written by then and stays. */
import { verifyBlock } from '../../blocks/verify/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { RunError } from '../../lib/errors.ts';
import { stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import type { VerifyReport } from '../../wire/verify.ts';
import type { VerifyRowOptions } from './settings.ts';
import { verifyRow } from './verify-row.ts';

/** Throws `RunError` of kind `Sink` when source and destination differ, also after a repair. */
export async function verifyAfterRun(settings: Omit<VerifyRowOptions, 'task'>): Promise<void> {
  const spec = blockOf(settings.row, verifyBlock)?.spec;
  if (spec === undefined) return;
  const look = { repair: false, allowDelete: false, dryRun: false, maxDifferences: undefined };
  const first = await verifyRow({
    ...settings,
    task: { ...look, repair: spec.repair, allowDelete: spec.allow_delete },
    hasPutAside: true,
  });
  // Only a second comparison shows whether the repair worked.
  const report = hasRepaired(first) ? await verifyRow({ ...settings, task: look }) : first;
  const log = settings.env.log.at('headgate::verify');
  if (hasRepaired(first)) {
    log.warn('records that differed were repaired', {
      row: first.row,
      written: first.repaired_upserts,
      deleted: first.repaired_deletes,
    });
  }
  if (report.truncated)
    log.warn('not everything was compared', {
      row: report.row,
      hint: 'raise `verify.max_rows_scanned`',
    });
  if (report.differences.length === 0) {
    log.info('source and destination are equal', {
      row: report.row,
      strategy: report.strategy,
      held_back: report.held_back,
    });
    return;
  }
  const message = sentenceOf(report);
  if (spec.fail_on_difference) {
    throw new RunError('Sink', 'verify_different', message, {
      hint: 'the records are written and the position is stored; `headgate verify` lists every difference, and `--repair` writes those rows again',
    });
  }
  log.warn(message, { row: report.row });
}

function hasRepaired({
  repaired_upserts: upserts = 0,
  repaired_deletes: deletes = 0,
}: VerifyReport): boolean {
  return upserts + deletes > 0;
}

function sentenceOf({ differences, truncated }: VerifyReport): string {
  const kinds = [...Map.groupBy(differences, ({ kind }) => kind)].map(
    ([kind, some]) => `${some.length} ${WORDS[kind]}`,
  );
  const [first] = differences;
  const example =
    first === undefined ? '' : `; the first is ${stringifyJson(first.key as JsonObject)}`;
  return `source and destination differ in ${truncated ? 'at least ' : ''}${differences.length} ${differences.length === 1 ? 'key' : 'keys'} (${kinds.join(', ')})${example}`;
}

const WORDS: Readonly<Record<VerifyReport['differences'][number]['kind'], string>> = {
  missing_in_dest: 'missing',
  extra_in_dest: 'too many',
  changed: 'changed',
  duplicate: 'more than once',
};
