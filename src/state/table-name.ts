import { z } from 'zod';

/** The table of a store inside a database. */
export function tableName() {
  return z
    .string()
    .regex(/^[A-Za-z0-9_]{1,63}$/)
    .default('svc_state')
    .meta({ description: 'Table of the bookmarks: letters, digits and underscores, at most 63.' });
}
