/**
 * What was submitted, beside the runs. Documents and default documents are stored once for all
 * submissions that share them, and go with the last of these.
 */
import type { SharedText, StoredSubmission } from '../history.ts';
import { text } from './rows.ts';
import {
  insertInto,
  type Row,
  type SqlDialect,
  type SqlScript,
  type SqlStatement,
} from './sql-store.ts';

const SUBMISSIONS = 'svc_serve_submissions';
const insert = insertInto(SUBMISSIONS, {
  run_id: 'text',
  content: 'text',
  document_hash: 'text',
  base_hash: 'text',
});
const insertText = insertInto(
  'svc_serve_texts',
  { hash: 'text', content: 'text' },
  'ON CONFLICT (hash) DO NOTHING',
);
export const SELECT_SUBMISSION = `SELECT s.content, s.document_hash, d.content AS document, s.base_hash, b.content AS base
  FROM ${SUBMISSIONS} s LEFT JOIN svc_serve_texts d ON d.hash = s.document_hash
  LEFT JOIN svc_serve_texts b ON b.hash = s.base_hash WHERE s.run_id = ?`;
const ERASE = `DELETE FROM ${SUBMISSIONS} WHERE run_id = ? RETURNING document_hash, base_hash`;
const ERASE_TEXT = `DELETE FROM svc_serve_texts WHERE hash = ?
  AND NOT EXISTS (SELECT 1 FROM ${SUBMISSIONS} WHERE document_hash = ?)
  AND NOT EXISTS (SELECT 1 FROM ${SUBMISSIONS} WHERE base_hash = ?)`;

/** A text that is in use must not be erased by another instance before the submission is seen. */
export function insertSubmission(
  dialect: SqlDialect,
  runId: string,
  { content, document, base }: StoredSubmission,
): readonly SqlStatement[] {
  const shared = [document, base].filter((one) => one !== undefined);
  return [
    ...dialect.lockNames(shared.map(nameOf), 'shared'),
    ...shared.map((one) => insertText([one.hash, one.content])),
    insert([runId, content, document?.hash ?? null, base?.hash ?? null]),
  ];
}

export function* eraseSubmissions(
  dialect: SqlDialect,
  runIds: readonly string[],
): SqlScript<undefined> {
  const erased = yield runIds.map((runId) => ({ sql: ERASE, values: [runId], returns: true }));
  const rows = erased.flatMap((result) => result.rows);
  const hashes = rows.flatMap(({ document_hash, base_hash }) => [document_hash, base_hash]);
  const freed = [...new Set(hashes.filter((hash) => hash != null).map(text))].sort();
  if (freed.length === 0) return;
  yield [
    ...dialect.lockNames(
      freed.map((hash) => nameOf({ hash })),
      'alone',
    ),
    ...freed.map((hash) => ({ sql: ERASE_TEXT, values: [hash, hash, hash] })),
  ];
}

function nameOf({ hash }: Pick<SharedText, 'hash'>): string {
  return `text ${hash}`;
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
