import { readFileSync } from 'node:fs';

/** Whether a process has ended; one that nobody has asked for its end yet counts as that. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return /^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}
