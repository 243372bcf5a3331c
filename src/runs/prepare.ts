import { loadDocument } from '../document/load.ts';
import type { Parts } from '../kit/parts.ts';
import type { Env } from '../lib/env.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Plan } from '../plan/plan.ts';
import { planDocument } from '../plan/plan-document.ts';
import type { Submission } from '../wire/run.ts';

/** A submitted document that may run. */
export interface Prepared {
  /** After load-time interpolation and the merge over the defaults. */
  readonly tree: JsonObject;
  /** Drives state keys and metric labels. */
  readonly name: string;
  /** False when neither the submission nor the document gives a name. */
  readonly isNamed: boolean;
  readonly plan: Plan;
}

/** From the text of a submission to a plan; throws `ConfigError` whose stage decides the status. */
export type Prepare = (submission: Pick<Submission, 'config' | 'config_format' | 'name'>) => Prepared | Promise<Prepared>;

export interface PrepareOptions {
  readonly env: Pick<Env, 'variables' | 'redactor'>;
  readonly parts: Parts;
  /** Of the machine; decides how many rows run at once by default. */
  readonly cpus: number;
  readonly readFile: (path: string, limitBytes: number) => Uint8Array;
  /** The server's default document as it is now: it may be reloaded. */
  readonly base?: () => JsonObject | undefined;
}

/** Name of a run whose submission and document give none. */
const UNNAMED = 'serve';

export function createPrepare(options: PrepareOptions): Prepare {
  const { variables, redactor } = options.env;
  const { parts, cpus, readFile } = options;
  return (submission) => {
    const given = submission.name ?? '';
    const base = options.base?.();
    const loaded = loadDocument(submission.config, {
      format: submission.config_format,
      origin: { kind: 'submitted' },
      variables,
      redactor,
      readFile,
      ...(base === undefined ? {} : { base }),
      name: given,
    });
    const isNamed = given !== '' || (typeof loaded.tree['name'] === 'string' && loaded.tree['name'] !== '');
    const plan = planDocument(isNamed ? loaded : { ...loaded, name: UNNAMED }, parts, { cpus });
    return { tree: loaded.tree, name: plan.name, isNamed, plan };
  };
}
