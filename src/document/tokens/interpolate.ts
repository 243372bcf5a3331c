/**
 * Load-time tokens: `${env:…}`, `${secret:…}`, `${file:…}`, `${vars.…}`, `${sources.…}`,
 * `${sinks.…}`, `${param.…}`, `${map:…}` (spec 2.5, 2.7).
 */
import type { SecretManagerDefinition } from '../../kit/secrets.ts';
import type { Issue } from '../../lib/errors.ts';
import {
  hasField,
  isObject,
  jsonText,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import type { Redactor } from '../../lib/redact.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { bindParams, type Binding, type BoundParams } from '../params/bind-params.ts';
import { MAX_REFERENCE_CHAIN, MAX_TOKEN_DEPTH, MAX_TOKEN_TEXT } from '../text/limits.ts';
import { isFull } from '../text/locate.ts';
import { nowFault } from './now-tokens.ts';
import { isPublicName, NAME_NOT_PUBLIC } from './public-names.ts';
import { OutsideValues, type TokenSources } from './outside-values.ts';
import { findParam, lookUp, type BoundParam, type Report } from './param-tokens.ts';
import type { WantedSecret } from './secret-tokens.ts';
import type { Steps } from '../parse/steps.ts';
import {
  classify,
  marksInJson,
  PENDING,
  rewriteTokens,
  wholeToken,
  type TokenHandlers,
} from './tokens.ts';

export interface Interpolated {
  readonly tree: JsonObject;
  readonly issues: readonly Issue[];
  /**
   * `validate` when only parameters are at fault: their declaration, what was supplied, or how they
   * are used.
   */
  readonly stage: 'interpolate' | 'validate';
  /** The values of all parameters; secret ones are masked. */
  readonly params: Readonly<Record<string, JsonValue>>;
  /** Secrets without which the tree is not complete: it must not be used. */
  readonly wanted: readonly WantedSecret[];
}

/**
 * A new tree whose load-time tokens are filled in; run-time tokens stay. A token becomes text and
 * can never change the shape; only a parameter that fills a whole value keeps its type.
 */
export function interpolate(
  tree: JsonObject,
  sources: TokenSources,
  binding: Binding = {},
): Interpolated {
  const session = new Session(tree, sources, binding);
  const filled = session.tree();
  const stage = session.issues.length > 0 ? 'interpolate' : 'validate';
  return {
    tree: filled,
    issues: [...session.issues, ...session.paramIssues],
    stage,
    params: session.params.shown(),
    wanted: session.wanted(),
  };
}

const PARAM = 'param.';
/** Prefixes that need no secrets manager. */
const DIRECTIVES = ['env', 'secret', 'file', 'map'];

/** Beyond these hints would cost more than they help. */
const ERRORS_WITH_HINTS = 50;
const MAX_LISTED = 100;

/** Which tokens have a meaning: everywhere all, in `params` only those that need no parameter. */
type Scope = 'document' | 'params' | 'computed';

const NO_PARAMS: BoundParams = {
  names: [],
  find: () => undefined,
  issues: [],
  block: {},
  shown: () => ({}),
};

class Session {
  readonly issues: Issue[] = [];
  readonly paramIssues: Issue[] = [];
  params = NO_PARAMS;
  readonly #root: JsonObject;
  readonly #binding: Binding;
  readonly #redactor: Redactor;
  readonly #publicNames: boolean;
  readonly #managers: TokenSources['secretManagers'];
  readonly #outside: OutsideValues;
  #scope: Scope = 'document';
  /** Texts of directives and references already resolved, by token body. */
  readonly #resolved = new Map<string, string>();
  /** Of these, the ones that hold a value from outside of the document. */
  readonly #fromOutside = new Set<string>();
  /** Whether the text being filled in holds such a value. */
  #holdsOutside = false;
  /** References being resolved, outermost first: meeting one again is a cycle. */
  readonly #chain: string[] = [];
  #place: (string | number)[] = [];
  #inKey = false;
  #insertedChars = 0;
  readonly #handlers: TokenHandlers = {
    replace: (body) => this.#insert(body),
    tooDeep: () =>
      this.#report('invalid_token', `tokens are nested deeper than ${MAX_TOKEN_DEPTH} levels`),
    unended: (rest) => this.#checkUnended(rest),
  };

  constructor(root: JsonObject, sources: TokenSources, binding: Binding) {
    const { paramEnv } = binding;
    this.#root = root;
    this.#binding = binding;
    this.#redactor = sources.redactor;
    this.#publicNames = sources.publicNames === true;
    this.#managers = sources.secretManagers;
    this.#outside = new OutsideValues(
      paramEnv === undefined
        ? sources
        : { ...sources, variables: { ...sources.variables, ...paramEnv } },
      this.#report,
    );
  }

  wanted(): WantedSecret[] {
    return [...this.#outside.wanted.values()];
  }

  tree(): JsonObject {
    const { params, ...rest } = this.#root;
    // Also without the block: values may have been supplied for it.
    this.#bind(params);
    const tree = this.#object(rest);
    return params === undefined
      ? tree
      : { ...tree, params: isObject(params) ? this.params.block : params };
  }

  #bind(written: JsonValue | undefined): void {
    const block = isObject(written) ? this.#paramsBlock(written) : {};
    if (written !== undefined && written !== null && !isObject(written)) {
      this.paramIssues.push({
        code: 'wrong_type',
        path: 'params',
        message: 'expected a mapping of names',
      });
    }
    this.params = bindParams({ block, written }, this.#binding, this.#redactor);
    this.paramIssues.push(...this.params.issues);
  }

  #paramsBlock(written: JsonObject): JsonObject {
    this.#place = ['params'];
    this.#scope = 'params';
    const block: JsonObject = {};
    for (const [name, entry] of Object.entries(written))
      setField(block, name, this.#below(name, entry));
    this.#scope = 'document';
    this.#place = [];
    return block;
  }

  #value(value: JsonValue): JsonValue {
    if (typeof value === 'string')
      return this.#publicNames && this.#chain.length === 0 && isPublicName(this.#place)
        ? this.#publicName(value)
        : this.#text(value);
    if (Array.isArray(value)) return value.map((item, index) => this.#below(index, item));
    return isObject(value) ? this.#object(value) : value;
  }

  #publicName(text: string): JsonValue {
    this.#holdsOutside = false;
    const name = this.#text(text);
    if (this.#holdsOutside) this.#report(...NAME_NOT_PUBLIC);
    return name;
  }

  #text(text: string): JsonValue {
    if (!text.includes('${')) return text;
    const whole = wholeToken(text);
    if (whole?.startsWith(PARAM) !== true || this.#scope !== 'document')
      return rewriteTokens(text, this.#handlers);
    return this.#bound(whole.slice(PARAM.length))?.value ?? '';
  }

  #object(object: JsonObject): JsonObject {
    const out: JsonObject = {};
    for (const key of Object.keys(object)) {
      const item = object[key] ?? null;
      this.#inKey = true;
      const name = rewriteTokens(key, this.#handlers);
      this.#inKey = false;
      if (name !== key && hasField(out, name))
        this.#report(
          'duplicate_key',
          `two keys become \`${name}\` once their tokens are filled in`,
        );
      setField(out, name, this.#below(key, item));
    }
    return out;
  }

  #below(step: string | number, value: JsonValue): JsonValue {
    const scope = this.#scope;
    this.#place.push(step);
    if (
      scope === 'params' &&
      this.#place.length === 3 &&
      this.#place[0] === 'params' &&
      step === 'computed'
    )
      this.#scope = 'computed';
    const out = this.#value(value);
    this.#scope = scope;
    this.#place.pop();
    return out;
  }

  /** Literal text, but for a chunk's token: without it all chunks would read the same. */
  #checkUnended(rest: string): void {
    const [name] = /^\$\{partition\.\w*/.exec(rest) ?? [];
    if (name === undefined) return;
    this.#report(
      'invalid_token',
      `\`${name}\` is not ended`,
      'end it with `}`, or write `$${` for a literal `${`',
    );
  }

  #insert(body: string): string {
    const text = this.#resolve(body);
    this.#insertedChars += text.length;
    if (this.#insertedChars <= MAX_TOKEN_TEXT) return text;
    if (this.#insertedChars - text.length <= MAX_TOKEN_TEXT) {
      this.#report(
        'too_large',
        `tokens bring in more than ${MAX_TOKEN_TEXT / 1024 / 1024} MB of text`,
      );
    }
    return '';
  }

  #resolve(body: string): string {
    if (body.includes(PENDING)) return PENDING;
    if (this.#scope === 'computed' && !this.#isOutside(body)) return `\${${body}}`;
    if (body.includes('${')) {
      this.#report(
        'invalid_token',
        'a token that is filled in at run time is not allowed inside another token',
      );
      return '';
    }
    const token = classify(body);
    switch (token.kind) {
      case 'connector':
        return `\${${body}}`;
      case 'now': {
        const fault = nowFault(token.name);
        if (fault !== undefined) this.#report('unknown_token', fault.message, fault.hint);
        return `\${${body}}`;
      }
      case 'directive':
        return this.#directive(body, token.prefix, token.rest);
      case 'path':
        return this.#path(body, token.root, token.path);
      default:
        return token satisfies never;
    }
  }

  #once(body: string, resolve: () => string): string {
    const known = this.#known(body);
    if (known !== undefined) return known;
    const text = this.#traced(body, resolve);
    this.#resolved.set(body, text);
    return text;
  }

  #known(body: string): string | undefined {
    if (this.#fromOutside.has(body)) this.#holdsOutside = true;
    return this.#resolved.get(body);
  }

  /** Notes whether what was filled in came from outside. */
  #traced(body: string, resolve: () => string): string {
    const before = this.#holdsOutside;
    this.#holdsOutside = false;
    const text = resolve();
    if (this.#holdsOutside) this.#fromOutside.add(body);
    this.#holdsOutside ||= before;
    return text;
  }

  #directive(body: string, prefix: string, rest: string): string {
    const known = this.#known(body);
    if (known !== undefined) return known;
    const before = this.issues.length + this.paramIssues.length;
    const text = this.#traced(body, () => this.#read(prefix, rest));
    // A failing token is reported at every place where it is used.
    if (this.issues.length + this.paramIssues.length === before) this.#resolved.set(body, text);
    return text;
  }

  #read(prefix: string, rest: string): string {
    if (prefix !== 'map') this.#holdsOutside = true;
    if (prefix === 'env' || prefix === 'secret') return this.#outside.variable(prefix, rest);
    if (prefix === 'file') return this.#outside.file(rest);
    if (prefix === 'map')
      return this.#hasParams(`map:${rest}`) ? lookUp(this.params, rest, this.#reportParam) : '';
    const manager = this.#managers.get(prefix);
    if (manager !== undefined) return this.#secret(manager, rest);
    this.#report(
      'unknown_token',
      `\`\${${prefix}:…}\` is not a token`,
      suggestion(prefix, [...DIRECTIVES, ...this.#managers.types()], 'there are'),
    );
    return '';
  }

  #secret(manager: SecretManagerDefinition, rest: string): string {
    if (this.#scope === 'document' && !this.#inKey)
      return this.#outside.secret(manager, rest, joinPath('', ...this.#place));
    const where = this.#inKey ? 'a key' : 'a parameter';
    this.#report(
      'token_out_of_scope',
      `\`\${${manager.type}:${rest}}\` is not allowed in ${where}`,
      'name the secret in the value that needs it',
    );
    return '';
  }

  /**
   * Expressions of `computed` keep all tokens but these: the others are judged when the parameters
   * are bound.
   */
  #isOutside(body: string): boolean {
    if (body.includes('${')) return false;
    const token = classify(body);
    return token.kind === 'directive' && token.prefix !== 'map';
  }

  #hasParams(body: string): boolean {
    if (this.#scope === 'document') return true;
    const hint = 'give it `computed` instead of a default';
    this.#reportParam(
      'token_out_of_scope',
      `\`\${${body}}\` is not allowed here: a parameter cannot use others this way`,
      hint,
    );
    return false;
  }

  #bound(name: string): BoundParam | undefined {
    const found = findParam(this.params, name, this.#reportParam);
    // Its default may have come from outside; what did is known to the redactor.
    if (found !== undefined && (found.secret || this.#isKnownSecret(jsonText(found.value))))
      this.#holdsOutside = true;
    return found;
  }

  #isKnownSecret(text: string): boolean {
    return this.#publicNames && text !== '' && this.#redactor.text(text) !== text;
  }

  #param(name: string): string {
    if (!this.#hasParams(PARAM + name)) return '';
    const found = this.#bound(name);
    return found === undefined ? '' : jsonText(found.value);
  }

  #path(body: string, root: string, path: string): string {
    switch (root) {
      case 'vars':
        return this.#reference(body, ['vars', path]);
      case 'sources':
      case 'sinks':
        return this.#template(body, root, path);
      case 'param':
        return this.#param(path);
      case 'env':
      case 'secret':
      case 'file':
        this.#report(
          'unknown_token',
          `\`\${${body}}\` is not a token`,
          `write \`\${${root}:…}\` with a colon`,
        );
        return '';
      case '':
        this.#report(
          'unknown_token',
          'an empty token `${}` has no meaning',
          'write `$${` for a literal `${`',
        );
        return '';
      default:
        return `\${${body}}`;
    }
  }

  #template(body: string, root: 'sources' | 'sinks', path: string): string {
    const [name = '', ...steps] = path.split('.');
    const templates = at(this.#root, ['pipeline', root]);
    const singular = root === 'sources' ? 'source' : 'sink';
    const own: Steps =
      isObject(templates) && hasField(templates, name)
        ? ['pipeline', root, name]
        : ['pipeline', singular];
    if (own.length === 2 && name !== 'default') {
      const hint = this.#hintFrom(name, templates);
      this.#report(
        'unknown_reference',
        `\`\${${body}}\` names no preset under \`pipeline.${root}\``,
        hint,
      );
      return '';
    }
    return this.#reference(body, [...own, 'config', ...steps]);
  }

  #reference(body: string, steps: Steps): string {
    const loop = this.#chain.indexOf(body);
    if (loop !== -1) {
      const chain = [...this.#chain.slice(loop), body].map((one) => `\${${one}}`).join(' → ');
      this.#report('interpolation_cycle', `tokens refer to each other in a circle: ${chain}`);
      return '';
    }
    if (this.#chain.length >= MAX_REFERENCE_CHAIN) {
      this.#report(
        'invalid_token',
        `tokens refer to each other over more than ${MAX_REFERENCE_CHAIN} steps`,
      );
      return '';
    }
    const raw = at(this.#root, steps);
    if (raw === undefined) {
      const hint = this.#hintFrom(String(steps.at(-1)), at(this.#root, steps.slice(0, -1)));
      this.#report('unknown_reference', `\`\${${body}}\` names nothing in this document`, hint);
      return '';
    }
    return this.#once(body, () => this.#render(body, raw, steps));
  }

  /**
   * The text of a value elsewhere in the document, with its own tokens filled in; its issues are
   * told there.
   */
  #render(body: string, raw: JsonValue, steps: Steps): string {
    const here = this.#place;
    this.#place = [...steps];
    this.#chain.push(body);
    const value = this.#value(raw);
    this.#chain.pop();
    this.#place = here;
    return typeof value === 'string' ? value : marksInJson(jsonText(value));
  }

  #hintFrom(word: string, mapping: JsonValue | undefined): string | undefined {
    if (this.issues.length > ERRORS_WITH_HINTS || !isObject(mapping)) return undefined;
    return suggestion(word, Object.keys(mapping).slice(0, MAX_LISTED), 'there are');
  }

  readonly #report: Report = (code, message, hint) => {
    if (!isFull(this.issues)) this.issues.push(this.#issue(code, message, hint));
  };

  readonly #reportParam: Report = (code, message, hint) => {
    if (!isFull(this.paramIssues)) this.paramIssues.push(this.#issue(code, message, hint));
  };

  #issue(code: string, message: string, hint?: string): Issue {
    const issue = { code, path: joinPath('', ...this.#place), message };
    return hint === undefined ? issue : { ...issue, hint };
  }
}

function at(root: JsonValue, steps: Steps): JsonValue | undefined {
  let value: JsonValue | undefined = root;
  for (const step of steps) {
    if (Array.isArray(value)) value = value[Number(step)];
    else if (isObject(value) && hasField(value, String(step))) value = value[String(step)];
    else return undefined;
  }
  return value;
}
