/** Servers of the machine's package manager. */
import { spawnSync } from 'node:child_process';

export type InstalledOrReason<S> =
  | { readonly start: () => Promise<S>; readonly reason?: undefined }
  | { readonly reason: string; readonly start?: undefined };

const required = (process.env['HEADGATE_REQUIRE_SERVERS'] ?? '').split(',');

/** Throws instead of a reason where `HEADGATE_REQUIRE_SERVERS` names the program. */
export function installedOrReason<S>(
  program: string,
  start: () => Promise<S>,
): InstalledOrReason<S> {
  if (spawnSync('sh', ['-c', `command -v ${program}`]).status === 0) return { start };
  const reason = `no ${program}: install the package \`${program}\``;
  if (required.includes(program))
    throw new Error(`HEADGATE_REQUIRE_SERVERS names ${program}, but there is ${reason}`);
  return { reason };
}

/** For servers that start slowly: used only where `HEADGATE_REQUIRE_SERVERS` names them. */
export function requiredOrReason<S>(
  program: string,
  start: () => Promise<S>,
): InstalledOrReason<S> {
  if (required.includes(program)) return installedOrReason(program, start);
  return { reason: `not asked for: HEADGATE_REQUIRE_SERVERS=${program} starts one` };
}
