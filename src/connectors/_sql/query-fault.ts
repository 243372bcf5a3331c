/** Errors in a configured query that are found without running it. */
export interface QueryFault {
  readonly message: string;
  readonly hint: string;
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
    },
  ];
}
