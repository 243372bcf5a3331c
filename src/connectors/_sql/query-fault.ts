import { finding } from '../../kit/schema.ts';
import type { Doubt } from '../../kit/source.ts';

/** Errors in a configured query that are found without running it. */
export interface QueryFault {
  readonly message: string;
  readonly hint: string;
  /** The query works as it is written, but hardly as it is meant. */
  readonly isDoubt?: true;
}

/** Adds those that make a config invalid. */
export function addFaults(
  faults: readonly (QueryFault & { readonly path?: readonly string[] })[],
  ctx: { addIssue(issue: ReturnType<typeof finding>): void },
  field = 'query',
): void {
  for (const { message, hint, path = [field], isDoubt } of faults)
    if (isDoubt !== true)
      ctx.addIssue(finding('invalid_value', message, { path: [...path], hint }));
}

/** For sources that refuse what is doubtful, too. */
export function asErrors(faults: readonly QueryFault[]): QueryFault[] {
  return faults.map(({ message, hint }) => ({ message, hint }));
}

export function doubtsAmong(faults: readonly QueryFault[], field = 'query'): Doubt[] {
  return faults
    .filter(({ isDoubt }) => isDoubt === true)
    .map(({ message, hint }) => ({ code: 'may_miss_records', path: field, message, hint }));
}

/** Of `@bookmark`, or another token for it; `before` is the query up to it. */
export function bookmarkFaults(
  before: string,
  isIncremental: boolean,
  token = '@bookmark',
): QueryFault[] {
  if (!isIncremental)
    return [
      {
        message: `${token} needs \`replication: {type: incremental, …}\``,
        hint: 'set `replication`, or remove the token',
      },
    ];
  if (!/[^<>=]>\s*$/.test(before)) return [];
  return [
    {
      message: `${token} is compared with >, which can miss rows that share the last value`,
      hint: 'use >=; rows that were already read are skipped automatically',
      isDoubt: true,
    },
  ];
}
