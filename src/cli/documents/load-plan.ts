/** From a file to a plan, the way every command that works on a document goes. */
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { Binding } from '../../document/params/bind-params.ts';
import { hasField, isObject, stringifyJson } from '../../lib/text/json.ts';
import type { Parts } from '../../kit/parts.ts';
import type { Document } from '../../document/document.ts';
import { secretAsker, type AskSecrets } from '../../document/tokens/ask-secrets.ts';
import {
  loadDocumentFile,
  loadFileWithSecrets,
  loadWithSecrets,
  type FileOptions,
} from '../../document/load.ts';
import type { ReadFile } from '../../document/text/file-text.ts';
import { canonicalPaths, localFiles } from '../../document/text/local-file.ts';
import type { Plan } from '../../plan/plan.ts';
import { loadToPlan } from '../../plan/load-to-plan.ts';
import { planDocument, type PlanOptions } from '../../plan/plan-document.ts';
import { configFile } from '../framework/config-file.ts';
import type { CliContext } from '../framework/context.ts';
import { completionOf, type DOCUMENT_OPTIONS } from './document-options.ts';
import { usageError } from '../framework/exit.ts';
import type { Values } from '../framework/option.ts';
import { reportIssue } from '../framework/report-error.ts';
import type { SELECTION_OPTIONS } from '../framework/shared-options.ts';

export interface LoadRequest {
  /** As named on the command line. */
  readonly config: string | undefined;
  readonly selection?: Values<typeof SELECTION_OPTIONS>;
  /** Profile and parameters. */
  readonly completion?: Values<typeof DOCUMENT_OPTIONS>;
  /**
   * Whether parameters that nobody supplied may be stood in for, because nothing is going to run.
   */
  readonly onlyChecked?: boolean;
  /** The tokens of backfills stay as they are; they do where the document is only checked, too. */
  readonly backfill?: 'kept';
  /**
   * Leaves the tokens of secrets managers as they are: nothing is contacted, and nothing can run.
   */
  readonly keepSecrets?: boolean;
  /** Hears which secrets were asked for, by token; once each. */
  readonly onSecret?: (token: string) => void;
  /** The document itself, where it stands in no file. */
  readonly given?: GivenDocument;
  /** The document is made of environment variables. */
  readonly fromEnv?: boolean;
  /** Folder of a file state store, for documents that name none. */
  readonly statePath?: string | undefined;
  /** A text that stands for that of a file, which is not written yet. */
  readonly replaced?: { readonly file: string; readonly text: string };
  /** Hears which files were read: the document, and what it extends, includes or quotes. */
  readonly onFile?: (file: string) => void;
  /** What of it is planned, where that is not the whole. */
  readonly adapt?: (document: Document, parts: Parts) => Document;
}

export interface GivenDocument {
  /** How messages call it. */
  readonly name: string;
  readonly text: string;
  readonly format: 'yaml' | 'json';
  readonly binding?: Binding;
}

export interface Loaded {
  readonly file: string;
  readonly document: Document;
  readonly plan: Plan;
  readonly parts: Parts;
}

/** Throws `ConfigError`. Doubts are printed as warnings. */
export async function loadPlan(context: CliContext, request: LoadRequest): Promise<Loaded> {
  const { env, terminal, world, wiring } = context;
  const file =
    request.given?.name ??
    (request.fromEnv === true ? ENVIRONMENT : configFile(context, request.config));
  const parts = await wiring.parts();
  const options: FileOptions = {
    variables: env.variables,
    redactor: env.redactor,
    readFile: readingFiles(world.cwd, request),
    secretManagers: parts.secrets,
    canonicalPath: canonicalPaths(world.cwd),
    ...(request.completion === undefined ? {} : completionOf(request.completion, env.variables)),
    paramMode: request.onlyChecked === true ? 'placeholders' : 'strict',
  };
  const ask = reportingSecrets(secretAsker({ managers: parts.secrets, env }), request.onSecret);
  const planning: PlanOptions = {
    cpus: availableParallelism(),
    selection: request.selection ?? {},
    ...(request.onlyChecked === true || request.backfill === 'kept' ? { backfill: 'kept' } : {}),
  };
  const load = (): Document | Promise<Document> => {
    if (request.given !== undefined) return loadGiven(request.given, options, ask);
    if (request.fromEnv === true) return loadEnvironment(options, ask);
    return request.keepSecrets === true
      ? loadDocumentFile(file, { ...options, secrets: 'keep' })
      : loadFileWithSecrets(file, options, ask);
  };
  const read = await loadToPlan(load, parts, planning);
  const stored = request.statePath === undefined ? read : withState(read, request.statePath);
  const document = request.adapt?.(stored, parts) ?? stored;
  const plan = planDocument(document, parts, planning);
  for (const warning of plan.warnings)
    reportIssue(warning, 'warning', { terminal, cwd: world.cwd, document: context.document() });
  return { file, document, plan, parts };
}

function readingFiles(cwd: string, { replaced, onFile }: LoadRequest): ReadFile {
  const read = localFiles(cwd);
  if (replaced === undefined && onFile === undefined) return read;
  return (file, limit) => {
    const absolute = resolve(cwd, file);
    onFile?.(absolute);
    return absolute === replaced?.file ? Buffer.from(replaced.text) : read(file, limit);
  };
}

/** How the document is called that consists of environment variables. */
const ENVIRONMENT = 'environment';

function loadGiven(
  { text, format, binding }: GivenDocument,
  options: FileOptions,
  ask: AskSecrets,
): Promise<Document> {
  return loadWithSecrets(
    text,
    { ...options, ...binding, format, origin: { kind: 'submitted' } },
    ask,
  );
}

async function loadEnvironment(options: FileOptions, ask: AskSecrets): Promise<Document> {
  const { documentFromEnv } = await import('../../document/compose/env-document.ts');
  const { tree, values } = documentFromEnv(options.variables);
  for (const value of values) options.redactor.register(value);
  return loadWithSecrets(
    stringifyJson(tree, 2),
    { ...options, format: 'json', origin: { kind: 'file', path: ENVIRONMENT } },
    ask,
  );
}

function reportingSecrets(
  ask: AskSecrets,
  onSecret: ((token: string) => void) | undefined,
): AskSecrets {
  if (onSecret === undefined) return ask;
  return async (wanted) => {
    const answers = await ask(wanted);
    for (const { token } of wanted) if (answers.get(token)?.ok === true) onSecret(token);
    return answers;
  };
}

function withState(document: Document, folder: string): Document {
  const pipeline = document.tree['pipeline'];
  if (!isObject(pipeline)) return document;
  if (hasField(pipeline, 'state') && pipeline['state'] !== null) {
    throw usageError(
      '--state-path is for documents without a state store; this one names its own',
      'leave the option out, or remove `pipeline.state`',
    );
  }
  const state = { type: 'file', config: { path: folder } };
  return { ...document, tree: { ...document.tree, pipeline: { ...pipeline, state } } };
}
