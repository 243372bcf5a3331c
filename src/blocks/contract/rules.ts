import type { AssembledRow } from '../../plan/assembled-row.ts';
import type { BlockPlace } from '../define-block.ts';
import { contractQuarantines, type ContractConfig } from './schema.ts';

export function checkContract(
  contract: ContractConfig,
  { delivery, resolved }: AssembledRow,
  { path, issues }: BlockPlace,
): void {
  if (delivery !== 'exactly_once' || !contractQuarantines(contract)) return;
  issues.error(
    'exactly_once_quarantine',
    resolved.blocks.get('delivery')?.path ?? path,
    '`on_breach: quarantine` of the contract cannot be combined with `exactly_once`',
    'use `on_breach: fail` or `at_least_once`',
  );
}
