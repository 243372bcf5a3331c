import type { RunListener } from '../service/run-listener.ts';
import type { LogWriter } from './log-writer.ts';
import type { RunLogs } from './run-log.ts';

/** Keeps the lines of runs: the last ones for live readers, and those that are stored. */
export function logListener(logs: RunLogs, writer: LogWriter | undefined): RunListener {
  return {
    name: 'log',
    follow: ({ run_id: runId, first_line: firstLine = 0, part_of: whole }) => {
      const log = logs.open(runId, firstLine);
      if (whole !== undefined) writer?.openPart(runId, whole);
      else if (firstLine > 0) writer?.open(runId, firstLine);
      return (event) => {
        if (event.kind !== 'log') return;
        log.push(event.lines);
        writer?.push(runId, event.lines);
      };
    },
  };
}
