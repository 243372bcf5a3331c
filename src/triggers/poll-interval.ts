import { integer, nullAsAbsent } from '../kit/schema.ts';

/** How often kinds that have to look do so. */
export const pollInterval = () =>
  nullAsAbsent(integer({ min: 1 }).default(30)).meta({
    description: 'Seconds from one look to the next.',
  });
