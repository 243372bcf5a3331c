/** The audit log as the HTTP API shows it. */
import { z } from 'zod';

const time = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC.' });

export const auditRecordSchema = z
  .object({
    id: z.string().meta({ description: 'Id of the entry (UUID version 7).' }),
    timestamp: time,
    principal: z.string().meta({ description: 'Who acted.' }),
    role: z.string().meta({ description: 'Role of the principal at that moment.' }),
    action: z.string().meta({
      description: 'What was done, e.g. `run.submit`; for a denied attempt the label of the route.',
    }),
    result: z.string().meta({ description: '`ok`, `denied`, or a result the action names.' }),
    run_id: z.string().optional().meta({ description: 'The run acted upon, when there is one.' }),
    config_fingerprint: z
      .string()
      .optional()
      .meta({ description: 'SHA-256 of the submitted document; submissions only.' }),
    source_ip: z.string().optional().meta({ description: 'Address of the peer.' }),
  })
  .meta({ description: 'One audited action or denied attempt.' });
export type AuditRecord = z.infer<typeof auditRecordSchema>;

/** What the acting code knows; id and timestamp are given by whoever stores the entry. */
export type AuditEntry = Omit<AuditRecord, 'id' | 'timestamp'>;

export interface AuditQuery {
  /** Exact matches. */
  readonly principal?: string;
  readonly action?: string;
  /** Inclusive bounds on `timestamp`. */
  readonly since?: Date;
  readonly until?: Date;
  /** 1 to 1000. */
  readonly limit: number;
}

export const auditPageSchema = z.object({
  entries: z.array(auditRecordSchema).meta({ description: 'Newest first.' }),
});
