import { secretAsker } from '../../document/tokens/ask-secrets.ts';
import { loadWithSecrets } from '../../document/load.ts';
import { CheckedValues } from '../../kit/checked-values.ts';
import type { Parts } from '../../kit/parts.ts';
import type { Env } from '../../lib/env.ts';
import { stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import { Redactor } from '../../lib/redact.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { configFingerprint } from './fingerprint.ts';
import { OutsideWatch, type VariableReads } from './outside-watch.ts';
import { keyOf, PreparedCache } from './prepared-cache.ts';
import type { Prepare, Prepared, PrepareInput } from './prepared.ts';

export interface PrepareOptions {
  readonly env: Pick<Env, 'variables' | 'redactor' | 'fetch' | 'clock'>;
  readonly parts: Parts;
  /** Of the machine; decides how many rows run at once by default. */
  readonly cpus: number;
  readonly readFile: (path: string, limitBytes: number) => Uint8Array;
  /** The server's default document as it is now: it may be reloaded. */
  readonly base?: () => JsonObject | undefined;
  /** The tokens of backfills stay: what is prepared is the document of many runs. */
  readonly backfill?: 'kept';
}

/** Name of a run whose submission and document give none. */
const UNNAMED = 'serve';

export function createPrepare(options: PrepareOptions): Prepare {
  const { variables, clock } = options.env;
  const cache = new PreparedCache(clock);
  const checked = new CheckedValues(clock);
  return async (submission) => {
    const base = options.base?.();
    const key = keyOf(submission);
    const known = cache.find(key, { variables, base });
    if (known !== undefined) return known;
    const { prepared, reads } = await prepareAnew(submission, base, { ...options, checked });
    if (reads !== undefined)
      cache.keep(key, { prepared, base, reads, chars: submission.config.length });
    return prepared;
  };
}

interface Fresh {
  readonly prepared: Prepared;
  /** Undefined when the result is not good for another time, or must not be kept. */
  readonly reads: VariableReads | undefined;
}

async function prepareAnew(
  submission: PrepareInput,
  base: JsonObject | undefined,
  options: PrepareOptions & { readonly checked: CheckedValues },
): Promise<Fresh> {
  const { env, parts, cpus, backfill, checked } = options;
  const given = submission.name ?? '';
  const watch = new OutsideWatch();
  const learnt = new Redactor();
  const ask = watch.calls(secretAsker({ managers: parts.secrets, env }));
  try {
    const loading = {
      format: submission.config_format,
      origin: { kind: 'submitted' as const },
      variables: watch.variables(env.variables),
      redactor: learnt,
      readFile: watch.calls(options.readFile),
      ...(base === undefined ? {} : { base }),
      name: given,
    };
    const loaded = await loadWithSecrets(submission.config, loading, ask);
    const { tree } = loaded;
    const isNamed = given !== '' || (typeof tree['name'] === 'string' && tree['name'] !== '');
    const isOpen = !holdsSecrets(learnt, watch.reads);
    const plan = planDocument(isNamed ? loaded : { ...loaded, name: UNNAMED }, parts, {
      cpus,
      ...(isOpen ? { check: checked.check } : {}),
      ...(backfill === undefined ? {} : { backfill }),
    });
    const prepared = {
      document: stringifyJson(tree),
      name: plan.name,
      isNamed,
      plan,
      fingerprint: configFingerprint(tree),
    };
    return { prepared, reads: isOpen ? watch.reads : undefined };
  } finally {
    for (const value of learnt.values()) env.redactor.register(value);
  }
}

/**
 * Whether the document holds a secret that this process would forget with it; the environment stays
 * as long as the process.
 */
function holdsSecrets(learnt: Redactor, reads: VariableReads = []): boolean {
  return learnt.values().some((secret) => !reads.some(({ value }) => value === secret));
}
