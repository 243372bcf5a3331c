/** `${vars.…}`, `${sources.…}` and `${sinks.…}`: values elsewhere in the document. */
import { hasField, isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import { MAX_REFERENCE_CHAIN } from '../text/limits.ts';
import type { Steps } from '../parse/steps.ts';
import type { TokenIssues } from './token-issues.ts';

/** Beyond these hints would cost more than they help. */
const ERRORS_WITH_HINTS = 50;
const MAX_LISTED = 100;

export interface Reference {
  readonly raw: JsonValue;
  readonly steps: Steps;
}

export class References {
  readonly #root: JsonObject;
  readonly #found: TokenIssues;
  /** References being resolved, outermost first: meeting one again is a cycle. */
  readonly #chain: string[] = [];

  constructor(root: JsonObject, found: TokenIssues) {
    this.#root = root;
    this.#found = found;
  }

  /** Whether the value being filled in stands where it is, and not behind a reference. */
  get isDirect(): boolean {
    return this.#chain.length === 0;
  }

  /** Where the config of a preset stands; `undefined` when there is no such preset. */
  stepsOfPreset(body: string, root: 'sources' | 'sinks', path: string): Steps | undefined {
    const [name = '', ...steps] = path.split('.');
    const presets = at(this.#root, ['pipeline', root]);
    if (isObject(presets) && hasField(presets, name))
      return ['pipeline', root, name, 'config', ...steps];
    if (name === 'default')
      return ['pipeline', root === 'sources' ? 'source' : 'sink', 'config', ...steps];
    this.#found.report(
      'unknown_reference',
      `\`\${${body}}\` names no preset under \`pipeline.${root}\``,
      this.#hintFrom(name, presets),
    );
    return undefined;
  }

  /** The value at a place, unless it refers to itself or there is none. */
  find(body: string, steps: Steps): Reference | undefined {
    const { report } = this.#found;
    const loop = this.#chain.indexOf(body);
    if (loop !== -1) {
      const chain = [...this.#chain.slice(loop), body].map((one) => `\${${one}}`).join(' → ');
      report('interpolation_cycle', `tokens refer to each other in a circle: ${chain}`);
      return undefined;
    }
    if (this.#chain.length >= MAX_REFERENCE_CHAIN) {
      report(
        'invalid_token',
        `tokens refer to each other over more than ${MAX_REFERENCE_CHAIN} steps`,
      );
      return undefined;
    }
    const raw = at(this.#root, steps);
    if (raw !== undefined) return { raw, steps };
    const hint = this.#hintFrom(String(steps.at(-1)), at(this.#root, steps.slice(0, -1)));
    report('unknown_reference', `\`\${${body}}\` names nothing in this document`, hint);
    return undefined;
  }

  /** Does something with the place of a reference as the current one; issues are reported there. */
  within<T>(body: string, steps: Steps, act: () => T): T {
    const here = this.#found.place;
    this.#found.place = [...steps];
    this.#chain.push(body);
    const result = act();
    this.#chain.pop();
    this.#found.place = here;
    return result;
  }

  #hintFrom(word: string, mapping: JsonValue | undefined): string | undefined {
    if (this.#found.issues.length > ERRORS_WITH_HINTS || !isObject(mapping)) return undefined;
    return suggestion(word, Object.keys(mapping).slice(0, MAX_LISTED), 'there are');
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
