import {
  hasContractType,
  type ContractConfig,
  type ContractField,
} from '../../blocks/contract/schema.ts';
import { hasField, isObject, type JsonValue } from '../../lib/text/json.ts';
import { re2js } from '../../lib/lazy.ts';
import { memberOf } from '../../lib/member-of.ts';
import { hasLength } from './quality-values.ts';

export type ContractRule =
  | 'missing'
  | 'null'
  | 'type'
  | 'enum'
  | 'pattern'
  | 'range'
  | 'length'
  | 'extra_field'
  | 'not_object';

/** The first promise a record breaks. The sentence names field and rule and holds no data. */
export interface Breach {
  /** Empty when the record is not an object. */
  readonly field: string;
  readonly rule: ContractRule;
  readonly message: string;
}

/**
 * The first breach of a record, or `undefined`: listed fields in order, then fields that are not
 * listed.
 */
export function compileContract(config: ContractConfig): (record: JsonValue) => Breach | undefined {
  const checks = config.fields.map(compileField);
  const listed = new Set(config.fields.map(({ name }) => name));
  const notObject = breach('', 'not_object', 'the record is not an object');
  const extraIn = (record: object): Breach | undefined => {
    const extra = Object.keys(record).find((name) => !listed.has(name));
    return extra === undefined ? undefined : extraField(extra);
  };
  return (record) => {
    if (!isObject(record)) return notObject;
    for (const { name, required, missing, check } of checks) {
      const value = hasField(record, name) ? record[name] : undefined;
      const found = value === undefined ? (required ? missing : undefined) : check(value);
      if (found !== undefined) return found;
    }
    return config.allow_extra_fields ? undefined : extraIn(record);
  };
}

export function extraField(name: string): Breach {
  return breach(name, 'extra_field', `\`${name}\` is not part of the contract`);
}

function breach(field: string, rule: ContractRule, sentence: string): Breach {
  return Object.freeze({ field, rule, message: `${sentence} (${rule})` });
}

export interface FieldCheck {
  readonly name: string;
  readonly required: boolean;
  readonly missing: Breach;
  readonly check: (value: JsonValue) => Breach | undefined;
}

export function compileField(field: ContractField): FieldCheck {
  const { name, required, nullable, type } = field;
  const because = (rule: ContractRule, demand: string): Breach =>
    breach(name, rule, `\`${name}\` ${demand}`);
  const isNull = because('null', 'must not be null');
  const wrongType = because('type', `must be of type ${type}`);
  const constraints = constraintsOf(field, because);
  return {
    name,
    required,
    missing: because('missing', 'is missing'),
    check(value) {
      if (value === null) return nullable ? undefined : isNull;
      if (!hasContractType(value, type)) return wrongType;
      for (const { holds, broken } of constraints) {
        if (!holds(value)) return broken;
      }
      return undefined;
    },
  };
}

interface Constraint {
  /** The value has the type of the field. */
  readonly holds: (value: JsonValue) => boolean;
  readonly broken: Breach;
}

/** In the order in which they are checked. */
function constraintsOf(
  field: ContractField,
  because: (rule: ContractRule, demand: string) => Breach,
): Constraint[] {
  const constraints: Constraint[] = [];
  if (field.enum !== undefined) {
    constraints.push({
      holds: memberOf(field.enum),
      broken: because('enum', 'must be one of the listed values'),
    });
  }
  if (field.pattern !== undefined) {
    const pattern = re2js().RE2JS.compile(field.pattern);
    constraints.push({
      holds: (value) => pattern.test(value as string),
      broken: because('pattern', `must match \`${field.pattern}\``),
    });
  }
  if (field.min !== undefined || field.max !== undefined) {
    const { min = -Infinity, max = Infinity } = field;
    const holds = (value: JsonValue): boolean =>
      (value as number | bigint) >= min && (value as number | bigint) <= max;
    constraints.push({
      holds,
      broken: because('range', `must be ${boundsText(field.min, field.max)}`),
    });
  }
  if (field.min_length !== undefined || field.max_length !== undefined) {
    const { min_length: min = 0, max_length: max = Infinity } = field;
    const broken = because(
      'length',
      `must have ${boundsText(field.min_length, field.max_length)} characters`,
    );
    constraints.push({ holds: (value) => hasLength(value as string, min, max), broken });
  }
  return constraints;
}

function boundsText(min: number | undefined, max: number | undefined): string {
  if (max === undefined) return `at least ${min}`;
  return min === undefined ? `at most ${max}` : `${min} to ${max}`;
}
