/**
 * A parsed part becomes a planned one: its definition is found and its config parsed, as far as
 * run-time tokens let it.
 */
import type { ZodType } from 'zod';
import type { Registry } from '../kit/parts.ts';
import { check, type Check } from '../kit/schema.ts';
import { soughtHint } from '../kit/sought-types.ts';
import type { Doubt } from '../kit/source.ts';
import type { Issue } from '../lib/errors.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { isAtOrBelow, joinPath } from '../lib/text/text-path.ts';
import { stepsOf, type Steps } from '../document/parse/steps.ts';
import { restoreEscapes } from '../document/tokens/tokens.ts';
import type { IssueList } from './issue-list.ts';
import type { PlannedPart } from './plan.ts';
import { placeInConfig, type ResolvedPart } from './resolve-part.ts';
import { findTokens, type FoundToken } from '../document/tokens/find-tokens.ts';
import { isGroup } from './run-time-tokens.ts';
import { unsupportedMode } from './unsupported-mode.ts';

/** A part that this build does not have, or of a package that cannot be used. */
export function reportUnknownType(
  {
    kind,
    type,
    path,
    registry,
  }: {
    readonly kind: string;
    readonly type: string;
    readonly path: string;
    readonly registry: Pick<Registry<Definition>, 'types' | 'fault'>;
  },
  issues: IssueList,
): void {
  const fault = registry.fault(type);
  if (fault !== undefined) return issues.add({ ...fault, path });
  issues.error(
    'unknown_type',
    path,
    `there is no ${kind} called \`${type}\``,
    soughtHint(type, registry.types()) ?? issues.hintFor(type, registry.types(), 'available'),
  );
}

interface Definition {
  readonly role?: string;
  readonly type: string;
  readonly config: ZodType;
  doubts?(config: unknown): readonly Doubt[];
}

export interface AssembledPart<D> {
  readonly plan: PlannedPart<D>;
  /**
   * The parsed config; with tokens, one where placeholders stand for them. `undefined` when it
   * cannot be judged before a run.
   */
  readonly judged: unknown;
  readonly tokens: readonly FoundToken[];
}

/** Looks parts up and parses them; what several rows share is parsed once. */
export class PartPlanner {
  readonly #issues: IssueList;
  readonly #check: Check;
  readonly #known = new Map<unknown, Map<JsonObject, Parsed>>();

  constructor(issues: IssueList, checking: Check = check) {
    this.#issues = issues;
    this.#check = checking;
  }

  plan<D extends Definition>(
    resolved: ResolvedPart,
    registry: Registry<D & Definition>,
    kind: string,
  ): AssembledPart<D> | undefined {
    const definition = registry.get(resolved.type);
    if (definition === undefined) {
      reportUnknownType(
        { kind, type: resolved.type, path: resolved.typePath, registry },
        this.#issues,
      );
      return undefined;
    }
    const parsed = this.#parse(definition, resolved);
    const { tokens, judged, config } = parsed;
    const deferred = tokens.length > 0;
    const { path, preset } = resolved;
    const plan = {
      path,
      type: definition.type,
      preset,
      definition,
      config,
      deferred,
      parsed: deferred ? undefined : judged,
      judged,
    };
    return { plan: Object.freeze(plan), judged, tokens };
  }

  /**
   * Tells what is wrong with the config of a preset that no row completes: what a row could still
   * change is left out.
   */
  judgePreset(resolved: Pick<ResolvedPart, 'path' | 'config'>, definition: Definition): void {
    const { issues } = parseConfig(definition, resolved.config, this.#check);
    for (const issue of issues) {
      if (STAYS_WRONG.has(issue.code))
        this.#issues.add({
          ...issue,
          path: joinPath(resolved.path, 'config', ...stepsOf(issue.path)),
        });
    }
  }

  #parse(definition: Definition, resolved: ResolvedPart): Parsed {
    let byConfig = this.#known.get(definition);
    if (byConfig === undefined)
      this.#known.set(definition, (byConfig = new Map<JsonObject, Parsed>()));
    let parsed = byConfig.get(resolved.config);
    if (parsed === undefined) {
      parsed = parseConfig(definition, resolved.config, this.#check);
      byConfig.set(resolved.config, parsed);
    }
    // A config that is no mapping was left out: what it lacks is no second mistake.
    const isLeftOut =
      parsed.issues.length > 0 && this.#issues.has('wrong_type', joinPath(resolved.path, 'config'));
    for (const issue of isLeftOut ? [] : parsed.issues)
      this.#issues.add({ ...issue, path: placeInConfig(resolved, issue.path) });
    const doubts = parsed.judged === undefined ? [] : (definition.doubts?.(parsed.judged) ?? []);
    for (const { code, path, message, hint } of doubts)
      this.#issues.warn(code, placeInConfig(resolved, path), message, hint);
    return parsed;
  }
}

const STAYS_WRONG: ReadonlySet<string> = new Set(['unknown_key', 'wrong_type', 'out_of_range']);

interface Parsed {
  /** As written, without what says nothing. */
  readonly config: JsonObject;
  readonly judged: unknown;
  readonly tokens: readonly FoundToken[];
  /** Paths are relative to the config. */
  readonly issues: readonly Issue[];
}

/** Every sink has a write mode: those without the key do nothing but append, which may be said. */
function parseConfig(definition: Definition, config: JsonObject, checking: Check): Parsed {
  const parsed = parseKnown(definition, config, checking);
  const isUnknown = ({ code, path }: Issue): boolean =>
    code === 'unknown_key' && path === 'write_mode';
  if (definition.role !== 'sink' || !parsed.issues.some(isUnknown)) return parsed;
  const { write_mode: mode, ...others } = config;
  if (mode === 'append') return parseKnown(definition, others, checking);
  const asked = { type: definition.type, mode: jsonText(mode ?? null), possible: ['append'] };
  const issues = parsed.issues.map((issue) =>
    isUnknown(issue) ? unsupportedMode(issue.path, asked) : issue,
  );
  return { ...parsed, issues };
}

function parseKnown(
  { type, config: schema }: Definition,
  config: JsonObject,
  checking: Check,
): Parsed {
  const tokens = findTokens(config).filter((token) => !isGroup(token, type));
  const plain = restoreEscapes(config);
  const result = checking(schema, plain);
  if (result.ok) return { config, judged: result.value, tokens, issues: [] };
  return tokens.length === 0
    ? { config, judged: undefined, tokens, issues: result.issues }
    : { config, ...judgeAround(schema, plain, tokens) };
}

/** Values that a token may turn out to be, tried in turn where its text does not fit. */
const PLACEHOLDERS: readonly JsonValue[] = [
  1,
  true,
  'x',
  '2026-01-01',
  '2026-01-01T00:00:00Z',
  'http://localhost/',
  [],
  {},
];

/** Places that are tried; a config with more of them is left to the run. */
const MAX_TRIED = 20;

/**
 * Sets issues at tokens aside, and puts placeholders there so that the checks behind them still
 * run.
 */
function judgeAround(
  schema: ZodType,
  config: JsonObject,
  tokens: readonly FoundToken[],
): Omit<Parsed, 'config'> {
  const places = new Map(tokens.map((token) => [joinPath('', ...token.steps), token.steps]));
  let trial = config;
  const first = check(schema, config);
  const failing = [...places].filter(
    ([path]) => !first.ok && first.issues.some((issue) => mayVanish(issue, path)),
  );
  for (const [path, steps] of failing.slice(0, MAX_TRIED)) {
    const placeholder = PLACEHOLDERS.find(
      (value) => !hasIssueAt(schema, withValue(trial, steps, value), path),
    );
    if (placeholder !== undefined) trial = withValue(trial, steps, placeholder) as JsonObject;
  }
  const result = check(schema, trial);
  if (result.ok) return { judged: result.value, tokens, issues: [] };
  const real = result.issues.filter(
    (issue) => ![...places.keys()].some((path) => mayVanish(issue, path)),
  );
  return { judged: undefined, tokens, issues: real };
}

function hasIssueAt(schema: ZodType, config: JsonValue, path: string): boolean {
  const result = check(schema, config);
  return !result.ok && result.issues.some((issue) => mayVanish(issue, path));
}

/**
 * Whether an issue may be gone once the token at `path` is filled in. A key that is not known stays
 * so, unless it is the token.
 */
export function mayVanish(issue: Issue, path: string): boolean {
  if (issue.code === 'unknown_key' && issue.path === path) return path.includes('${');
  return isAtOrBelow(issue.path, path);
}

function withValue(value: JsonValue, steps: Steps, replacement: JsonValue): JsonValue {
  const [step, ...below] = steps;
  if (step === undefined) return replacement;
  if (Array.isArray(value))
    return value.map((item, index) =>
      index === step ? withValue(item, below, replacement) : item,
    );
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === step ? withValue(item, below, replacement) : item,
    ]),
  );
}
