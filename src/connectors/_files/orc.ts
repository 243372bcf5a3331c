/** ORC stands in the specification, and this version has no reader or writer of it. */
import type { z } from 'zod';
import { finding } from '../../kit/schema.ts';

const CONVERT =
  'convert the files to Parquet, for example with `pq.write_table(orc.read_table("a.orc"), "a.parquet")` of `pyarrow`, and read those';

export const ORC_UNREAD = {
  message: 'reading orc files is not available in this version',
  hint: CONVERT,
} as const;

/** `field` is what says that files are ORC. */
export function refuseReading(field: string, ctx: z.RefinementCtx): void {
  const { message, hint } = ORC_UNREAD;
  ctx.addIssue(finding('not_available', message, { path: [field], hint }));
}

export function refuseWriting(field: string, ctx: z.RefinementCtx): void {
  ctx.addIssue(
    finding('not_available', 'writing orc files is not available in this version', {
      path: [field],
      hint: 'write `parquet`, which programs that read ORC read as well',
    }),
  );
}
