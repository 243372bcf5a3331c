/** What has to be done so that the registry has what an origin has. Nothing is done here. */
import { basename, extname } from 'node:path';
import { hash } from 'node:crypto';
import { z } from 'zod';
import { parseText } from '../../../document/parse/parse.ts';
import { messageOf } from '../../../lib/errors.ts';
import { canonicalJson } from '../../../lib/text/json.ts';
import type { SyncPlanItem } from '../../../wire/templates.ts';
import { readTemplate, type TemplateText } from '../documents/read.ts';
import { idOfText } from '../deployment.ts';
import type { Templates } from '../templates.ts';
import type { OriginFile, UnreadFile } from './origin.ts';
import type { OriginSettings } from './origins-file.ts';

/** An item of the plan, with what carrying it out needs. */
export interface PlannedItem extends SyncPlanItem {
  readonly text?: TemplateText;
}

const sidecarSchema = z.strictObject({
  description: z.string().optional(),
  launch: z.boolean().optional(),
  tags: z.array(z.string()).optional(),
});
type Sidecar = z.output<typeof sidecarSchema>;

interface Wanted {
  readonly id: string;
  readonly name: string;
  readonly text: TemplateText;
  readonly sidecar: Sidecar;
}

export type Known = Pick<Templates, 'list' | 'get'>;
type Detail = Awaited<ReturnType<Known['get']>>;

export async function planSync(
  { prefix, launch, prune, name: origin }: OriginSettings,
  files: readonly (OriginFile | UnreadFile)[],
  registry: Known,
): Promise<readonly PlannedItem[]> {
  const { wanted, skipped, unread } = readAll(files, prefix);
  const known = new Map((await registry.list(undefined)).map((one) => [one.id, one]));
  const items: PlannedItem[] = [];
  for (const file of wanted) {
    const state = known.get(file.id);
    const isBack = state?.deprecation?.reason === goneFrom(origin);
    // Whoever deprecated it by hand revives it; until then its versions are collected.
    const isOpen = isBack || state?.status !== 'deprecated';
    const launches =
      isOpen && (launch === 'always' || (launch === 'follow' && file.sidecar.launch === true));
    if (state === undefined) {
      items.push(registerItem(file, { version: 1, launches }));
      continue;
    }
    if (isBack) items.push({ action: 'revive', id: file.id, name: file.name });
    const newest = await registry.get(file.id, state.versions[0]);
    if (isSame(newest, file.text)) {
      if (launches && !isDecided(newest))
        items.push({
          action: 'launch',
          id: file.id,
          name: file.name,
          version: newest.version,
          ...(state.stable === null ? {} : { replaces: state.stable }),
        });
      else
        items.push({ action: 'unchanged', id: file.id, name: file.name, version: newest.version });
      continue;
    }
    const version = newest.version + 1;
    items.push(registerItem(file, { version, launches, replaces: state.stable }));
  }
  const ids = new Set(wanted.map(({ id }) => id));
  const orphans = [...known.values()]
    .filter(({ id, status }) => id.startsWith(prefix) && !ids.has(id) && status !== 'deprecated')
    .map(({ id }) => id)
    .sort();
  const [mayHold] = unread;
  const gone =
    mayHold === undefined
      ? {
          action: prune === 'deprecate' ? ('deprecate' as const) : ('orphaned' as const),
          reason: goneFrom(origin),
        }
      : {
          action: 'orphaned' as const,
          reason: `no file of the origin ${origin} has it, but ${mayHold} cannot be read and may hold it`,
        };
  return [...items, ...orphans.map((id): PlannedItem => ({ ...gone, id })), ...skipped];
}

/**
 * Whether it was launched or deprecated before. Only new versions are launched: one that somebody
 * rolled back or deprecated stays so while its origin has it.
 */
function isDecided({ version, launches, deprecated_versions: deprecated = [] }: Detail): boolean {
  return [...launches, ...deprecated].some((decision) => decision.version === version);
}

/** Why a template of the registry is deprecated when its origin does not have it any more. */
export function goneFrom(origin: string): string {
  return `it is gone from the origin ${origin}`;
}

function registerItem(
  { id, name, text, sidecar }: Wanted,
  {
    version,
    launches,
    replaces = null,
  }: { readonly version: number; readonly launches: boolean; readonly replaces?: number | null },
): PlannedItem {
  return {
    action: 'register',
    id,
    name,
    version,
    launch: launches,
    ...(launches && replaces !== null ? { replaces } : {}),
    ...(sidecar.description === undefined ? {} : { description: sidecar.description }),
    ...(sidecar.tags === undefined ? {} : { tags: sidecar.tags }),
    text,
  };
}

interface ReadFiles {
  readonly wanted: readonly Wanted[];
  readonly skipped: readonly PlannedItem[];
  /** Names of files of which nobody knows which template they hold. */
  readonly unread: readonly string[];
}

/** Files that are no template of the origin are left out, each with its reason. */
function readAll(files: readonly (OriginFile | UnreadFile)[], prefix: string): ReadFiles {
  const wanted = new Map<string, Wanted>();
  const skipped: PlannedItem[] = [];
  const unread: string[] = [];
  for (const file of files) {
    const skip = (reason: string): void =>
      void skipped.push({ action: 'skipped', name: file.name, reason });
    try {
      if ('fault' in file) throw new Error(file.fault);
      const id = idIn(prefix, file);
      const first = wanted.get(id);
      if (!id.startsWith(prefix)) skip(`its id \`${id}\` does not begin with \`${prefix}\``);
      else if (first !== undefined) skip(`its id \`${id}\` is that of ${first.name}, too`);
      else wanted.set(id, { id, name: file.name, text: file.text, sidecar: sidecarOf(file) });
    } catch (error) {
      unread.push(file.name);
      skip(messageOf(error));
    }
  }
  return { wanted: [...wanted.values()], skipped, unread };
}

/** Templates with an owner have an id of their own; others are put below the prefix. */
export function idIn(prefix: string, { name, text }: OriginFile): string {
  const own = idOfText(text, basename(name, extname(name)));
  return own.startsWith(prefix) || own.includes('/') ? own : `${prefix}${own}`;
}

function sidecarOf({ sidecar }: OriginFile): Sidecar {
  if (sidecar === undefined) return {};
  const { tree } = parseText(sidecar, 'yaml', { kind: 'submitted' });
  const parsed = sidecarSchema.safeParse(tree);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`the file beside it: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`);
}

function isSame(one: TemplateText, other: TemplateText): boolean {
  return one.body === other.body || canonicalHash(one) === canonicalHash(other);
}

/** Order of keys, comments and layout make no difference. */
function canonicalHash(text: TemplateText): string {
  return hash('sha256', canonicalJson(readTemplate(text).tree));
}
