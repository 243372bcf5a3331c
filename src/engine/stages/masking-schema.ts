/** What masking makes of the types of fields. */
import type { LabelledRule } from '../../blocks/masking/schema.ts';
import {
  forgetFields,
  mapFields,
  typeOfConstant,
  type RecordField,
} from '../../kit/record-schema.ts';
import { createPlaces } from './masking-paths.ts';
import type { SchemaChange } from './page-schema.ts';

export function maskingSchema(labelled: readonly LabelledRule[]): SchemaChange {
  const rules = labelled.map(({ rule }) => rule);
  const root = createPlaces(rules);
  const detectors = new Set(rules.flatMap(({ match }) => match.value_detector ?? []));
  return (input) => {
    const unknown: string[] = [];
    const known = mapFields(input, (field) => {
      const rule = rules[root.below(field.name).named];
      const masked = rule === undefined ? detected(field, detectors) : named(field, rule.action);
      if (masked === undefined) unknown.push(field.name);
      return masked;
    });
    return unknown.length === 0 ? known : forgetFields(known, unknown);
  };
}

type Action = LabelledRule['rule']['action'];

/** Every scalar becomes a text, in containers too. */
function named({ name, type, nullable }: RecordField, action: Action): RecordField | undefined {
  if (action.type === 'redact') {
    const mask = typeOfConstant(action.mask);
    return mask === undefined ? undefined : { name, type: mask, nullable: false };
  }
  if (type.kind === 'list' || type.kind === 'struct' || type.kind === 'map')
    return { name, type: { kind: 'json' }, nullable };
  return { name, type: type.kind === 'json' ? type : { kind: 'utf8' }, nullable };
}

const NUMBER_DETECTOR = 'credit_card';

/** Any text may be of the kind that a detector looks for. */
function detected(field: RecordField, detectors: ReadonlySet<string>): RecordField | undefined {
  if (detectors.size === 0) return field;
  const { name, type, nullable } = field;
  if (type.kind === 'utf8' || type.kind === 'decimal')
    return { name, type: { kind: 'utf8' }, nullable };
  const isInteger = /^u?int/.test(type.kind);
  return isInteger && detectors.has(NUMBER_DETECTOR) ? undefined : field;
}
