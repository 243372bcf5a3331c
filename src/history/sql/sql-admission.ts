/** A submission as one change: the claim of its key, the run, what was submitted, and the audit entries. */
import type { Admission, AdmitOptions, Claim, Repetition, StoredRun } from '../history.ts';
import { insertAudit } from './sql-audit.ts';
import { insertRun } from './run-statements.ts';
import { runOf } from './rows.ts';
import type { Row, SqlDialect, SqlScript } from './sql-store.ts';
import { insertSubmission } from './sql-submissions.ts';

const CLAIM = `INSERT INTO svc_serve_idem (idem_key, fingerprint, run_id, claimed_at) VALUES (?, ?, ?, ?)
  ON CONFLICT (idem_key) DO UPDATE SET fingerprint = excluded.fingerprint, run_id = excluded.run_id, claimed_at = excluded.claimed_at
  WHERE svc_serve_idem.claimed_at <= ?`;
/** Who holds a key. */
export const HOLDER = `SELECT i.fingerprint, i.claimed_at, r.* FROM svc_serve_idem i LEFT JOIN svc_serve_runs r ON r.run_id = i.run_id
  WHERE i.idem_key = ?`;
/** The holder of a key may go while it is looked at. */
const TRIES = 8;

export function* admission(
  dialect: SqlDialect,
  run: StoredRun,
  { claim, submission, audits = [] }: AdmitOptions,
): SqlScript<Admission> {
  const used = claim === undefined ? undefined : yield* claimKey(claim, run);
  if (used !== undefined) return used;
  yield [
    insertRun(run),
    ...(submission === undefined ? [] : insertSubmission(dialect, run.run_id, submission)),
    ...audits.map(insertAudit),
  ];
  return { type: 'admitted' };
}

/** Undefined when the key is now ours. */
function* claimKey(
  { key, fingerprint, expired_at_or_before }: Claim,
  run: StoredRun,
): SqlScript<Admission | undefined> {
  const values = [key, fingerprint, run.run_id, run.submitted_at, expired_at_or_before];
  for (let tries = 0; tries < TRIES; tries += 1) {
    const [claimed] = yield [{ sql: CLAIM, values }];
    if (claimed?.changed === 1) return undefined;
    const [held] = yield [{ sql: HOLDER, values: [key], returns: true }];
    const holder = held?.rows[0];
    if (holder === undefined) continue;
    return repetitionOf(holder, { fingerprint });
  }
  return { type: 'mismatch' };
}

export function repetitionOf(holder: Row, { fingerprint }: Pick<Claim, 'fingerprint'>): Repetition {
  if (holder['fingerprint'] !== fingerprint) return { type: 'mismatch' };
  return { type: 'replay', run: holder['run_id'] === null ? undefined : runOf(holder) };
}
