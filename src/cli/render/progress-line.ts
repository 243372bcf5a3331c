import type { Clock } from '../../lib/time/clock.ts';
import type { Progress } from '../../wire/outcome.ts';
import { count, thousands } from '../../lib/text/count.ts';
import { byteSize, type Terminal } from './render.ts';

const REFRESH_MS = 100;
/**
 * Rates are those of the last second or so, not of the whole run: people want to see it slow down.
 */
const RATE_WINDOW_MS = 1000;

interface Sample {
  readonly atMs: number;
  readonly records: number;
  readonly bytes: number;
}

/** Shows the counts of a running run on a terminal, at most ten times a second. */
export function progressLine(
  terminal: Terminal,
  clock: Clock,
  rows: number,
): (progress: Progress) => void {
  let shownAtMs = Number.NEGATIVE_INFINITY;
  let from: Sample = { atMs: clock.elapsedMs(), records: 0, bytes: 0 };
  let rate: { records: number; bytes: number } | undefined;
  return (progress) => {
    const atMs = clock.elapsedMs();
    if (!terminal.watched || atMs - shownAtMs < REFRESH_MS) return;
    shownAtMs = atMs;
    const now: Sample = { atMs, records: progress.records_read, bytes: progress.bytes_read };
    const recent = rateBetween(from, now);
    if (atMs - from.atMs >= RATE_WINDOW_MS) {
      from = now;
      rate = recent;
    }
    terminal.progress(lineOf(progress, rate ?? recent, rows));
  };
}

function rateBetween(from: Sample, to: Sample): { records: number; bytes: number } {
  const secs = Math.max(to.atMs - from.atMs, 1) / 1000;
  return { records: (to.records - from.records) / secs, bytes: (to.bytes - from.bytes) / secs };
}

function lineOf(
  progress: Progress,
  rate: { records: number; bytes: number },
  rows: number,
): string {
  const parts = [
    progress.row_id,
    `${thousands(progress.records_read)} read`,
    `${thousands(progress.records_written)} written`,
    `${thousands(rate.records)} records/s`,
    `${byteSize(rate.bytes)}/s`,
    ...(progress.records_dead_lettered > 0
      ? [count(progress.records_dead_lettered, 'dead letter')]
      : []),
    ...(rows > 1 ? [`${progress.invocations_done} done of ${count(rows, 'row')}`] : []),
  ];
  return parts.join('  ·  ');
}
