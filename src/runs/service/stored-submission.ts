/**
 * A submission as the history stores it: without secret values, and a document that comes again
 * once for all runs that share it.
 */
import type { StoredSubmission } from '../../history/history.ts';
import { RecentValues } from '../../lib/recent-values.ts';
import { SeenKeys } from '../../lib/seen-keys.ts';
import { parseJson, stringifyJson } from '../../lib/text/json.ts';
import type { Clock } from '../../lib/time/clock.ts';
import {
  storedSubmissionSchema,
  type Bound,
  type StoredSubmissionContent,
  type Withheld,
} from '../../wire/submission.ts';
import type { BaseDocument } from './prepared.ts';

export interface ToStore {
  readonly content: StoredSubmissionContent;
  /** Of its document. */
  readonly configHash: string;
  readonly base: BaseDocument | undefined;
  /** Names of parameters whose values are not stored; those of variables never are. */
  readonly secretParams: readonly string[];
}

/** Documents that came once are stored with their run: most of them never come again. */
const DOCUMENTS = 5000;
/** Texts that are kept, because runs that wait share them. */
const TEXTS = { entries: 500, size: 8 * 1024 * 1024, idleMs: 300_000 };

export interface Written {
  readonly stored: StoredSubmission;
  /** What was given; runs of one document hold one text. */
  readonly content: StoredSubmissionContent;
}

export class SubmissionWriter {
  readonly #seen = new SeenKeys(DOCUMENTS);
  readonly #texts: RecentValues<string>;

  constructor(clock: Pick<Clock, 'elapsedMs'>) {
    this.#texts = new RecentValues(TEXTS, clock);
  }

  write({ content, configHash: key, base, secretParams }: ToStore): Written {
    const { config: given, bound, ...settings } = content;
    const isShared = this.#seen.add(key);
    const config = isShared ? this.#shared(key, given) : given;
    const stored = {
      ...settings,
      ...withoutSecrets(bound, secretParams),
      ...(isShared ? {} : { config }),
    };
    return {
      content: { ...content, config },
      stored: {
        content: stringifyJson(stored),
        ...(isShared ? { document: { hash: key, content: config } } : {}),
        ...(base === undefined ? {} : { base }),
      },
    };
  }

  #shared(key: string, text: string): string {
    const known = this.#texts.find(key);
    if (known === undefined) this.#texts.keep(key, text, text.length);
    return known ?? text;
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
  return { bound: { ...bound, params: Object.fromEntries(open), env: {} }, withheld };
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
