/**
 * Fingerprints decide whether a repeated submission is the same request. They hold no secret, only
 * hashes.
 */
import { hash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '../../lib/text/json.ts';
import type { Submission } from '../../wire/run.ts';

/** Of the document as it will run, independent of its text; also recorded in the audit log. */
export function configFingerprint(tree: JsonObject): string {
  const name = typeof tree['name'] === 'string' ? tree['name'] : '';
  return sha256(`${name}\0${canonicalJson(tree)}`);
}

/**
 * Of everything that changes what a run does. Callback, preflight and the key itself do not. A name
 * is left out where there is none, so that keys of submissions without one stay good.
 */
export function requestFingerprint(config: string, submission: Submission): string {
  const { name, clock, timeout_secs, labels, concurrency } = submission;
  return sha256(
    canonicalJson({
      config,
      clock: clock ?? null,
      timeout_secs: timeout_secs ?? null,
      labels: labels ?? {},
      concurrency: concurrency ?? null,
      ...(name == null || name === '' ? {} : { name }),
    }),
  );
}

function sha256(text: string): string {
  return hash('sha256', text);
}
