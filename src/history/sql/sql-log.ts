/** Log lines of runs in an SQL table. */
import type { RunLogLine, StoredLogPage } from '../history.ts';
import { text } from './rows.ts';
import { insertInto, type SqlStatement, type SqlStore } from './sql-store.ts';

const insert = insertInto(
  'svc_serve_run_logs',
  {
    run_id: 'text',
    seq: 'bigint',
    ts: 'text',
    level: 'text',
    line: 'text',
    is_truncated: 'integer',
  },
  'ON CONFLICT (run_id, seq) DO NOTHING',
);
const READ =
  'SELECT seq, ts, level, line, is_truncated FROM svc_serve_run_logs WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?';

export function insertLine({ run_id, seq, ts, level, line }: RunLogLine): SqlStatement {
  return insert([run_id, seq, ts, level, line, 0]);
}

export function insertTruncation(
  runId: string,
  after: { readonly seq: number; readonly ts: string },
): SqlStatement {
  return insert([runId, after.seq + 1, after.ts, '', '', 1]);
}

export async function readLog(
  store: SqlStore,
  runId: string,
  range: { readonly after: number; readonly limit: number },
): Promise<StoredLogPage> {
  const rows = await store.read(READ, [runId, range.after, range.limit + 2]);
  const lines = rows
    .filter((row) => row['is_truncated'] === 0)
    .slice(0, range.limit)
    .map((row) => ({
      seq: Number(row['seq']),
      ts: text(row['ts']),
      level: text(row['level']),
      line: text(row['line']),
    }));
  const behind = rows.filter((row) => Number(row['seq']) > (lines.at(-1)?.seq ?? range.after));
  // A mark between lines says nothing at the end of a page: more lines follow.
  const truncated = behind.length > 0 && behind.every((row) => row['is_truncated'] === 1);
  return { lines, truncated };
}
