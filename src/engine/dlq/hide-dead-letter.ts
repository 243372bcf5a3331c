/** Masks what a queue of dead letters must not show although the sink may. */
import { blockOf } from '../../blocks/define-block.ts';
import { maskingBlock } from '../../blocks/masking/index.ts';
import {
  maskingRulesBeside,
  maskingRulesFor,
  type LabelledRule,
  type MaskingConfig,
} from '../../blocks/masking/schema.ts';
import type { PlannedRow, PlannedTransform } from '../../plan/plan.ts';
import { isObject } from '../../lib/text/json.ts';
import { createMasker } from '../stages/masking.ts';
import type { DeadRecord } from '../stages/stage.ts';
import { hideAll, hideValues, maskRenamed, type HideRecord } from '../stages/hide-masked.ts';

export type HideDeadLetter = (dead: DeadRecord) => DeadRecord;

/** `undefined` when every rule has masked the record already. */
export function deadLetterMaskOf(
  row: Pick<PlannedRow, 'blocks' | 'sink' | 'transforms'>,
): HideDeadLetter | undefined {
  const masking = blockOf(row, maskingBlock);
  if (masking === undefined) return undefined;
  const maskRest = maskWith(masking, maskingRulesBeside(masking, row.sink));
  const maskAll = maskAsRead(row, maskWith(masking, maskingRulesFor(masking)));
  // Records that the source or a transform puts aside never came as far as masking.
  return (dead) => {
    const isAsRead = dead.reason === 'transform' || dead.reason === 'parse';
    const safe = hidden(dead, isAsRead ? maskAll : maskRest);
    if (safe.original === undefined || safe.isOriginalHidden === true) return safe;
    return { ...safe, original: maskAll(safe.original) };
  };
}

/**
 * For a node of a graph, whose records pass `transforms` on their way to the sinks, and are masked
 * there; where these are not known, all is hidden.
 */
export function nodeMaskOf(
  row: Pick<PlannedRow, 'blocks'>,
  transforms: readonly PlannedTransform[] | undefined,
): HideRecord | undefined {
  const masking = blockOf(row, maskingBlock);
  if (masking === undefined) return undefined;
  const maskAll = maskWith(masking, maskingRulesFor(masking));
  return transforms === undefined ? hideAll : maskAsRead({ transforms }, maskAll);
}

function maskWith({ key }: MaskingConfig, rules: readonly LabelledRule[]): HideRecord {
  const masker = createMasker(rules, key);
  return (record) => masker.record(record, () => {});
}

/** Hides in a dead letter what `mask` hides in its payload. */
export function hiddenWith(mask: HideRecord): HideDeadLetter {
  return (dead) => hidden(dead, mask);
}

function hidden(dead: DeadRecord, mask: HideRecord): DeadRecord {
  if (dead.reason === 'parse' && !isObject(dead.payload)) return withoutText(dead);
  const payload = mask(dead.payload);
  if (payload === dead.payload) return dead;
  // The reason may quote a value.
  const { text } = hideValues(mask, [dead.payload]);
  return { ...dead, payload, message: text(dead.message) };
}

/** Nobody knows which part of a text is the field that a rule hides. */
function withoutText(dead: DeadRecord): DeadRecord {
  const { unread } = dead;
  return {
    ...dead,
    payload: hideAll(dead.payload),
    ...(unread === undefined ? {} : { unread: { ...unread, base64: undefined } }),
  };
}

/** Whether every field has the name behind it that it had before, or is gone. */
export function keepsNames({ definition, judged, parsed }: PlannedTransform): boolean {
  const config = parsed ?? judged;
  return (
    config !== undefined &&
    ['identity', 'select', 'drop', 'add'].includes(definition.columns(config).kind)
  );
}

/** For records with the names that the source gives; where transforms lose them, all is hidden. */
function maskAsRead({ transforms }: Pick<PlannedRow, 'transforms'>, mask: HideRecord): HideRecord {
  const names = new Map<string, string>();
  for (const { definition, judged, parsed } of transforms) {
    const config = parsed ?? judged;
    const flow = config === undefined ? { kind: 'opaque' as const } : definition.columns(config);
    if (flow.kind === 'opaque' || flow.kind === 'derive') return hideAll;
    if (flow.kind !== 'rename') continue;
    for (const [name, later] of names) names.set(name, flow.fields[later] ?? later);
    for (const [name, later] of Object.entries(flow.fields))
      if (!names.has(name)) names.set(name, later);
  }
  return names.size === 0 ? mask : (record) => mask(maskRenamed(mask, names)(record));
}
