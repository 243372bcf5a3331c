import type { AuditStore } from '../../history/history.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import type { AuditEntry, AuditQuery, AuditRecord } from '../../wire/audit.ts';
import type { Caller } from './runs.ts';

/** The audit log of everything that acts. Writing never fails the action it is about. */
export interface Audit {
  /** For an entry that is stored together with the change it describes. */
  complete(entry: AuditEntry): AuditRecord;
  record(entry: AuditEntry): Promise<void>;
  /** Newest first. */
  list(query: AuditQuery): Promise<readonly AuditRecord[]>;
}

export function createAudit(store: AuditStore, env: Pick<Env, 'clock' | 'ids' | 'log'>): Audit {
  const complete = (entry: AuditEntry): AuditRecord => ({
    ...entry,
    id: env.ids.next(),
    timestamp: env.clock.now().toISOString(),
  });
  return {
    complete,
    record: async (entry) => {
      try {
        await store.recordAudit(complete(entry));
      } catch (error) {
        env.log.error('an audit entry could not be stored', {
          action: entry.action,
          principal: entry.principal,
          error: messageOf(error),
        });
      }
    },
    list: (query) => store.listAudit(query),
  };
}

/** An action that went well; `runId` where it is about a run. */
export function actionOf(
  { principal, role, sourceIp }: Caller,
  action: string,
  runId?: string,
): AuditEntry {
  return {
    principal,
    role,
    action,
    result: 'ok',
    ...(runId === undefined ? {} : { run_id: runId }),
    ...(sourceIp === undefined ? {} : { source_ip: sourceIp }),
  };
}
