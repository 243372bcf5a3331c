/** Rows with their templates, layers and inherited blocks settled; parts are not looked up yet. */
import { hasField, isObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import { joinPath } from '../lib/text-path.ts';
import type { Delivery } from '../document/blocks/delivery.ts';
import type { DlqSpec } from '../document/blocks/dlq.ts';
import type { SlaConfig } from '../document/blocks/sla.ts';
import type { RowStatus, SourceSpec } from '../document/blocks/source.ts';
import type { StateSpec } from '../document/blocks/state.ts';
import type { TransformSpec } from '../document/blocks/transform.ts';
import { mergeTrees } from '../document/merge.ts';
import type { Blocks, Placed, PlacedRow, Templates } from '../document/read-blocks.ts';
import { stepsOf } from '../document/steps.ts';
import type { IssueList } from './issue-list.ts';
import { readLinks } from './row-graph.ts';

/** A connector as a row uses it. */
export interface PartDraft {
  /** Where the row says something about it, or else where its template stands. */
  readonly path: string;
  readonly template: string;
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

export interface RowDraft {
  readonly id: string;
  readonly index: number;
  readonly path: string;
  readonly parent: { readonly row: string; readonly key: string } | undefined;
  readonly dependsOn: readonly string[];
  readonly source: PartDraft | undefined;
  readonly sink: PartDraft | undefined;
  readonly transforms: readonly Placed<TransformSpec>[];
  readonly state: Placed<StateSpec> | undefined;
  readonly dlq: Placed<DlqSpec> | undefined;
  readonly sla: Placed<SlaConfig> | undefined;
  readonly delivery: Delivery;
  readonly deliveryPath: string;
  readonly weight: number | undefined;
  readonly tags: readonly string[];
  readonly status: RowStatus;
}

const IMPLICIT_ROW: PlacedRow = { path: '', index: 0, spec: {} };

export function draftRows(blocks: Blocks, issues: IssueList): RowDraft[] {
  const rows = blocks.matrix ?? [IMPLICIT_ROW];
  const links = readLinks(rows, issues);
  return rows.map((row, index) => {
    const { pipeline } = blocks;
    const { spec, path } = row;
    const link = links[index];
    const ref = spec.source?.ref ?? 'default';
    const template = pipeline.sources.get(ref)?.value;
    return {
      id: link?.id ?? '',
      index: row.index,
      path,
      parent: link?.parent === undefined ? undefined : { row: link.parent, key: spec.parent_key ?? 'id' },
      dependsOn: link?.dependsOn ?? [],
      source: draftPart({ role: 'source', own: spec.source, templates: pipeline.sources, path, present: pipeline.present }, issues),
      sink: draftPart({ role: 'sink', own: spec.sink, templates: pipeline.sinks, path, present: pipeline.present }, issues),
      transforms: layerTransforms(pipeline.transforms, pipeline.sources.get(ref), row),
      state: inherit(spec.state, joinPath(path, 'state'), pipeline.state),
      dlq: inherit(spec.dlq, joinPath(path, 'dlq'), pipeline.dlq),
      sla: inherit(spec.sla, joinPath(path, 'sla'), blocks.sla),
      delivery: spec.delivery ?? blocks.delivery ?? 'at_least_once',
      deliveryPath: spec.delivery === undefined ? 'delivery' : joinPath(path, 'delivery'),
      weight: spec.weight,
      tags: [...new Set([...(template?.tags ?? []), ...(spec.tags ?? [])])],
      status: spec.source?.status ?? template?.status ?? 'active',
    };
  });
}

/** Absent inherits, null means none, a value replaces. */
function inherit<T>(own: T | null | undefined, path: string, above: Placed<T> | undefined): Placed<T> | undefined {
  if (own === undefined) return above;
  return own === null ? undefined : { path, value: own };
}

/** Pipeline, then source template, then row; `inherit_transforms: false` drops every layer above. */
function layerTransforms(
  pipeline: readonly Placed<TransformSpec>[],
  template: Placed<SourceSpec> | undefined,
  row: PlacedRow,
): readonly Placed<TransformSpec>[] {
  const own = placedList(row.spec.transforms, joinPath(row.path, 'transforms'));
  if (row.spec.inherit_transforms === false) return own;
  const middle = template === undefined ? [] : placedList(template.value.transforms, joinPath(template.path, 'transforms'));
  return template?.value.inherit_transforms === false ? [...middle, ...own] : [...pipeline, ...middle, ...own];
}

function placedList(list: readonly TransformSpec[] | undefined, path: string): Placed<TransformSpec>[] {
  return (list ?? []).map((value, index) => ({ path: joinPath(path, index), value }));
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
  readonly templates: Templates<Spec>;
  /** Path of the row. */
  readonly path: string;
  readonly present: boolean;
}

function draftPart({ role, own, templates, path: rowPath, present }: Wanted, issues: IssueList): PartDraft | undefined {
  const name = own?.ref ?? 'default';
  const ownPath = joinPath(rowPath, role);
  const ownLayer = own === undefined ? [] : [{ path: ownPath, config: own.config ?? {} }];
  if (!templates.has(name)) {
    if (own?.ref === undefined && own?.type !== undefined) {
      const config = own.config ?? {};
      return { path: ownPath, template: name, type: own.type, typePath: joinPath(ownPath, 'type'), config, layers: ownLayer };
    }
    reportMissing({ role, ref: own?.ref, names: [...templates.keys()], rowPath, present }, issues);
    return undefined;
  }
  const template = templates.get(name);
  if (template === undefined) return undefined;
  const base = template.value.config ?? {};
  return {
    path: own === undefined ? template.path : ownPath,
    template: name,
    type: own?.type ?? template.value.type,
    typePath: joinPath(own?.type === undefined ? template.path : ownPath, 'type'),
    config: own?.config === undefined ? base : mergeTrees(base, own.config),
    layers: [...ownLayer, { path: template.path, config: base }],
  };
}

interface Missing {
  readonly role: 'source' | 'sink';
  readonly ref: string | undefined;
  readonly names: readonly string[];
  readonly rowPath: string;
  /** Without a pipeline there is nothing to say about its parts. */
  readonly present: boolean;
}

function reportMissing({ role, ref, names, rowPath, present }: Missing, issues: IssueList): void {
  if (ref !== undefined) {
    const hint = issues.hintFor(ref, names) ?? `declare it under \`pipeline.${role}s\``;
    issues.error('unknown_template', joinPath(rowPath, role, 'ref'), `there is no ${role} template \`${ref}\``, hint);
  } else if (rowPath === '') {
    if (!present) return;
    issues.error('missing_key', 'pipeline', `\`pipeline.${role}\` is required`, `give it a \`type\` and a \`config\``);
  } else {
    const hint = `declare \`pipeline.${role}\`, or name a template of \`pipeline.${role}s\` with \`ref\``;
    issues.error('missing_template', rowPath, `the row has no ${role}: it names no template and there is no default one`, hint);
  }
}

/** Where something inside a config was written: the layer that holds most of the way to it. */
export function placeInConfig(draft: Pick<PartDraft, 'path' | 'layers'>, relative: string): string {
  const steps = stepsOf(relative);
  let best = draft.path;
  let bestDepth = 0;
  for (const layer of draft.layers) {
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
