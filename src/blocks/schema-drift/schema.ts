import { z } from 'zod';
import { boolean, nullAsAbsent } from '../../kit/schema.ts';

export const schemaDriftSchema = z.lazy(() =>
  z.strictObject({
    on_drift: nullAsAbsent(
      z.enum(['warn', 'evolve', 'ignore', 'quarantine', 'fail']).default('warn'),
    ).meta({
      description:
        '`warn` logs and counts, `evolve` changes the destination, `ignore` drops fields the destination does not have, `quarantine` sends records with a drifted field to the dead-letter queue, `fail` ends the run before the page is written.',
    }),
    allow_type_widening: nullAsAbsent(boolean().default(true)).meta({
      description:
        'Whether a column may get a wider type or become nullable; otherwise such a change counts as incompatible.',
    }),
    on_incompatible: nullAsAbsent(z.enum(['fail', 'quarantine']).default('fail')).meta({
      description:
        'With `evolve`: what follows when no wider type holds both the column and the records.',
    }),
    relax_nullability_on_missing: nullAsAbsent(boolean().default(false)).meta({
      description:
        'With `evolve`: whether a required column that no record of a page has becomes nullable.',
    }),
  }),
);
export type SchemaDriftConfig = z.infer<typeof schemaDriftSchema>;

export function driftQuarantines({
  on_drift: policy,
  on_incompatible: residue,
}: SchemaDriftConfig): boolean {
  return policy === 'quarantine' || (policy === 'evolve' && residue === 'quarantine');
}
