/** From a document as it was sent to its plan, in the process that works with it. */
import { BLOCKS } from '../../blocks/index.ts';
import { loadWithSecrets, type LoadOptions } from '../../document/load.ts';
import type { Document } from '../../document/document.ts';
import type { Binding } from '../../document/params/bind-params.ts';
import { localFiles } from '../../document/text/local-file.ts';
import { secretAsker, type AskSecrets } from '../../document/tokens/ask-secrets.ts';
import type { Parts } from '../../kit/parts.ts';
import type { Env } from '../../lib/env.ts';
import { parseJson, type JsonObject } from '../../lib/text/json.ts';
import type { Plan } from '../../plan/plan.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { refuseFiles } from './refused-files.ts';
import type { Bound, SubmittedDocument } from '../../wire/submission.ts';

/** Name of a run whose submission and document give none. */
export const UNNAMED = 'serve';

export interface OpenOptions {
  /** Its redactor learns the secrets of the document. */
  readonly env: Pick<Env, 'variables' | 'variableAccess' | 'redactor' | 'fetch' | 'clock' | 'cwd'>;
  readonly parts: Parts;
  /** Of the machine; decides how many rows run at once by default. */
  readonly cpus: number;
}

/** How a document reaches what stands outside of it; by default as `env` says. */
export interface Outside {
  readonly variables: Env['variables'];
  readonly readFile: (path: string, limitBytes: number) => Uint8Array;
  readonly secretManagers: Parts['secrets'];
  readonly ask: AskSecrets;
}

/** For a document that is only looked at. */
export interface OnlyLookedAt {
  /** The tokens of secrets stay as they are. */
  readonly keepSecrets?: true;
  readonly paramMode?: 'placeholders';
  /** The blocks of the build, of which a submitted document cannot have all. */
  readonly blocks?: LoadOptions['blocks'];
}

export interface ReadDocument {
  readonly document: Document;
  /** False when neither the submission nor the document gives a name. */
  readonly isNamed: boolean;
}

export function outsideOf({ env, parts }: Pick<OpenOptions, 'env' | 'parts'>): Outside {
  return {
    variables: env.variables,
    readFile: localFiles(env.cwd),
    secretManagers: parts.secrets,
    ask: secretAsker({ managers: parts.secrets, env }),
  };
}

/** Throws `ConfigError`, whose stage decides the status. */
export async function readDocument(
  { config, config_format, name, base, bound }: SubmittedDocument,
  { redactor, variableAccess }: Pick<Env, 'redactor' | 'variableAccess'>,
  {
    variables,
    readFile,
    secretManagers,
    ask,
    unnamed = UNNAMED,
    ...looking
  }: Outside & OnlyLookedAt & { readonly unnamed?: string },
): Promise<ReadDocument> {
  const given = name ?? '';
  const { blocks = BLOCKS, ...shown } = looking;
  const options = {
    format: config_format,
    origin: { kind: 'submitted' as const },
    blocks,
    variables,
    ...(variableAccess === undefined ? {} : { variableAccess }),
    publicNames: true,
    redactor,
    readFile,
    secretManagers,
    ...(base === null ? {} : { base: parseJson(base) as JsonObject }),
    ...(bound === undefined ? {} : bindingOf(bound)),
    ...shown,
    name: given,
  };
  const loaded = await loadWithSecrets(config, options, ask);
  const { name: own } = loaded.tree;
  const isNamed = given !== '' || (typeof own === 'string' && own !== '');
  return { document: isNamed ? loaded : { ...loaded, name: unnamed }, isNamed };
}

function bindingOf({ params, env, params_are_data: paramsAreData }: Bound): Binding {
  return { params, paramEnv: env, ...(paramsAreData === undefined ? {} : { paramsAreData }) };
}

/** Throws `ConfigError`. With `backfill: 'kept'` the tokens of backfills stay. */
export async function openDocument(
  submitted: SubmittedDocument,
  options: OpenOptions,
  {
    unnamed = UNNAMED,
    adapt = (document) => document,
    ...planning
  }: {
    readonly backfill?: 'kept';
    readonly unnamed?: string;
    /** What of it is planned, where that is not the whole. */
    readonly adapt?: (document: Document, parts: Parts) => Document;
  } = {},
): Promise<Plan> {
  const outside = { ...outsideOf(options), unnamed };
  const { document: whole } = await readDocument(submitted, options.env, outside);
  const document = adapt(whole, options.parts);
  const plan = planDocument(document, options.parts, { cpus: options.cpus, ...planning });
  refuseFiles(plan, options.env.cwd, document.locate);
  return plan;
}
