import { z } from 'zod';
import { STATE_TABLE } from '../kit/state-store.ts';

/** The table of a store inside a database. */
export function tableName() {
  return z
    .string()
    .regex(/^[A-Za-z0-9_]{1,63}$/)
    .default(STATE_TABLE)
    .meta({ description: 'Table of the bookmarks: letters, digits and underscores, at most 63.' });
}
