import { existsSync } from 'node:fs';
import type { SinkContext } from '../../../kit/context.ts';

/**
 * A run without records opens no file, so that of an earlier run is still there. Where positions are
 * stored, no records are no news.
 */
export function tellOldFileStays(path: string, { env, progress, role }: SinkContext): void {
  if (role === 'dlq' || progress === 'positions' || !existsSync(path)) return;
  env.log.warn('no record came, so the file of an earlier run stays as it was', {
    path,
    hint: 'a sink `file` with `if_exists: replace` leaves an empty file instead (no file, if it is Parquet)',
  });
}
