/** What masking makes of the types of fields. */
import type { LabelledRule } from '../../blocks/masking/schema.ts';
import {
  forgetFields,
  isTextForm,
  mapFields,
  typeOfConstant,
  type RecordField,
  type RecordType,
} from '../../kit/record-schema.ts';
import { typeText } from '../../kit/type-text.ts';
import { canFindIn } from './masking-detectors.ts';
import { createPlaces, type Place } from './masking-paths.ts';
import type { SchemaChange } from './page-schema.ts';

type Rule = LabelledRule['rule'];
type Action = Rule['action'];

export function maskingSchema(labelled: readonly LabelledRule[]): SchemaChange {
  const rules = labelled.map(({ rule }) => rule);
  const root = createPlaces(rules);
  return (input) => {
    const unknown: string[] = [];
    const known = mapFields(input, (field) => {
      const masked = maskedField(field, { rules, path: field.name, place: root.below(field.name) });
      if (masked === undefined) unknown.push(field.name);
      return masked;
    });
    return unknown.length === 0 ? known : forgetFields(known, unknown);
  };
}

interface Where {
  readonly rules: readonly Rule[];
  readonly path: string;
  readonly place: Place;
}

function below({ rules, path, place }: Where, key: string | number): Where {
  return { rules, path: `${path}.${key}`, place: place.below(key) };
}

/** `undefined` where values of several types may be left in it. */
function maskedField(field: RecordField, where: Where): RecordField | undefined {
  const { name, type, nullable } = field;
  const { rules, place } = where;
  const named = rules[place.named]?.action;
  if (named === undefined && !isScalar(type)) return maskedInside(field, where);
  // The first rule wins, so that those behind the one that names the field find nothing.
  const found = rules
    .slice(0, place.named)
    .filter(({ match: { value_detector: detector } }) => canFindIn(detector, type))
    .map(({ action }) => action);
  if (named === undefined && found.length === 0) return field;
  const actions = named === undefined ? found : [named, ...found];
  const made = actions.filter((action) => !makesNull(action)).map((one) => afterAction(type, one));
  const left = commonType(named === undefined ? [type, ...made] : made);
  if (left === undefined) return undefined;
  const isAlwaysSet = named?.type === 'redact' && !actions.some(makesNull) && found.length === 0;
  return { name, type: left, nullable: !isAlwaysSet && (nullable || actions.some(makesNull)) };
}

function isScalar({ kind }: RecordType): boolean {
  return kind !== 'list' && kind !== 'struct' && kind !== 'map' && kind !== 'json';
}

function makesNull(action: Action): boolean {
  return action.type === 'redact' && action.mask === null;
}

/** Every scalar becomes a text, in containers too. */
function afterAction(type: RecordType, action: Action): RecordType | undefined {
  if (action.type === 'redact') return typeOfConstant(action.mask);
  return { kind: isScalar(type) ? 'utf8' : 'json' };
}

/** Types whose values are texts in a record have texts in common. */
function commonType(types: readonly (RecordType | undefined)[]): RecordType | undefined {
  const known = types.filter((type) => type !== undefined);
  const [first] = known;
  if (first === undefined || known.length < types.length) return undefined;
  if (known.every((type) => typeText(type) === typeText(first))) return first;
  return known.every(isTextForm) ? { kind: 'utf8' } : undefined;
}

/** Of a container that no rule names as a whole. */
function maskedInside(field: RecordField, where: Where): RecordField {
  const { name, type, nullable, inside } = field;
  const asDocument: RecordField = { name, type: { kind: 'json' }, nullable };
  switch (type.kind) {
    case 'struct': {
      const fields = type.fields.map((member) => maskedField(member, below(where, member.name)));
      if (fields.every((member, at) => member === type.fields[at])) return field;
      if (!fields.every((member) => member !== undefined)) return asDocument;
      return { name, type: { kind: 'struct', fields }, nullable };
    }
    case 'list':
      return staysBelow(where, 0, type.item) ? field : asDocument;
    case 'map':
      return staysBelow(where, '', type.value) ? field : asDocument;
    default: {
      if (inside === undefined) return field;
      const members = inside.map((member) => maskedField(member, below(where, member.name)));
      if (members.every((member, at) => member === inside[at])) return field;
      return { ...field, inside: members.filter((member) => member !== undefined) };
    }
  }
}

/** Whether the items keep their type: the one at `key`, and those that rules name one by one. */
function staysBelow(where: Where, key: string | number, type: RecordType): boolean {
  const begin = `${where.path}.`;
  const named = where.rules
    .flatMap(({ match: { fields = [] } }) => fields)
    .filter((path) => path.startsWith(begin))
    .map((path) => path.slice(begin.length).split('.')[0] as string);
  return [key, ...named].every((one) => {
    const item = { name: String(one), type, nullable: true };
    const masked = maskedField(item, below(where, one));
    return masked !== undefined && typeText(masked.type) === typeText(type);
  });
}
