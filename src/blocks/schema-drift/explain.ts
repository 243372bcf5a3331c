import type { SchemaDriftConfig } from './schema.ts';

/** What each policy does with fields that do not fit the columns of the destination. */
export const DRIFT_WORDS: Readonly<Record<SchemaDriftConfig['on_drift'], string>> = {
  warn: 'Fields that do not fit the columns of the destination are logged.',
  evolve:
    'Fields that do not fit the columns of the destination change it: columns are added and widened.',
  ignore: 'Fields that the destination has no column for are left out.',
  quarantine:
    'Records with fields that do not fit the columns of the destination go to the dead-letter queue.',
  fail: 'Fields that do not fit the columns of the destination fail the run.',
};
