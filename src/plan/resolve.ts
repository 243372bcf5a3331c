/**
 * Completes a part for one invocation: fills in the run-time tokens, puts escaped literals back,
 * parses.
 */
import type { ZodType } from 'zod';
import { classify, restoreEscapes, rewriteTokens, wholeToken } from '../document/tokens/tokens.ts';
import { nowFault, renderNow, type RunClock } from '../document/tokens/now-tokens.ts';
import { ConfigError, type Issue } from '../lib/errors.ts';
import {
  hasField,
  isObject,
  jsonText,
  setField,
  type JsonObject,
  type JsonValue,
} from '../lib/text/json.ts';
import { joinPath } from '../lib/text/text-path.ts';
import { check } from '../kit/schema.ts';
import type { PlannedPart } from './plan.ts';

export interface RuntimeTokens {
  readonly now: RunClock;
  /**
   * What `${name.path}` stands for by its name: the record of a parent row, a value of a fan-out
   * row, the bounds of a `partition`.
   */
  readonly records: ReadonlyMap<string, JsonValue>;
}

/**
 * The parsed config of a part for one invocation. Throws `ConfigError` with every issue, at the
 * part's place.
 */
export function resolvePart(part: PlannedPart<unknown>, tokens: RuntimeTokens): unknown {
  if (!part.deferred) return part.parsed;
  const checked = check(schemaOf(part), resolveConfig(part, tokens), joinPath(part.path, 'config'));
  if (!checked.ok) throw new ConfigError(checked.issues);
  return checked.value;
}

/** The same before it is parsed. */
export function resolveConfig(part: PlannedPart<unknown>, tokens: RuntimeTokens): JsonObject {
  if (!part.deferred) return restoreEscapes(part.config);
  const { boundKeys = [] } = part.definition as { readonly boundKeys?: readonly string[] };
  return fillConfig(part.config, tokens, { base: joinPath(part.path, 'config'), boundKeys });
}

/** Every definition carries the schema of its config; the type of the definition is erased here. */
function schemaOf({ definition }: PlannedPart<unknown>): ZodType {
  return (definition as { readonly config: ZodType }).config;
}

/** A config with its tokens filled in and its literals restored. Throws `ConfigError`. */
export function fillConfig(
  config: JsonObject,
  tokens: RuntimeTokens,
  place: { readonly base: string; readonly boundKeys?: readonly string[] },
): JsonObject {
  const filler = new Filler(tokens);
  const bound = new Set((place.boundKeys ?? []).map((key) => joinPath(place.base, key)));
  filler.leaveRecordTokensAt(bound);
  const filled = filler.value(config, place.base) as JsonObject;
  if (filler.issues.length > 0) throw new ConfigError(filler.issues);
  return filled;
}

/** Texts that name files, databases that are files, objects, or what an address stands for. */
const PLACE =
  /(^|\.)(\w*path|pattern|glob|prefix|object_keys|file|database|endpoint|\w*url)(\[\d+\])?$/;

/** How many steps of a path or address go up; addresses know two spellings of a dot. */
function climbs(path: string): number {
  const steps = path.replaceAll(/%2e/gi, '.').split(/[/\\:?#]/);
  return steps.filter((step) => step === '..').length;
}

class Filler {
  readonly issues: Issue[] = [];
  readonly #tokens: RuntimeTokens;
  #path = '';
  #bound: ReadonlySet<string> = new Set();

  constructor(tokens: RuntimeTokens) {
    this.#tokens = tokens;
  }

  /**
   * Tokens of records and fan-out values stay as they are at these paths: the part binds their
   * values itself instead of pasting them in.
   */
  leaveRecordTokensAt(paths: ReadonlySet<string>): void {
    this.#bound = paths;
  }

  value(value: JsonValue, path: string): JsonValue {
    if (typeof value === 'string') return this.#text(value, path);
    if (Array.isArray(value))
      return value.map((item, index) => this.value(item, joinPath(path, index)));
    if (!isObject(value)) return value;
    const out: JsonObject = {};
    for (const [key, item] of Object.entries(value)) {
      this.#path = path;
      const name = this.#rewrite(key);
      if (hasField(out, name))
        this.#report(
          'duplicate_key',
          `two keys become \`${name}\` once their tokens are filled in`,
        );
      setField(out, name, this.value(item, joinPath(path, key)));
    }
    return out;
  }

  /** A parent value that fills a whole text keeps its type. */
  #text(text: string, path: string): JsonValue {
    this.#path = path;
    const whole = wholeToken(text);
    if (whole !== undefined) {
      const token = classify(whole);
      if (token.kind === 'path' && !this.#isBound(token.root))
        return this.#record(token.root, token.path);
    }
    return this.#rewrite(text);
  }

  #rewrite(text: string): string {
    const filled = rewriteTokens(text, {
      replace: (body) => this.#replace(body),
      tooDeep: () => undefined,
    });
    if (PLACE.test(this.#path) && climbs(filled) > climbs(text))
      this.#report('invalid_value', 'a value that is filled in leads out of its folder by `..`');
    return restoreEscapes(filled);
  }

  #replace(body: string): string {
    const token = classify(body);
    if (token.kind === 'now') {
      const fault = nowFault(token.name);
      if (fault === undefined) return renderNow(token.name, this.#tokens.now);
      this.#report('unknown_token', fault.message);
      return '';
    }
    if (token.kind !== 'path' || this.#isBound(token.root)) return `\${${body}}`;
    const value = this.#record(token.root, token.path);
    return Array.isArray(value) ? value.map(jsonText).join(',') : jsonText(value);
  }

  /**
   * The bounds of a chunk are numbers and times of our own making, and may stand where nothing can
   * be bound.
   */
  #isBound(root: string): boolean {
    return root !== 'partition' && this.#bound.has(this.#path);
  }

  /** What a token names; where there is nothing the issue is reported and the text stays empty. */
  #record(row: string, path: string): JsonValue {
    const record = this.#tokens.records.get(row);
    if (record === undefined) {
      this.#report(
        'unknown_row',
        `\`\${${row}${path === '' ? '' : `.${path}`}}\` has no record of row \`${row}\` here`,
      );
      return '';
    }
    const value = path === '' ? record : valueAt(record, path);
    if (value === undefined)
      this.#report('missing_field', `the record of row \`${row}\` has no \`${path}\``);
    return value === undefined ? '' : value;
  }

  #report(code: string, message: string): void {
    this.issues.push({ code, path: this.#path, message });
  }
}

/** A dotted path through objects and, by index, lists. */
export function valueAt(record: JsonValue, path: string): JsonValue | undefined {
  let at: JsonValue | undefined = record;
  for (const step of path.split('.')) {
    if (Array.isArray(at)) at = /^\d+$/.test(step) ? at[Number(step)] : undefined;
    else if (isObject(at) && hasField(at, step)) at = at[step];
    else return undefined;
  }
  return at;
}
