/** What has to be done so that a registry holds the documents of some files, and runs them. */
import type { TemplateSummary } from '../../wire/templates.ts';
import type { Caller } from '../../runs/service/runs.ts';
import { idOf, readTemplate, type TemplateText } from './documents/read.ts';
import { checkId, slugOf } from './ids.ts';
import type { Templates } from './templates.ts';

export interface TemplateFile {
  readonly file: string;
  readonly id: string;
  readonly text: TemplateText;
}

/** One thing to do with a template, or nothing. */
export type DeployStep =
  | { readonly kind: 'create'; readonly id: string; readonly file: TemplateFile }
  | {
      readonly kind: 'change';
      readonly id: string;
      readonly file: TemplateFile;
      /** The launched version, and its document; null before the first launch. */
      readonly from: number | null;
      readonly before: string;
    }
  /** The newest version has this document, and is not launched. */
  | {
      readonly kind: 'launch';
      readonly id: string;
      readonly version: number;
      readonly from: number | null;
    }
  | { readonly kind: 'same'; readonly id: string; readonly version: number }
  /** No file has it. */
  | { readonly kind: 'delete'; readonly id: string };

/**
 * The id that a document is registered under; one without a name is called like its file. Throws
 * `ConfigError` or `RefusedError`.
 */
export function idOfText(text: TemplateText, stem: string): string {
  const document = readTemplate(text);
  const own = document.kind === 'pipeline' ? null : idOf(document.template);
  const { name } = document.tree;
  const named = typeof name === 'string' && name !== '' ? name : null;
  const given = own === null && named === null ? slugOf(stem) : undefined;
  return checkId(given, { kind: document.kind, id: own, name: named });
}

type Registry = Pick<Templates, 'list' | 'get' | 'register' | 'launch' | 'delete'>;

export interface DeployHow {
  /** New versions are registered and not launched. */
  readonly isDraft: boolean;
}

/** A step for each file, in their order, and then one for each template that no file has. */
export async function planDeployment(
  files: readonly TemplateFile[],
  registry: Pick<Registry, 'list' | 'get'>,
  how: DeployHow,
): Promise<readonly DeployStep[]> {
  const listed = new Map((await registry.list(undefined)).map((one) => [one.id, one]));
  const steps: DeployStep[] = [];
  for (const file of files) steps.push(await stepOf(file, { listed, registry, how }));
  const ids = new Set(files.map(({ id }) => id));
  const others = [...listed.keys()].filter((id) => !ids.has(id)).sort();
  return [...steps, ...others.map((id) => ({ kind: 'delete' as const, id }))];
}

async function stepOf(
  file: TemplateFile,
  {
    listed,
    registry,
    how,
  }: {
    readonly listed: ReadonlyMap<string, TemplateSummary>;
    readonly registry: Pick<Registry, 'get'>;
    readonly how: DeployHow;
  },
): Promise<DeployStep> {
  const { id, text } = file;
  const known = listed.get(id);
  if (known === undefined) return { kind: 'create', id, file };
  const [newestVersion = known.version] = known.versions;
  const newest = await registry.get(id, newestVersion);
  const stable =
    known.stable === null || known.stable === newestVersion
      ? newest
      : await registry.get(id, known.stable);
  const isSame = (version: { readonly body: string; readonly format: string }): boolean =>
    version.body === text.body && version.format === text.format;
  if (isSame(stable) && (known.stable !== null || how.isDraft))
    return { kind: 'same', id, version: stable.version };
  if (isSame(newest) && !known.deprecated_versions?.some((one) => one.version === newestVersion))
    return how.isDraft
      ? { kind: 'same', id, version: newestVersion }
      : { kind: 'launch', id, version: newestVersion, from: known.stable };
  return { kind: 'change', id, file, from: known.stable, before: stable.body };
}

/** The version that is there afterwards; undefined where the template is gone. */
export async function carryOut(
  step: DeployStep,
  registry: Omit<Registry, 'list' | 'get'>,
  {
    caller,
    signal,
    how,
  }: { readonly caller: Caller; readonly signal: AbortSignal; readonly how: DeployHow },
): Promise<number | undefined> {
  switch (step.kind) {
    case 'same':
      return step.version;
    case 'launch':
      return (await registry.launch(step.id, step.version, caller)).version;
    case 'delete':
      await registry.delete(step.id, undefined, caller);
      return undefined;
    case 'create':
    case 'change': {
      const { body, format } = step.file.text;
      const request = { id: step.id, config: body, config_format: format, launch: !how.isDraft };
      return (await registry.register(request, caller, signal)).version;
    }
    default:
      return step satisfies never;
  }
}
