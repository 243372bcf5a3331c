/** A part as a row uses it: its preset is settled, its definition is not looked up yet. */
import type { ZodType } from 'zod';
import type { BlockDefinition } from '../blocks/define-block.ts';
import type { Parts, Registry } from '../kit/parts.ts';
import { check } from '../kit/schema.ts';
import { hasField, isObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { joinPath } from '../lib/text/text-path.ts';
import { mergeTrees } from '../document/compose/merge.ts';
import type { ParsedBlocks, Placed, Presets } from '../document/parse/read-blocks.ts';
import { stepsOf } from '../document/parse/steps.ts';
import { restoreEscapes } from '../document/tokens/tokens.ts';
import type { IssueList } from './issue-list.ts';

/** A connector as a row uses it. */
export interface ResolvedPart {
  /** Where the row says something about it, or else where its preset stands. */
  readonly path: string;
  readonly preset: string;
  readonly type: string;
  readonly typePath: string;
  readonly config: JsonObject;
  /** Where the config was written, the row's own part first. */
  readonly layers: readonly ConfigLayer[];
}

export interface ConfigLayer {
  readonly path: string;
  readonly config: JsonObject;
}

/** What rows are resolved with. */
export interface Resolving {
  readonly blocks: ParsedBlocks;
  readonly definitions: readonly BlockDefinition[];
  readonly parts: Parts;
  readonly issues: IssueList;
}

/** A part without presets. */
export function plainPart({
  path,
  value,
}: Placed<{ readonly type: string; readonly config?: JsonObject | undefined }>): ResolvedPart {
  const config = value.config ?? {};
  return {
    path,
    preset: 'default',
    type: value.type,
    typePath: joinPath(path, 'type'),
    config,
    layers: [{ path, config }],
  };
}

interface Choice {
  readonly ref?: string | undefined;
  readonly type?: string | undefined;
  readonly config?: JsonObject | undefined;
}

type Spec = { readonly type: string; readonly config?: JsonObject | undefined };

interface Wanted {
  readonly role: 'source' | 'sink';
  readonly own: Choice | undefined;
  readonly presets: Presets<Spec>;
  readonly registry: Registry<{ readonly type: string; readonly config: ZodType }>;
  /** Path of the row. */
  readonly path: string;
  /** Path of the part, where that is not the row's `source` or `sink`: a node is a part itself. */
  readonly ownPath?: string;
  readonly present: boolean;
}

/** The part with its preset beneath it; what is missing is reported. */
export function resolvePart(wanted: Wanted, issues: IssueList): ResolvedPart | undefined {
  const { role, own, presets, path: rowPath, ownPath = joinPath(rowPath, role) } = wanted;
  const name = own?.ref ?? 'default';
  const ownLayer = own === undefined ? [] : [{ path: ownPath, config: own.config ?? {} }];
  if (!presets.has(name)) {
    if (own?.ref === undefined && own?.type !== undefined) {
      const config = own.config ?? {};
      return {
        path: ownPath,
        preset: name,
        type: own.type,
        typePath: joinPath(ownPath, 'type'),
        config,
        layers: ownLayer,
      };
    }
    reportMissing({ ...wanted, ownPath }, issues);
    return undefined;
  }
  const preset = presets.get(name);
  if (preset === undefined) return undefined;
  return {
    path: own === undefined ? preset.path : ownPath,
    preset: name,
    type: own?.type ?? preset.value.type,
    typePath: joinPath(own?.type === undefined ? preset.path : ownPath, 'type'),
    config: mergedConfig(preset, wanted, issues),
    layers: [...ownLayer, { path: preset.path, config: preset.value.config ?? {} }],
  };
}

/**
 * The config over that of the preset. Where a part is of another type, what that type does not
 * know cannot be meant for it.
 */
function mergedConfig(
  { path, value }: Placed<Spec>,
  { own, registry }: Wanted,
  issues: IssueList,
): JsonObject {
  const [base, over] = [value.config ?? {}, own?.config ?? {}];
  const merged = own?.config === undefined ? base : mergeTrees(base, over, 'settings');
  const definition = own?.type === undefined ? undefined : registry.get(own.type);
  if (definition === undefined || definition === registry.get(value.type)) return merged;
  const strange = unknownKeys(definition.config, merged).filter(
    (name) => hasField(base, name) && (over[name] ?? null) === null,
  );
  for (const name of strange) {
    if (hasField(over, name)) continue;
    const message = `\`${definition.type}\` has no \`${name}\`: where it stands for \`${value.type}\`, it goes without`;
    issues.warn('without_effect', joinPath(path, 'config', name), message);
  }
  return Object.fromEntries(Object.entries(merged).filter(([name]) => !strange.includes(name)));
}

function unknownKeys(schema: ZodType, config: JsonObject): string[] {
  const result = check(schema, restoreEscapes(config));
  const found = result.ok
    ? []
    : result.issues.filter(({ code }) => code === 'unknown_key').map(({ path }) => stepsOf(path));
  return found.flatMap(([key, ...below]) => (below.length === 0 ? [String(key)] : []));
}

function reportMissing(
  { role, own, presets, path: rowPath, ownPath, present }: Wanted & { ownPath: string },
  issues: IssueList,
): void {
  const ref = own?.ref;
  if (ref !== undefined) {
    const hint = issues.hintFor(ref, presets.keys()) ?? `declare it under \`pipeline.${role}s\``;
    issues.error(
      'unknown_template',
      joinPath(ownPath, 'ref'),
      `there is no ${role} preset \`${ref}\``,
      hint,
    );
  } else if (rowPath === '') {
    // Without a pipeline there is nothing to say about its parts.
    if (!present) return;
    const hint =
      presets.size === 0
        ? 'give it a `type` and a `config`'
        : `or give \`matrix\` rows that name a preset of \`pipeline.${role}s\` with \`ref\``;
    issues.error('missing_key', 'pipeline', `\`pipeline.${role}\` is required`, hint);
  } else {
    const hint = `declare \`pipeline.${role}\`, or name a preset of \`pipeline.${role}s\` with \`ref\``;
    const owner = ownPath === rowPath ? 'node' : 'row';
    issues.error(
      'missing_template',
      rowPath,
      `the ${owner} has no ${role}: it names no preset and there is no default one`,
      hint,
    );
  }
}

/** Where something inside a config was written: the layer that holds most of the way to it. */
export function placeInConfig(
  resolved: Pick<ResolvedPart, 'path' | 'layers'>,
  relative: string,
): string {
  const steps = stepsOf(relative);
  let best = resolved.path;
  let bestDepth = 0;
  for (const layer of resolved.layers) {
    const depth = depthOf(layer.config, steps);
    if (depth > bestDepth) {
      best = layer.path;
      bestDepth = depth;
    }
  }
  return joinPath(best, 'config', ...steps);
}

function depthOf(config: JsonObject, steps: readonly (string | number)[]): number {
  let at: JsonValue | undefined = config;
  for (const [depth, step] of steps.entries()) {
    if (Array.isArray(at)) at = at[Number(step)];
    else at = isObject(at) && hasField(at, String(step)) ? at[String(step)] : undefined;
    if (at === undefined) return depth;
  }
  return steps.length;
}
