/**
 * A document that consists of environment variables: `HEADGATE_SOURCE=csv`,
 * `HEADGATE_SOURCE_CSV_PATH=in.csv`, `HEADGATE_SINK=…`, and so on. Kinds are written in upper case
 * with `_` for `-`, fields in upper case; `<FIELD>_JSON` holds a value that is more than a scalar.
 * Each variable may also start with `SVC_`, as in the specification. In this file a variable is
 * named without its prefix.
 */
import { ConfigError, type Issue } from '../../lib/errors.ts';
import {
  hasField,
  jsonFault,
  jsonHint,
  parseJson,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

export interface EnvDocument {
  readonly tree: JsonObject;
  /** Texts that came from variables of parts: they may be secrets. */
  readonly values: readonly string[];
}

/** Throws `ConfigError` (stage `parse`) with every issue; each names the variable. */
export function documentFromEnv(variables: Variables): EnvDocument {
  const reader = new EnvReader(variables);
  const pipeline: JsonObject = {};
  for (const role of ['source', 'sink'] as const) {
    const named = reader.named(`${role.toUpperCase()}S_`);
    const one = reader.part(role.toUpperCase());
    if (one !== undefined) pipeline[role] = one;
    if (Object.keys(named).length > 0) pipeline[`${role}s`] = named;
    if (one === undefined && !hasField(named, 'default'))
      reader.missing(role.toUpperCase(), `the kind of the ${role}`);
  }
  const state = reader.part('STATE');
  const transforms = reader.transforms();
  if (state !== undefined) pipeline['state'] = state;
  if (transforms.length > 0) pipeline['transforms'] = transforms;
  const vars = reader.fields('VARS_');
  if (reader.issues.length > 0) throw new ConfigError(reader.issues, { stage: 'parse' });
  const tree: JsonObject = { version: 1, name: reader.text('NAME') ?? 'pipeline', pipeline };
  if (Object.keys(vars).length > 0) tree['vars'] = vars;
  return { tree, values: reader.values };
}

/** The variables that make up a document, by either prefix. */
const OWN =
  /^(?:HEADGATE|SVC)_((?:SOURCE|SINK|STATE|TRANSFORM)(?:_.*)?|(?:SOURCES|SINKS|VARS)_.*|NAME)$/s;
const JSON_SUFFIX = '_JSON';

class EnvReader {
  readonly issues: Issue[] = [];
  readonly values: string[] = [];
  readonly #variables: ReadonlyMap<string, string>;
  /** How each is written in the environment. */
  readonly #written = new Map<string, string>();

  constructor(variables: Variables) {
    const found = new Map<string, string>();
    for (const [written, text] of Object.entries(variables)) {
      const name = OWN.exec(written)?.[1];
      if (name === undefined || text === undefined) continue;
      const other = this.#written.get(name);
      if (other !== undefined && found.get(name) !== text) {
        this.#report(
          'conflicting_keys',
          `\`${other}\` and \`${written}\` are two names of one setting, and their values differ`,
          'keep one of them',
        );
      }
      found.set(name, text);
      this.#written.set(name, written);
    }
    this.#variables = new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  text(name: string): string | undefined {
    return this.#variables.get(name);
  }

  missing(variable: string, what: string): void {
    this.#report(
      'missing_variable',
      `\`${this.#nameOf(variable)}\` is not set: it names ${what}`,
      `for example ${this.#nameOf(variable)}=csv`,
    );
  }

  /** `SELECTOR=kind` and `SELECTOR_KIND_FIELD=value`. */
  part(selector: string): JsonObject | undefined {
    const kind = this.#variables.get(selector);
    return kind === undefined || kind === ''
      ? undefined
      : { type: kind, config: this.fields(`${selector}_${upper(kind)}_`) };
  }

  /**
   * `PREFIX_NAME_TYPE=kind` and `PREFIX_NAME_FIELD=value`; of several names that fit the longest
   * one owns a field.
   */
  named(prefix: string): JsonObject {
    const names = [...this.#variables.keys()]
      .filter((key) => key.startsWith(prefix) && key.endsWith('_TYPE'))
      .map((key) => key.slice(prefix.length, -'_TYPE'.length))
      .filter((name) => name !== '');
    const parts: JsonObject = {};
    for (const name of names) {
      const longer = names
        .filter((other) => other.startsWith(`${name}_`))
        .map((other) => `${prefix}${other}_`);
      const isOwn = (key: string): boolean =>
        key !== `${prefix}${name}_TYPE` && !longer.some((start) => key.startsWith(start));
      const type = this.#variables.get(`${prefix}${name}_TYPE`) ?? '';
      setField(parts, name.toLowerCase(), {
        type,
        config: this.fields(`${prefix}${name}_`, isOwn),
      });
    }
    return parts;
  }

  /** `TRANSFORM_1=kind`, `TRANSFORM_1_FIELD=value`, numbered from 1 without a gap. */
  transforms(): JsonObject[] {
    const numbers = [...this.#variables.keys()]
      .flatMap((key) => /^TRANSFORM_(\d+)(?:_|$)/.exec(key)?.[1] ?? [])
      .map(Number);
    const last = Math.max(0, ...numbers);
    const found: JsonObject[] = [];
    for (let number = 1; number <= Math.min(last, 1000); number += 1) {
      const type = this.#variables.get(`TRANSFORM_${number}`);
      if (type === undefined) {
        this.#report(
          'missing_variable',
          `\`${this.#nameOf(`TRANSFORM_${number}`)}\` is not set, but there is a transform ${last}`,
          'number them from 1 without a gap',
        );
        return found;
      }
      found.push({ type, config: this.fields(`TRANSFORM_${number}_`) });
    }
    return found;
  }

  /** Every variable of the prefix as a field, typed as JSON where it is JSON. */
  fields(prefix: string, isOwn: (key: string) => boolean = () => true): JsonObject {
    const fields: JsonObject = {};
    for (const [key, text] of this.#variables) {
      if (!key.startsWith(prefix) || key === prefix || !isOwn(key)) continue;
      const isJson = key.endsWith(JSON_SUFFIX) && key.length > prefix.length + JSON_SUFFIX.length;
      const plain = isJson ? key.slice(0, -JSON_SUFFIX.length) : key;
      if (isJson && this.#variables.has(plain)) {
        this.#report(
          'conflicting_keys',
          `\`${this.#nameOf(plain)}\` and \`${this.#nameOf(key)}\` are both set`,
          'keep one of them',
        );
        continue;
      }
      this.values.push(text);
      setField(
        fields,
        plain.slice(prefix.length).toLowerCase(),
        isJson ? this.#json(key, text) : typed(text),
      );
    }
    return fields;
  }

  #json(key: string, text: string): JsonValue {
    try {
      return parseJson(text);
    } catch (error) {
      const name = `\`${this.#nameOf(key)}\``;
      this.#report('bad_json', `${name} ${jsonFault(error)}`, jsonHint(error, text));
      return null;
    }
  }

  /** As written; what is not set is named as the others are. */
  #nameOf(name: string): string {
    const written = this.#written.get(name);
    if (written !== undefined) return written;
    const names = [...this.#written.values()];
    const isSpecified = names.length > 0 && names.every((other) => other.startsWith('SVC_'));
    return `${isSpecified ? 'SVC_' : 'HEADGATE_'}${name}`;
  }

  #report(code: string, message: string, hint?: string): void {
    this.issues.push({ code, path: '', message, ...(hint === undefined ? {} : { hint }) });
  }
}

function upper(kind: string): string {
  return kind.toUpperCase().replaceAll('-', '_');
}

function typed(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
