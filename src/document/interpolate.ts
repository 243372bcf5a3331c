/** Load-time tokens: `${env:…}`, `${secret:…}`, `${file:…}`, `${vars.…}`, `${sources.…}`, `${sinks.…}` (spec 2.5). */
import type { Issue } from '../lib/errors.ts';
import { hasField, isObject, jsonText, setField, type JsonObject, type JsonValue } from '../lib/json.ts';
import { suggestion } from '../lib/nearest.ts';
import type { Redactor } from '../lib/redact.ts';
import { joinPath } from '../lib/text-path.ts';
import { MAX_FILE_BYTES, MAX_REFERENCE_CHAIN, MAX_TOKEN_DEPTH, MAX_TOKEN_TEXT } from './limits.ts';
import { nowFault } from './now-tokens.ts';
import type { Steps } from './steps.ts';
import { classify, marksInJson, protectTokens, rewriteTokens, type TokenHandlers } from './tokens.ts';

export interface TokenSources {
  /** Environment variables that `${env:…}` and `${secret:…}` see. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Bytes of a file for `${file:…}`, at most `limitBytes` of them; throws when it cannot be read. */
  readFile(path: string, limitBytes: number): Uint8Array;
  /** Learns every value that came from the environment or a file. */
  readonly redactor: Redactor;
}

export interface Interpolated {
  readonly tree: JsonObject;
  readonly issues: readonly Issue[];
}

/** A new tree whose load-time tokens are filled in; run-time tokens stay. A token becomes text and can never change the shape. */
export function interpolate(tree: JsonObject, sources: TokenSources): Interpolated {
  const session = new Session(tree, sources);
  return { tree: session.tree(), issues: session.issues };
}

const SECRET_MANAGERS = ['vault', 'aws-sm', 'gcp-sm', 'azure-kv'];
const DIRECTIVES = ['env', 'secret', 'file', 'map', ...SECRET_MANAGERS];

/** Beyond these hints would cost more than they help. */
const ERRORS_WITH_HINTS = 50;
const MAX_LISTED = 100;

class Session {
  readonly issues: Issue[] = [];
  readonly #root: JsonObject;
  readonly #sources: TokenSources;
  /** Texts of directives and references already resolved, by token body. */
  readonly #resolved = new Map<string, string>();
  /** References being resolved, outermost first: meeting one again is a cycle. */
  readonly #chain: string[] = [];
  #place: (string | number)[] = [];
  #insertedChars = 0;
  readonly #handlers: TokenHandlers = {
    replace: (body) => this.#insert(body),
    tooDeep: () => this.#report('invalid_token', `tokens are nested deeper than ${MAX_TOKEN_DEPTH} levels`),
  };

  constructor(root: JsonObject, sources: TokenSources) {
    this.#root = root;
    this.#sources = sources;
  }

  tree(): JsonObject {
    return this.#object(this.#root);
  }

  #value(value: JsonValue): JsonValue {
    if (typeof value === 'string') return rewriteTokens(value, this.#handlers);
    if (Array.isArray(value)) return value.map((item, index) => this.#below(index, item));
    return isObject(value) ? this.#object(value) : value;
  }

  #object(object: JsonObject): JsonObject {
    const out: JsonObject = {};
    for (const key of Object.keys(object)) {
      const item = object[key] ?? null;
      const name = rewriteTokens(key, this.#handlers);
      if (name !== key && hasField(out, name)) this.#report('duplicate_key', `two keys become \`${name}\` once their tokens are filled in`);
      setField(out, name, this.#below(key, item));
    }
    return out;
  }

  #below(step: string | number, value: JsonValue): JsonValue {
    this.#place.push(step);
    const out = this.#value(value);
    this.#place.pop();
    return out;
  }

  #insert(body: string): string {
    const text = this.#resolve(body);
    this.#insertedChars += text.length;
    if (this.#insertedChars <= MAX_TOKEN_TEXT) return text;
    if (this.#insertedChars - text.length <= MAX_TOKEN_TEXT) {
      this.#report('too_large', `tokens bring in more than ${MAX_TOKEN_TEXT / 1024 / 1024} MB of text`);
    }
    return '';
  }

  #resolve(body: string): string {
    if (body.includes('${')) {
      this.#report('invalid_token', 'a token that is filled in at run time cannot stand inside another one');
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
    let text = this.#resolved.get(body);
    if (text === undefined) {
      text = resolve();
      this.#resolved.set(body, text);
    }
    return text;
  }

  #directive(body: string, prefix: string, rest: string): string {
    const known = this.#resolved.get(body);
    if (known !== undefined) return known;
    const before = this.issues.length;
    const text = this.#read(prefix, rest);
    // A failing token is told at every place where it stands.
    if (this.issues.length === before) this.#resolved.set(body, text);
    return text;
  }

  #read(prefix: string, rest: string): string {
    if (prefix === 'env' || prefix === 'secret') return this.#variable(prefix, rest);
    if (prefix === 'file') return this.#file(rest);
    if (SECRET_MANAGERS.includes(prefix)) {
      this.#report(
        'not_available',
        `this version does not read secrets managers yet, so \`\${${prefix}:…}\` cannot be used`,
        'use `${env:…}` or `${file:…}`',
      );
    } else if (prefix === 'map') {
      this.#report('not_available', 'this version does not run lookups (`${map:…}`) yet', 'write the value itself');
    } else {
      this.#report('unknown_token', `\`\${${prefix}:…}\` is not a token`, suggestion(prefix, DIRECTIVES, 'there are'));
    }
    return '';
  }

  #variable(prefix: string, name: string): string {
    const value = Object.hasOwn(this.#sources.variables, name) ? this.#sources.variables[name] : undefined;
    if (value === undefined) {
      const message = `the environment variable \`${name}\` of \`\${${prefix}:${name}}\` is not set`;
      this.#report(
        'missing_variable',
        message,
        `set ${name} in the environment; on the command line a \`.env\` file in the current folder is read too`,
      );
      return '';
    }
    return this.#data(value, `the environment variable \`${name}\``);
  }

  #file(path: string): string {
    let bytes: Uint8Array;
    try {
      bytes = this.#sources.readFile(path, MAX_FILE_BYTES + 1);
    } catch {
      this.#report(
        'file_unreadable',
        `the file \`${path}\` of \`\${file:${path}}\` cannot be read`,
        'relative paths start at the working folder',
      );
      return '';
    }
    if (bytes.byteLength > MAX_FILE_BYTES) {
      this.#report('too_large', `the file \`${path}\` is larger than 1 MiB`, 'a token is meant for a key or a short text');
      return '';
    }
    return this.#data(new TextDecoder().decode(bytes).trimEnd(), `the file \`${path}\``);
  }

  /** A value from outside: a secret, and plain data whatever it looks like. */
  #data(value: string, what: string): string {
    if (value.includes('\u0000')) {
      this.#report('bad_encoding', `${what} holds a NUL character`);
      return '';
    }
    const text = protectTokens(value);
    this.#sources.redactor.register(value);
    if (text !== value) this.#sources.redactor.register(text);
    return text;
  }

  #path(body: string, root: string, path: string): string {
    switch (root) {
      case 'vars':
        return this.#reference(body, ['vars', path]);
      case 'sources':
      case 'sinks':
        return this.#template(body, root, path);
      case 'param':
        this.#report('not_available', 'this version does not bind `${param.…}` yet', 'use `${env:…}` or `${vars.…}`');
        return '';
      case 'env':
      case 'secret':
      case 'file':
        this.#report('unknown_token', `\`\${${body}}\` is not a token`, `write \`\${${root}:…}\` with a colon`);
        return '';
      case '':
        this.#report('unknown_token', 'an empty token `${}` has no meaning', 'write `$${` for a literal `${`');
        return '';
      default:
        return `\${${body}}`;
    }
  }

  #template(body: string, root: 'sources' | 'sinks', path: string): string {
    const [name = '', ...steps] = path.split('.');
    const templates = at(this.#root, ['pipeline', root]);
    const singular = root === 'sources' ? 'source' : 'sink';
    const own: Steps = isObject(templates) && hasField(templates, name) ? ['pipeline', root, name] : ['pipeline', singular];
    if (own.length === 2 && name !== 'default') {
      const hint = this.#hintFrom(name, templates);
      this.#report('unknown_reference', `\`\${${body}}\` names no template under \`pipeline.${root}\``, hint);
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
      this.#report('invalid_token', `tokens refer to each other over more than ${MAX_REFERENCE_CHAIN} steps`);
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

  /** The text of a value elsewhere in the document, with its own tokens filled in; its issues are told there. */
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

  #report(code: string, message: string, hint?: string): void {
    const issue = { code, path: joinPath('', ...this.#place), message };
    this.issues.push(hint === undefined ? issue : { ...issue, hint });
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
