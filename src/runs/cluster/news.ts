/** What servers of a cluster tell each other about their queue, as it is announced in the database. */
import type { Member } from '../../history/cluster.ts';

/** There are runs to claim. Behind it may stand who is to look; without that, everybody is. */
export const RUNS = 'runs';
/** There are shards to claim. */
export const SHARDS = 'shards';

/** Servers that look for the same runs: when some of them are busy by now, one is not. */
const ASKED = 4;

/**
 * Asks some servers that had a free slot when they said so last, each time others. The rest looks
 * when it has a slot again: hundreds that look for one run are a load of their own.
 */
export function newsOfRuns(others: readonly Member[], turn: number): string {
  if (others.length <= ASKED) return RUNS;
  const free = others.filter(({ in_flight, max_concurrent }) => in_flight < max_concurrent);
  if (free.length <= ASKED)
    return `${RUNS} ${free.map(({ instance_id }) => instance_id).join(' ')}`;
  const asked = Array.from({ length: ASKED }, (_, n) => free[(turn * ASKED + n) % free.length]);
  return `${RUNS} ${asked.map((member) => member?.instance_id).join(' ')}`;
}

/** Undefined for other news. */
export function askedToLook(news: string, instanceId: string): 'now' | 'later' | undefined {
  const [word, ...asked] = news.split(' ');
  if (word !== RUNS) return undefined;
  return asked.length === 0 || asked.includes(instanceId) ? 'now' : 'later';
}
