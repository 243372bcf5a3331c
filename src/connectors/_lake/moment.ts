import { finding } from '../../kit/schema.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:?\d{2})?$/;

/** Milliseconds since 1970 of a time in ISO 8601, UTC without an offset. */
export function momentOf(written: string): number | undefined {
  const [, day, clock, zone = 'Z'] = TIME.exec(written) ?? [];
  const moment = Date.parse(DATE.test(written) ? written : `${day}T${clock}${zone}`);
  return Number.isNaN(moment) ? undefined : moment;
}

/** What is wrong with the two fields that say which version of a table is read. */
export function versionFaults(
  version: readonly [field: string, value: unknown],
  [field, time]: readonly [field: string, value: string | undefined],
) {
  if (time === undefined) return [];
  const path = [field];
  const faults = [];
  if (version[1] !== undefined) {
    const message = `\`${version[0]}\` and \`${field}\` both say which version is read`;
    faults.push(finding('invalid_value', message, { path, hint: 'remove one' }));
  }
  if (momentOf(time) === undefined) {
    const hint = 'write it as `2026-01-31T12:00:00Z`';
    faults.push(finding('invalid_value', 'this is not a time', { path, hint }));
  }
  return faults;
}
