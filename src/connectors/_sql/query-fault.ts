/** Errors in a configured query that are found without running it. */
export interface QueryFault {
  readonly message: string;
  readonly hint: string;
}

/** Of `@bookmark`; `before` is the query up to it. */
export function bookmarkFaults(before: string, isIncremental: boolean): QueryFault[] {
  if (!isIncremental)
    return [
      {
        message: '@bookmark needs `replication: {type: incremental, …}`',
        hint: 'set `replication`, or remove the token',
      },
    ];
  if (!/[^<>=]>\s*$/.test(before)) return [];
  return [
    {
      message: '@bookmark is compared with >, which can miss rows that share the last value',
      hint: 'use >=; rows that were already read are skipped automatically',
    },
  ];
}
