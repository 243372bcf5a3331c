/** Priorities as numbers, by which a database sorts: the highest first. */
import { priorityOf, type RunPriority } from '../../wire/run-priority.ts';
import type { StoredRun } from '../history.ts';

export const RANKS: Readonly<Record<RunPriority, number>> = { high: 1, normal: 0, low: -1 };

export function rankOf(run: Pick<StoredRun, 'priority'>): number {
  return RANKS[priorityOf(run)];
}

export function priorityOfRank(rank: number): Pick<StoredRun, 'priority'> {
  return rank === 0 ? {} : { priority: rank > 0 ? 'high' : 'low' };
}
