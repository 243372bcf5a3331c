/** Servers of the machine's package manager. */
import { spawnSync } from 'node:child_process';

export type InstalledOrReason<S> =
  | { readonly start: () => Promise<S>; readonly reason?: undefined }
  | { readonly reason: string; readonly start?: undefined };

/** Throws instead of a reason where `HEADGATE_REQUIRE_SERVERS` names the program. */
export function installedOrReason<S>(
  program: string,
  start: () => Promise<S>,
): InstalledOrReason<S> {
  if (spawnSync('sh', ['-c', `command -v ${program}`]).status === 0) return { start };
  const reason = `no ${program}: install the package \`${program}\``;
  const required = (process.env['HEADGATE_REQUIRE_SERVERS'] ?? '').split(',');
  if (required.includes(program))
    throw new Error(`HEADGATE_REQUIRE_SERVERS names ${program}, but there is ${reason}`);
  return { reason };
}
