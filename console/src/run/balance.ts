import type { RunGetAnswer } from '../../../src/client/index.ts';

export type Invocation = RunGetAnswer['invocations'][number];
export type Balance = Pick<
  Invocation['balance'],
  'read' | 'filtered' | 'expanded' | 'transformed' | 'written' | 'dead_lettered' | 'withheld'
>;

const MEMBERS = [
  'read',
  'filtered',
  'expanded',
  'transformed',
  'written',
  'dead_lettered',
  'withheld',
] as const;

export function sumOf(invocations: readonly Pick<Invocation, 'balance'>[]): Balance {
  const sum = {
    read: 0,
    filtered: 0,
    expanded: 0,
    transformed: 0,
    written: 0,
    dead_lettered: 0,
    withheld: 0,
  };
  for (const { balance } of invocations)
    for (const member of MEMBERS) sum[member] += balance[member];
  return sum;
}

/** Both equations of the receipt hold. */
export function closes(balance: Balance): boolean {
  const { read, filtered, expanded, transformed, written, dead_lettered, withheld } = balance;
  return (
    read - filtered + expanded === transformed && transformed === written + dead_lettered + withheld
  );
}
