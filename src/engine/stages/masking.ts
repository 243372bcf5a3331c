import {
  maskingRulesFor,
  type LabelledRule,
  type MaskingConfig,
} from '../../blocks/masking/schema.ts';
import { ColumnBuilder, isExactInCells, valuesOf } from '../../kit/cells.ts';
import { mayNest, type Column, type Columns } from '../../kit/columns.ts';
import { plainJson, withoutHiddenMembers } from '../../lib/text/json-literal.ts';
import { setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { defineMetric } from '../../lib/metrics/metrics.ts';
import { compileAction, createDigests, keepingMasked } from './masking-actions.ts';
import { DETECT, DETECT_NUMBER } from './masking-detectors.ts';
import { createPlaces, type Place } from './masking-paths.ts';
import { maskingSchema } from './masking-schema.ts';
import { maskTexts } from './masking-texts.ts';
import type { Stage, StageContext } from './stage.ts';

export const MASKED_FIELDS = defineMetric({
  name: 'svc_masking_fields_total',
  type: 'counter',
  help: 'Values changed by a masking rule; `detector` is empty when the rule matched by name.',
  labels: ['pipeline', 'row', 'rule', 'action', 'detector'],
});

/** Told what a rule has changed. */
export type OnMasked = (rule: number, byDetector: boolean, values: number) => void;

/**
 * Gives copies in which everything is hidden that the rules name; the same value when there is
 * nothing.
 */
export interface Masker {
  record(record: JsonValue, onMasked: OnMasked): JsonValue;
  columns(columns: Columns, onMasked: OnMasked): Columns;
}

/** Never changes the record it is given: other sinks may see it with other rules. */
export function createMasker(
  labelled: readonly LabelledRule[],
  key: string | undefined,
  { keepsMasked = false }: { readonly keepsMasked?: boolean } = {},
): Masker {
  const rules = labelled.map(({ rule }) => rule);
  const digests = createDigests(key);
  const actions = rules.map(({ action }) => {
    const compiled = compileAction(action, digests);
    return keepsMasked ? keepingMasked(action, compiled) : compiled;
  });
  const detectors = rules.flatMap(({ match: { value_detector: name } }, index) =>
    name === undefined ? [] : [{ index, detects: DETECT[name] }],
  );
  const numberDetectors = rules.flatMap(({ match: { value_detector: name } }, index) => {
    const detects = name === undefined ? undefined : DETECT_NUMBER[name];
    return detects === undefined ? [] : [{ index, detects }];
  });
  const root = createPlaces(rules);
  const looksInside = rules.some(
    ({ match: { value_detector: detector, field_pattern: pattern, fields = [] } }) =>
      detector !== undefined || pattern !== undefined || fields.some((path) => path.includes('.')),
  );

  const numberDetectedBy = (value: number | bigint, before: number): number =>
    numberDetectors.find(({ index, detects }) => index < before && detects(value))?.index ??
    Infinity;

  const detectedBy = (value: JsonValue, before: number): number => {
    if (typeof value === 'number' || typeof value === 'bigint')
      return numberDetectors.length === 0 ? Infinity : numberDetectedBy(value, before);
    if (typeof value !== 'string') return Infinity;
    for (const { index, detects } of detectors) {
      if (index >= before) break;
      if (detects(value)) return index;
    }
    return Infinity;
  };

  const visit = (written: JsonValue, place: Place, onMasked: OnMasked): JsonValue => {
    const value = plainJson(written);
    const detected = detectedBy(value, place.named);
    const first = Math.min(detected, place.named);
    const act = actions[first];
    if (act !== undefined) {
      const masked = act.of(value);
      if (masked !== null || value !== null) onMasked(first, detected === first, 1);
      return masked;
    }
    if (typeof value !== 'object' || value === null) return written;
    const masked = Array.isArray(value)
      ? visitList(value, place, onMasked)
      : visitObject(value, place, onMasked);
    return masked === value && looksInside ? withoutHiddenMembers(value) : masked;
  };

  const visitList = (list: JsonValue[], place: Place, onMasked: OnMasked): JsonValue[] => {
    let copy: JsonValue[] | undefined;
    for (const [i, item] of list.entries()) {
      const masked = visit(item, place.below(i), onMasked);
      if (masked !== item) (copy ??= [...list])[i] = masked;
    }
    return copy ?? list;
  };

  const visitObject = (object: JsonObject, place: Place, onMasked: OnMasked): JsonObject => {
    let copy: JsonObject | undefined;
    for (const name of Object.keys(object)) {
      const value = object[name] as JsonValue;
      const masked = visit(value, place.below(name), onMasked);
      if (masked !== value) setField((copy ??= { ...object }), name, masked);
    }
    return copy ?? object;
  };

  const visitColumn = (
    columns: Columns,
    column: Column,
    { place, onMasked }: { place: Place; onMasked: OnMasked },
  ): Column => {
    const isDetected = detectors.some(({ index }) => index < place.named);
    const act = isDetected || mayNest(column) ? undefined : actions[place.named];
    if (act?.ofText !== undefined) {
      const masked = maskTexts(columns, column, act.ofText, act.spelling);
      if (masked.changed > 0) onMasked(place.named, false, masked.changed);
      return masked.column;
    }
    const read = valuesOf(columns, column);
    const builder = new ColumnBuilder(columns);
    for (const row of columns.rows) {
      const value = read(row);
      if (value === undefined) continue;
      const masked = visit(value, place, onMasked);
      if (masked === value) builder.copy(row, column);
      else builder.set(row, masked);
    }
    return builder;
  };

  const visitColumns = (columns: Columns, onMasked: OnMasked): Columns => {
    const masked = columns.columns.map((column, index) => {
      const place = root.below(columns.names[index] as string);
      const isMet = place.named !== Infinity || detectors.length > 0 || mayNest(column);
      return isMet ? visitColumn(columns, column, { place, onMasked }) : column;
    });
    return columns.changed({ columns: masked });
  };

  return { record: (record, onMasked) => visit(record, root, onMasked), columns: visitColumns };
}

/** Masking runs before everything else that looks at records, and never fails or diverts one. */
export function createMaskingStage(config: MaskingConfig, context: StageContext): Stage {
  const rules = maskingRulesFor(config, { preset: context.sinkPreset, type: context.sinkType });
  if (rules.length === 0) return { name: 'masking', run: () => {} };
  const mask = createMasker(rules, config.key, { keepsMasked: context.replays === true });
  const needsRecords = rules.some(
    ({ rule: { action } }) => action.type === 'redact' && !isExactInCells(action.mask),
  );
  return {
    name: 'masking',
    schemaAfter: maskingSchema(rules),
    run(page) {
      const named = rules.map(() => 0);
      const detected = rules.map(() => 0);
      const count: OnMasked = (rule, byDetector, values) => {
        const counts = byDetector ? detected : named;
        counts[rule] = (counts[rule] ?? 0) + values;
      };
      const columns = needsRecords ? undefined : page.columns;
      if (columns === undefined)
        page.records = page.records.map((record) => mask.record(record, count));
      else page.columns = mask.columns(columns, count);
      for (const [i, labelled] of rules.entries()) {
        report(context, labelled, '', named[i] ?? 0);
        report(context, labelled, labelled.rule.match.value_detector ?? '', detected[i] ?? 0);
      }
    },
  };
}

function report(
  { env, pipeline, row }: StageContext,
  { label, rule }: LabelledRule,
  detector: string,
  count: number,
): void {
  if (count > 0)
    env.metrics.inc(
      MASKED_FIELDS,
      { pipeline, row, rule: label, action: rule.action.type, detector },
      count,
    );
}
