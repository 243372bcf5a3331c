/**
 * Load-time tokens: `${env:…}`, `${secret:…}`, `${file:…}`, `${vars.…}`, `${sources.…}`,
 * `${sinks.…}`, `${param.…}`, `${map:…}`.
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
import { bindParams, type Binding, type BoundParams } from '../params/bind-params.ts';
import { MAX_TOKEN_DEPTH, MAX_TOKEN_TEXT } from '../text/limits.ts';
import { nowFault } from './now-tokens.ts';
import { isPublicName, NAME_NOT_PUBLIC } from './public-names.ts';
import { OutsideValues, type TokenSources } from './outside-values.ts';
import { findParam, lookUp, type BoundParam } from './param-tokens.ts';
import { References, type Reference } from './references.ts';
import { ResolvedTokens } from './resolved-tokens.ts';
import { TokenIssues } from './token-issues.ts';
import type { WantedSecret } from './secret-tokens.ts';
import type { Steps } from '../parse/steps.ts';
import {
  classify,
  isUnfilled,
  marksInJson,
  rewriteTokens,
  unfilled,
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
  const { issues, paramIssues } = session.found();
  return {
    tree: filled,
    issues: [...issues, ...paramIssues],
    stage: issues.length > 0 ? 'interpolate' : 'validate',
    params: session.params.shown(),
    wanted: session.wanted(),
  };
}

const PARAM = 'param.';
/** Prefixes that need no secrets manager. */
const DIRECTIVES = ['env', 'secret', 'file', 'map'];

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
  readonly #found = new TokenIssues();
  readonly #resolved = new ResolvedTokens();
  readonly #references: References;
  params = NO_PARAMS;
  readonly #root: JsonObject;
  readonly #binding: Binding;
  readonly #redactor: Redactor;
  readonly #publicNames: boolean;
  readonly #managers: TokenSources['secretManagers'];
  readonly #outside: OutsideValues;
  #scope: Scope = 'document';
  #inKey = false;
  #insertedChars = 0;
  readonly #handlers: TokenHandlers = {
    replace: (body) => this.#insert(body),
    tooDeep: () =>
      this.#found.report(
        'invalid_token',
        `tokens are nested deeper than ${MAX_TOKEN_DEPTH} levels`,
      ),
    unended: (rest) => this.#checkUnended(rest),
  };

  constructor(root: JsonObject, sources: TokenSources, binding: Binding) {
    this.#root = root;
    this.#references = new References(root, this.#found);
    this.#binding = binding;
    this.#redactor = sources.redactor;
    this.#publicNames = sources.publicNames === true;
    this.#managers = sources.secretManagers;
    this.#outside = new OutsideValues(sources, this.#found.report, binding.paramEnv);
  }

  found(): Pick<TokenIssues, 'issues' | 'paramIssues'> {
    return this.#found;
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
      this.#found.paramIssues.push({
        code: 'wrong_type',
        path: 'params',
        message: 'expected a mapping of names',
      });
    }
    this.params = bindParams({ block, written }, this.#binding, this.#redactor);
    this.#found.paramIssues.push(...this.params.issues);
  }

  #paramsBlock(written: JsonObject): JsonObject {
    this.#found.place = ['params'];
    this.#scope = 'params';
    const block: JsonObject = {};
    for (const [name, entry] of Object.entries(written))
      setField(block, name, this.#below(name, entry));
    this.#scope = 'document';
    this.#found.place = [];
    return block;
  }

  #value(value: JsonValue): JsonValue {
    if (typeof value === 'string')
      return this.#publicNames && this.#references.isDirect && isPublicName(this.#found.place)
        ? this.#publicName(value)
        : this.#text(value);
    if (Array.isArray(value)) return value.map((item, index) => this.#below(index, item));
    return isObject(value) ? this.#object(value) : value;
  }

  #publicName(text: string): JsonValue {
    this.#resolved.holdsOutside = false;
    const name = this.#text(text);
    if (this.#resolved.holdsOutside) this.#found.report(...NAME_NOT_PUBLIC);
    return name;
  }

  #text(text: string): JsonValue {
    if (!text.includes('${')) return text;
    const whole = wholeToken(text);
    if (whole?.startsWith(PARAM) !== true || this.#scope !== 'document')
      return rewriteTokens(text, this.#handlers);
    return this.#bound(whole.slice(PARAM.length))?.value ?? unfilled(whole);
  }

  #object(object: JsonObject): JsonObject {
    const out: JsonObject = {};
    for (const key of Object.keys(object)) {
      const item = object[key] ?? null;
      this.#inKey = true;
      const name = rewriteTokens(key, this.#handlers);
      this.#inKey = false;
      if (name !== key && hasField(out, name))
        this.#found.report(
          'duplicate_key',
          `two keys become \`${name}\` once their tokens are filled in`,
        );
      setField(out, name, this.#below(key, item));
    }
    return out;
  }

  #below(step: string | number, value: JsonValue): JsonValue {
    const scope = this.#scope;
    this.#found.place.push(step);
    if (
      scope === 'params' &&
      this.#found.place.length === 3 &&
      this.#found.place[0] === 'params' &&
      step === 'computed'
    )
      this.#scope = 'computed';
    const out = this.#value(value);
    this.#scope = scope;
    this.#found.place.pop();
    return out;
  }

  /** Literal text, but for a chunk's token: without it all chunks would read the same. */
  #checkUnended(rest: string): void {
    const [name] = /^\$\{partition\.\w*/.exec(rest) ?? [];
    if (name === undefined) return;
    this.#found.report(
      'invalid_token',
      `\`${name}\` is not ended`,
      'end it with `}`, or write `$${` for a literal `${`',
    );
  }

  #insert(body: string): string {
    const before = this.#found.count;
    const resolved = this.#resolve(body);
    const isKnown = this.#found.count === before && !isUnfilled(resolved);
    const text = isKnown ? resolved : unfilled(body);
    this.#insertedChars += text.length;
    if (this.#insertedChars <= MAX_TOKEN_TEXT) return text;
    if (this.#insertedChars - text.length <= MAX_TOKEN_TEXT) {
      this.#found.report(
        'too_large',
        `tokens bring in more than ${MAX_TOKEN_TEXT / 1024 / 1024} MB of text`,
      );
    }
    return '';
  }

  #resolve(body: string): string {
    if (isUnfilled(body)) return unfilled(body);
    if (this.#scope === 'computed' && !this.#isOutside(body)) return `\${${body}}`;
    if (body.includes('${')) {
      this.#found.report(
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
        if (fault !== undefined) this.#found.report('unknown_token', fault.message, fault.hint);
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

  #directive(body: string, prefix: string, rest: string): string {
    const known = this.#resolved.known(body);
    if (known !== undefined) return known;
    const before = this.#found.count;
    const text = this.#resolved.traced(body, () => this.#read(prefix, rest));
    // A failing token is reported at every place where it is used.
    if (this.#found.count === before) this.#resolved.remember(body, text);
    return text;
  }

  #read(prefix: string, rest: string): string {
    if (prefix !== 'map') this.#resolved.holdsOutside = true;
    if (prefix === 'env' || prefix === 'secret') return this.#outside.variable(prefix, rest);
    if (prefix === 'file') return this.#outside.file(rest);
    if (prefix === 'map')
      return this.#hasParams(`map:${rest}`)
        ? lookUp(this.params, rest, this.#found.reportParam)
        : '';
    const manager = this.#managers.get(prefix);
    if (manager !== undefined) return this.#secret(manager, rest);
    this.#found.report(
      'unknown_token',
      `\`\${${prefix}:…}\` is not a token`,
      suggestion(prefix, [...DIRECTIVES, ...this.#managers.types()], 'there are'),
    );
    return '';
  }

  #secret(manager: SecretManagerDefinition, rest: string): string {
    if (this.#scope === 'document' && !this.#inKey)
      return this.#outside.secret(manager, rest, this.#found.path);
    const where = this.#inKey ? 'a key' : 'a parameter';
    this.#found.report(
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
    this.#found.reportParam(
      'token_out_of_scope',
      `\`\${${body}}\` is not allowed here: a parameter cannot use others this way`,
      hint,
    );
    return false;
  }

  #bound(name: string): BoundParam | undefined {
    const found = findParam(this.params, name, this.#found.reportParam);
    // Its default may have come from outside; what did is known to the redactor.
    if (found !== undefined && (found.secret || this.#isKnownSecret(jsonText(found.value))))
      this.#resolved.holdsOutside = true;
    return found;
  }

  #isKnownSecret(text: string): boolean {
    return this.#publicNames && text !== '' && this.#redactor.text(text) !== text;
  }

  #param(name: string): string {
    if (!this.#hasParams(PARAM + name)) return '';
    const found = this.#bound(name);
    return found === undefined ? unfilled(PARAM + name) : jsonText(found.value);
  }

  #path(body: string, root: string, path: string): string {
    switch (root) {
      case 'vars':
        return this.#reference(body, ['vars', path]);
      case 'sources':
      case 'sinks':
        return this.#preset(body, root, path);
      case 'param':
        return this.#param(path);
      case 'env':
      case 'secret':
      case 'file':
        this.#found.report(
          'unknown_token',
          `\`\${${body}}\` is not a token`,
          `write \`\${${root}:…}\` with a colon`,
        );
        return '';
      case '':
        this.#found.report(
          'unknown_token',
          'an empty token `${}` has no meaning',
          'write `$${` for a literal `${`',
        );
        return '';
      default:
        return `\${${body}}`;
    }
  }

  #preset(body: string, root: 'sources' | 'sinks', path: string): string {
    const steps = this.#references.stepsOfPreset(body, root, path);
    return steps === undefined ? '' : this.#reference(body, steps);
  }

  #reference(body: string, steps: Steps): string {
    const found = this.#references.find(body, steps);
    if (found === undefined) return '';
    const known = this.#resolved.known(body);
    if (known !== undefined) return known;
    const text = this.#resolved.traced(body, () => this.#render(body, found));
    this.#resolved.remember(body, text);
    return text;
  }

  /** The text of a value elsewhere in the document, with its own tokens filled in. */
  #render(body: string, { raw, steps }: Reference): string {
    const value = this.#references.within(body, steps, () => this.#value(raw));
    return typeof value === 'string' ? value : marksInJson(jsonText(value));
  }
}
