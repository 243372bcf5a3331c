/**
 * `params`: what was supplied, checked and typed, so that `${param.…}` can be filled in (spec 2.7).
 */
import type { Issue } from '../../lib/errors.ts';
import {
  hasField,
  isObject,
  jsonEqual,
  jsonText,
  setField,
  stringifyJson,
  type JsonObject,
  type JsonScalar,
  type JsonValue,
} from '../../lib/text/json.ts';
import type { Redactor } from '../../lib/redact.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { PARAM_NAME, paramSchema, type ParamSpec } from '../structure/params.ts';
import { MAX_REFERENCE_CHAIN, MAX_TOKEN_DEPTH, MAX_TOKEN_TEXT } from '../text/limits.ts';
import {
  declaredHint,
  findParam,
  lookUp,
  type ParamSource,
  type ParamState,
  type Report,
} from '../tokens/param-tokens.ts';
import { coerced, literalValue, PLACEHOLDERS } from './param-type.ts';
import { readValid } from '../parse/read-valid.ts';
import {
  classify,
  isUnfilled,
  protectTokens,
  restoreEscapes,
  rewriteTokens,
} from '../tokens/tokens.ts';

/** The values of parameters that the caller supplies. */
export interface Binding {
  /** Values by name, as JSON or as text. */
  readonly params?: Readonly<Record<string, JsonValue>>;
  /**
   * They are not what somebody wrote for this document: `${` in them is text. Otherwise it is
   * refused, because whoever wrote it meant a token.
   */
  readonly paramsAreData?: boolean;
  /**
   * `placeholders`: when no value is supplied at all, required ones get a placeholder, so that the
   * document can be checked.
   */
  readonly paramMode?: 'strict' | 'placeholders';
  /** Variables that `${env:…}` and `${secret:…}` see instead of those of the environment. */
  readonly paramEnv?: Readonly<Record<string, string>>;
}

export interface DeclaredParams {
  /** The block with its own tokens filled in; `computed` still holds those of parameters. */
  readonly block: JsonObject;
  /** As written: where a default held tokens it is read like a supplied text. */
  readonly written: JsonValue | undefined;
}

export interface BoundParams extends ParamSource {
  readonly issues: readonly Issue[];
  /** The block with defaults in their type. */
  readonly block: JsonObject;
  /** Every value by name; secret ones are masked. */
  shown(): Readonly<Record<string, JsonValue>>;
}

export function bindParams(
  declared: DeclaredParams,
  binding: Binding,
  redactor: Redactor,
): BoundParams {
  const binder = new Binder(declared, binding, redactor);
  binder.bindAll();
  return binder;
}

const MASK = '***';

interface ParamFault {
  readonly code: string;
  readonly name: string;
  /** Where in the entry, when that is known. */
  readonly key?: string;
}

class Binder implements BoundParams {
  readonly issues: Issue[] = [];
  readonly block: JsonObject;
  readonly names: readonly string[];
  readonly #specs = new Map<string, ParamSpec>();
  readonly #written: JsonObject;
  readonly #supplied: Readonly<Record<string, JsonValue>>;
  readonly #placeholders: boolean;
  readonly #suppliesData: boolean;
  readonly #redactor: Redactor;
  readonly #states = new Map<string, ParamState>();
  /** Computed parameters being derived, outermost first. */
  readonly #chain: string[] = [];
  #derivedChars = 0;

  constructor(
    { block, written }: DeclaredParams,
    { params = {}, paramsAreData = false, paramMode = 'strict' }: Binding,
    redactor: Redactor,
  ) {
    this.block = { ...block };
    this.names = Object.keys(block);
    this.#written = isObject(written) ? written : {};
    this.#supplied = params;
    this.#placeholders = paramMode === 'placeholders' && Object.keys(params).length === 0;
    this.#suppliesData = paramsAreData;
    this.#redactor = redactor;
    for (const [name, entry] of Object.entries(block)) this.#declare(name, entry);
  }

  /** A wrong declaration is shown once, not at every use. */
  #declare(name: string, entry: JsonValue): void {
    if (isUnfilled(jsonText(entry))) {
      this.#states.set(name, { kind: 'failed' });
      return;
    }
    const before = this.issues.length;
    if (!PARAM_NAME.test(name)) {
      const hint = 'a name has letters, digits and underscores, and does not start with a digit';
      this.#report(
        { code: 'invalid_value', name },
        `\`${name}\` is not a valid parameter name`,
        hint,
      );
    }
    const spec = readValid(paramSchema, entry, joinPath('params', name), this.issues);
    if (spec !== undefined) this.#specs.set(name, spec);
    if (this.issues.length > before) this.#states.set(name, { kind: 'failed' });
  }

  bindAll(): void {
    for (const name of Object.keys(this.#supplied)) {
      if (this.names.includes(name)) continue;
      const hint =
        this.names.length === 0 ? 'the document declares none' : declaredHint(name, this.names);
      this.#report(
        { code: 'undeclared_param', name },
        `a value was supplied for \`${name}\`, which is not a parameter of the document`,
        hint,
      );
    }
    for (const name of this.names) this.find(name);
  }

  find(name: string): ParamState | undefined {
    if (!hasField(this.block, name)) return undefined;
    const known = this.#states.get(name);
    if (known !== undefined) return known;
    const spec = this.#specs.get(name);
    const state: ParamState = spec === undefined ? { kind: 'failed' } : this.#bind(name, spec);
    this.#states.set(name, state);
    return state;
  }

  shown(): Readonly<Record<string, JsonValue>> {
    const shown = this.names.flatMap((name): [string, JsonValue][] => {
      const state = this.#states.get(name);
      return state?.kind === 'bound'
        ? [[name, state.secret ? MASK : restoreEscapes(state.value)]]
        : [];
    });
    return Object.fromEntries(shown);
  }

  #bind(name: string, spec: ParamSpec): ParamState {
    const supplied = Object.hasOwn(this.#supplied, name) ? this.#supplied[name] : undefined;
    if (spec.computed !== undefined) return this.#computed(name, spec.computed, supplied);
    const fallback = spec.default === undefined ? undefined : this.#default(name, spec);
    if (supplied !== undefined) return this.#suppliedValue(name, spec, supplied);
    if (fallback !== undefined) return fallback;
    if (this.#placeholders)
      return this.#bound(spec, spec.values?.[0] ?? PLACEHOLDERS[spec.type], true);
    if (spec.required !== true) return { kind: 'absent' };
    const about = spec.description === undefined ? '' : `: ${spec.description}`;
    return this.#fail(
      { code: 'missing_param', name },
      `the parameter \`${name}\` is required${about}`,
      `give it a \`default\`, or supply it (on the command line with \`--param ${name}=…\`)`,
    );
  }

  #bound(spec: ParamSpec, value: JsonScalar, placeholder = false): ParamState {
    const secret = spec.secret === true && !placeholder;
    if (secret) this.#redactor.register(jsonText(restoreEscapes(value)));
    return { kind: 'bound', value, secret, placeholder };
  }

  #suppliedValue(name: string, spec: ParamSpec, supplied: JsonValue): ParamState {
    if (spec.secret === true && typeof supplied !== 'object')
      this.#redactor.register(jsonText(supplied));
    if (typeof supplied === 'string' && !this.#isPlain(supplied)) {
      return this.#fail(
        { code: 'param_value', name },
        `the value of \`${name}\` holds \`\${\` or NUL: a supplied value is plain data`,
      );
    }
    const value = coerced(spec.type, supplied);
    if (value === undefined) return this.#wrongType(name, spec, supplied);
    return this.#inSet(
      name,
      spec,
      this.#suppliesData && typeof value === 'string' ? protectTokens(value) : value,
    );
  }

  #isPlain(supplied: string): boolean {
    return !supplied.includes('\u0000') && (this.#suppliesData || !supplied.includes('${'));
  }

  /** A default is a literal of its type, or text with tokens, which have been filled in. */
  #default(name: string, spec: ParamSpec): ParamState {
    const value = spec.default ?? null;
    const entry = this.#written[name];
    const written = isObject(entry) ? entry['default'] : undefined;
    const hadTokens = typeof written === 'string' && written.includes('${');
    const typed = hadTokens ? coerced(spec.type, value) : literalValue(spec.type, value);
    if (typed === undefined) return this.#wrongType(name, spec, value, 'default');
    const declared = this.block[name];
    if (isObject(declared)) setField(this.block, name, { ...declared, default: typed });
    return this.#inSet(name, spec, typed, 'default');
  }

  #inSet(name: string, spec: ParamSpec, value: JsonScalar, key?: 'default'): ParamState {
    if (spec.values === undefined) return this.#bound(spec, value);
    const possible = spec.values.map((one) => literalValue(spec.type, one));
    const plain = restoreEscapes(value);
    if (possible.some((one) => one !== undefined && jsonEqual(restoreEscapes(one), plain)))
      return this.#bound(spec, value);
    const shown = spec.secret === true ? 'its value' : `\`${jsonText(plain)}\``;
    const message = `the parameter \`${name}\` cannot be ${shown}`;
    const hint = `one of: ${spec.values.map((one) => jsonText(one)).join(', ')}`;
    return this.#fail(
      { code: 'param_value', name, ...(key === undefined ? {} : { key }) },
      message,
      hint,
    );
  }

  #wrongType(name: string, spec: ParamSpec, value: JsonValue, key?: 'default'): ParamState {
    const shown =
      spec.secret === true || typeof value === 'object'
        ? kindOf(value)
        : stringifyJson(restoreEscapes(value));
    const message = `the parameter \`${name}\` is of type \`${spec.type}\`, which ${shown} is not`;
    return this.#fail({ code: 'param_type', name, ...(key === undefined ? {} : { key }) }, message);
  }

  #computed(name: string, expression: string, supplied: JsonValue | undefined): ParamState {
    if (supplied !== undefined) {
      return this.#fail(
        { code: 'param_value', name },
        `the parameter \`${name}\` is computed: it cannot be supplied`,
        'supply what it is computed from',
      );
    }
    const loop = this.#chain.indexOf(name);
    if (loop !== -1) {
      const members = this.#chain.slice(loop).sort();
      this.#report(
        { code: 'param_cycle', name },
        `computed parameters depend on each other: ${members.join(', ')}`,
      );
      return { kind: 'failed' };
    }
    if (this.#chain.length >= MAX_REFERENCE_CHAIN) {
      return this.#fail(
        { code: 'invalid_token', name },
        `computed parameters refer to each other over more than ${MAX_REFERENCE_CHAIN} steps`,
      );
    }
    this.#chain.push(name);
    const derived = this.#derive(name, expression);
    this.#chain.pop();
    return derived;
  }

  #derive(name: string, expression: string): ParamState {
    const before = this.issues.length;
    const used = { placeholder: false, secret: false, failed: false };
    const watch: ParamSource = {
      names: this.names,
      find: (one) => {
        const state = this.find(one);
        if (state?.kind === 'bound') {
          used.placeholder ||= state.placeholder;
          used.secret ||= state.secret;
        } else used.failed = true;
        return state;
      },
    };
    const report: Report = (code, message, hint) =>
      this.#report({ code, name, key: 'computed' }, message, hint);
    const text = rewriteTokens(expression, {
      replace: (body) => this.#bounded(this.#token(body, watch, report), report),
      tooDeep: () =>
        report('invalid_token', `tokens are nested deeper than ${MAX_TOKEN_DEPTH} levels`),
    });
    if (used.failed || this.issues.length > before) return { kind: 'failed' };
    return { kind: 'bound', value: text, secret: used.secret, placeholder: used.placeholder };
  }

  #token(body: string, params: ParamSource, report: Report): string {
    const token = classify(body);
    if (token.kind === 'directive' && token.prefix === 'map')
      return lookUp(params, token.rest, report);
    if (token.kind === 'path' && token.root === 'param') {
      const value = findParam(params, token.path, report)?.value;
      return value === undefined ? '' : jsonText(value);
    }
    report(
      'token_out_of_scope',
      `\`\${${body}}\` is not allowed in \`computed\``,
      'it may use `${param.…}` and `${map:…}`',
    );
    return '';
  }

  /** Parameters that double each other must not eat the memory. */
  #bounded(text: string, report: Report): string {
    const before = this.#derivedChars;
    this.#derivedChars += text.length;
    if (this.#derivedChars <= MAX_TOKEN_TEXT) return text;
    if (before <= MAX_TOKEN_TEXT)
      report(
        'too_large',
        `parameters bring in more than ${MAX_TOKEN_TEXT / 1024 / 1024} MB of text`,
      );
    return '';
  }

  #fail(fault: ParamFault, message: string, hint?: string): ParamState {
    this.#report(fault, message, hint);
    return { kind: 'failed' };
  }

  #report({ code, name, key }: ParamFault, message: string, hint?: string): void {
    const path = hasField(this.block, name)
      ? joinPath('params', name, ...(key === undefined ? [] : [key]))
      : 'params';
    this.issues.push({ code, path, message, ...(hint === undefined ? {} : { hint }) });
  }
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return isObject(value) ? 'a mapping' : 'its value';
}
