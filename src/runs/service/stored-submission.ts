/**
 * A submission as the history stores it: without secret values, and a document that comes again
 * once for all runs that share it.
 */
import { hash } from 'node:crypto';
import type { StoredSubmission } from '../../history/history.ts';
import { SeenKeys } from '../../lib/seen-keys.ts';
import { parseJson, stringifyJson } from '../../lib/text/json.ts';
import {
  storedSubmissionSchema,
  type Bound,
  type StoredSubmissionContent,
  type Withheld,
} from '../../wire/submission.ts';
import type { BaseDocument } from './prepared.ts';

export interface ToStore {
  readonly content: StoredSubmissionContent;
  readonly base: BaseDocument | undefined;
  /** Names of parameters whose values are not stored; those of variables never are. */
  readonly secretParams: readonly string[];
}

/** Documents that came once are stored with their run: most of them never come again. */
const DOCUMENTS = 5000;

export class SubmissionWriter {
  readonly #seen = new SeenKeys(DOCUMENTS);

  write({ content, base, secretParams }: ToStore): StoredSubmission {
    const { config, bound, ...settings } = content;
    const key = hash('sha256', config);
    const isShared = this.#seen.add(key);
    const stored = {
      ...settings,
      ...withoutSecrets(bound, secretParams),
      ...(isShared ? {} : { config }),
    };
    return {
      content: stringifyJson(stored),
      ...(isShared ? { document: { hash: key, content: config } } : {}),
      ...(base === undefined ? {} : { base }),
    };
  }
}

function withoutSecrets(
  bound: Bound | undefined,
  secretParams: readonly string[],
): Partial<StoredSubmissionContent> {
  if (bound === undefined) return {};
  const withheld = {
    params: Object.keys(bound.params).filter((name) => secretParams.includes(name)),
    env: Object.keys(bound.env),
  };
  if (withheld.params.length + withheld.env.length === 0) return { bound };
  const open = Object.entries(bound.params).filter(([name]) => !withheld.params.includes(name));
  return { bound: { params: Object.fromEntries(open), env: {} }, withheld };
}

/** Undefined when another build stored it in a way that this one does not know. */
export function readSubmission(stored: StoredSubmission): StoredSubmissionContent | undefined {
  const { data } = storedSubmissionSchema.safeParse(parseJson(stored.content));
  const config = data?.config ?? stored.document?.content;
  return data === undefined || config === undefined ? undefined : { ...data, config };
}

/** It was given values that are not stored. */
export function isWithheld({ withheld, is_bound_withheld }: StoredSubmissionContent): boolean {
  return withheld !== undefined || is_bound_withheld === true;
}

/** The names of those values; none where an earlier build did not store them. */
export function withheldOf({ withheld }: StoredSubmissionContent): Withheld {
  return withheld ?? { params: [], env: [] };
}
