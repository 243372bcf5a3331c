import type { ErrorObject, ValidateFunction } from 'ajv';
import { isObject, parseWith, stringifyJson, type JsonValue } from '../../../lib/text/json.ts';

/** Why a value does not fit; `undefined` when it does. */
export type Validator = (value: JsonValue) => string | undefined;

export async function validatorOf(schema: JsonValue): Promise<Validator> {
  const dialect = isObject(schema) ? schema['$schema'] : undefined;
  const isNew = typeof dialect === 'string' && /2019-09|2020-12/.test(dialect);
  const { default: library } = isNew ? await import('ajv/dist/2020.js') : await import('ajv');
  const Ajv = library as unknown as new (options: object) => {
    compile(schema: object | boolean): ValidateFunction;
  };
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(
    typeof schema === 'boolean' ? schema : (schema as object),
  );
  return (value) => {
    // Numbers as the library knows them.
    if (validate(parseWith(stringifyJson(value), undefined))) return undefined;
    const [first] = validate.errors ?? [];
    return first === undefined ? 'it does not fit' : faultOf(first);
  };
}

function faultOf({ instancePath, message = 'does not fit' }: ErrorObject): string {
  return `${instancePath === '' ? 'the value' : `\`${instancePath}\``} ${message}`;
}
