/**
 * Clocks of servers that jump: `libfaketime` (in Debian the package `faketime`) adds to the time what
 * a file says. Time that only goes on is left as it is, because no machine has that jump.
 */
import { globSync, writeFileSync } from 'node:fs';

/** The library; undefined where it is not installed. */
export const CLOCKS = globSync('/usr/lib/*/faketime/libfaketime.so.1')[0];

/** For a server whose clock goes as the file says. */
export function clockVariables(file: string): Readonly<Record<string, string>> {
  if (CLOCKS === undefined) return {};
  setClock(file, 0);
  return {
    LD_PRELOAD: CLOCKS,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    // The file is read again so often, in seconds.
    FAKETIME_CACHE_DURATION: '1',
  };
}

/** So many seconds before or behind the clock of the machine. */
export function setClock(file: string, secs: number): void {
  writeFileSync(file, `${secs < 0 ? '' : '+'}${secs}\n`);
}
