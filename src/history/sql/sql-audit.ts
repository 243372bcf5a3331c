/** The audit log in an SQL table. */
import type { AuditQuery, AuditRecord } from '../../wire/audit.ts';
import { Conditions } from './conditions.ts';
import { auditOf } from './rows.ts';
import { insertInto, type SqlStatement, type SqlStore } from './sql-store.ts';

const TABLE = 'svc_serve_audit';
const insert = insertInto(TABLE, {
  id: 'text',
  timestamp: 'text',
  principal: 'text',
  role: 'text',
  action: 'text',
  result: 'text',
  run_id: 'text',
  config_fingerprint: 'text',
  source_ip: 'text',
});

export function insertAudit(record: AuditRecord): SqlStatement {
  return insert([
    record.id,
    record.timestamp,
    record.principal,
    record.role,
    record.action,
    record.result,
    record.run_id ?? null,
    record.config_fingerprint ?? null,
    record.source_ip ?? null,
  ]);
}

export async function listAudit(
  store: SqlStore,
  { principal, action, since, until, limit }: AuditQuery,
): Promise<readonly AuditRecord[]> {
  const where = new Conditions();
  if (principal !== undefined) where.add('principal = ?', principal);
  if (action !== undefined) where.add('action = ?', action);
  if (since !== undefined) where.add('timestamp >= ?', since.toISOString());
  if (until !== undefined) where.add('timestamp <= ?', until.toISOString());
  const sql = `SELECT * FROM ${TABLE} ${where.text()} ORDER BY timestamp DESC, id DESC LIMIT ?`;
  return (await store.read(sql, [...where.values, limit])).map(auditOf);
}
