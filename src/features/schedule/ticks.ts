/** Computes which ticks are due. Pure: the caller gives the time. */
import type { Cron } from '../../lib/time/cron.ts';

export type Due =
  | { readonly kind: 'none' }
  | { readonly kind: 'tick'; readonly at: Date; readonly next: Date | undefined }
  /** The clock is beyond several ticks (the machine slept): none of them is made up for. */
  | { readonly kind: 'missed'; readonly first: Date; readonly next: Date | undefined };

export function dueAt(now: Date, next: Date | undefined, cron: Cron): Due {
  if (next === undefined || next > now) return { kind: 'none' };
  const following = cron.next(next);
  if (following !== undefined && following <= now)
    return { kind: 'missed', first: next, next: cron.next(now) };
  return { kind: 'tick', at: next, next: following };
}

/** The first tick at a moment or after it. */
export function tickFrom(moment: Date, cron: Cron): Date | undefined {
  return cron.next(new Date(moment.getTime() - 1));
}
