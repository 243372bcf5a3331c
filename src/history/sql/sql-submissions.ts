/**
 * What was submitted, beside the runs. Documents and default documents are stored once for all
 * submissions that share them, and go with the last of these. Called within a write.
 */
import type { SharedText, StoredSubmission } from '../history.ts';
import { text } from './rows.ts';
import type { Row, SqliteClient } from './sqlite-client.ts';

const INSERT =
  'INSERT INTO svc_serve_submissions (run_id, content, document_hash, base_hash) VALUES (?, ?, ?, ?)';
const INSERT_TEXT =
  'INSERT INTO svc_serve_texts (hash, content) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING';
export const SELECT_SUBMISSION = `SELECT s.content, s.document_hash, d.content AS document, s.base_hash, b.content AS base
  FROM svc_serve_submissions s LEFT JOIN svc_serve_texts d ON d.hash = s.document_hash
  LEFT JOIN svc_serve_texts b ON b.hash = s.base_hash WHERE s.run_id = ?`;
const ERASE =
  'DELETE FROM svc_serve_submissions WHERE run_id = ? RETURNING document_hash, base_hash';
const ERASE_TEXT = `DELETE FROM svc_serve_texts WHERE hash = ?1
  AND NOT EXISTS (SELECT 1 FROM svc_serve_submissions WHERE document_hash = ?1)
  AND NOT EXISTS (SELECT 1 FROM svc_serve_submissions WHERE base_hash = ?1)`;

export class SqlSubmissions {
  readonly #client: SqliteClient;

  constructor(client: SqliteClient) {
    this.#client = client;
  }

  insert(runId: string, { content, document, base }: StoredSubmission): void {
    for (const shared of [document, base])
      if (shared !== undefined) this.#client.run(INSERT_TEXT, shared.hash, shared.content);
    this.#client.run(INSERT, runId, content, document?.hash ?? null, base?.hash ?? null);
  }

  /** Of a run that has one. */
  of(runId: string): StoredSubmission | undefined {
    return submissionOf(this.#client.all(SELECT_SUBMISSION, runId)[0]);
  }

  erase(runIds: readonly string[]): void {
    const freed = new Set<string>();
    for (const runId of runIds)
      for (const { document_hash, base_hash } of this.#client.all(ERASE, runId))
        for (const hash of [document_hash, base_hash]) if (hash != null) freed.add(text(hash));
    for (const hash of freed) this.#client.run(ERASE_TEXT, hash);
  }
}

export function submissionOf(row: Row | undefined): StoredSubmission | undefined {
  if (row === undefined) return undefined;
  const document = sharedText(row, 'document');
  const base = sharedText(row, 'base');
  return {
    content: text(row['content']),
    ...(document === undefined ? {} : { document }),
    ...(base === undefined ? {} : { base }),
  };
}

function sharedText(row: Row, name: 'document' | 'base'): SharedText | undefined {
  const hash = row[`${name}_hash`];
  return hash == null ? undefined : { hash: text(hash), content: text(row[name]) };
}
