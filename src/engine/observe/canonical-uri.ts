/**
 * What a data set is called where it is remembered: the same on every day, although a run puts the
 * day into its address.
 */
import { hash } from 'node:crypto';
import { renderNow } from '../../document/tokens/now-tokens.ts';
import { classify, restoreEscapes, rewriteTokens } from '../../document/tokens/tokens.ts';
import { isObject, jsonText, type JsonValue } from '../../lib/text/json.ts';
import { valueAt, type RuntimeTokens } from '../../plan/resolve.ts';
import type { ObservedDataset } from './datasets.ts';

/**
 * One token of a config or several without anything between them, and the characters beside it
 * where they are fixed.
 */
interface Unit {
  readonly written: string;
  readonly rendered: string;
  readonly left: string;
  readonly right: string;
}

/** Cannot stand in a text: texts with NUL are refused when a document is read. */
const CUT = '\u0001';

/** The address with `${now.*}`, and with the bounds of a chunk, where a run filled them in. */
export function canonicalUri(
  { uri, part }: ObservedDataset,
  tokens: RuntimeTokens,
): string | undefined {
  if (uri === undefined || !part.deferred) return uri;
  let canonical = uri;
  const units: Unit[] = [];
  for (const text of textsOf(part.config)) {
    const filled = filledText(text, tokens);
    // On 1 January month and day look the same, so a date that is there as a whole is not split.
    const whole = putBack(canonical, wholeOf(filled));
    if (whole === canonical) units.push(...unitsOf(filled));
    canonical = whole;
  }
  return units.sort((a, b) => b.rendered.length - a.rendered.length).reduce(putBack, canonical);
}

/** First 16 hexadecimal digits of the SHA-256 of the canonical address. */
export function datasetId(uri: string): string {
  return hash('sha256', uri).slice(0, 16);
}

function textsOf(value: JsonValue): string[] {
  if (typeof value === 'string') return value.includes('${') ? [value] : [];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return isObject(value) ? Object.values(value).flatMap(textsOf) : [];
}

/** A text of a config: what is fixed in it, and the tokens between that. */
interface FilledText {
  readonly literals: readonly string[];
  readonly found: readonly { readonly written: string; readonly rendered: string | undefined }[];
}

function filledText(text: string, tokens: RuntimeTokens): FilledText {
  const found: { readonly written: string; readonly rendered: string | undefined }[] = [];
  const replace = (body: string): string => {
    found.push({ written: `\${${body}}`, rendered: renderingOf(body, tokens) });
    return CUT;
  };
  return {
    literals: restoreEscapes(rewriteTokens(text, { replace, tooDeep: () => undefined })).split(CUT),
    found,
  };
}

function wholeOf({ literals, found }: FilledText): Unit {
  const isKnown = found.every(({ rendered }) => rendered !== undefined);
  const joined = (side: 'written' | 'rendered'): string =>
    literals.map((literal, index) => literal + (found[index]?.[side] ?? '')).join('');
  return {
    written: joined('written'),
    rendered: isKnown ? joined('rendered') : '',
    left: '',
    right: '',
  };
}

function unitsOf({ literals, found }: FilledText): Unit[] {
  const units: Unit[] = [];
  for (let index = 0; index < found.length; index += 1) {
    const first = index;
    while (index + 1 < found.length && literals[index + 1] === '') index += 1;
    const run = found.slice(first, index + 1);
    const rendered = run.map((one) => one.rendered);
    if (rendered.includes(undefined)) continue;
    units.push({
      written: run.map(({ written }) => written).join(''),
      rendered: rendered.join(''),
      left: literals[first]?.at(-1) ?? '',
      right: literals[index + 1]?.at(0) ?? '',
    });
  }
  return units;
}

function renderingOf(body: string, { now, records }: RuntimeTokens): string | undefined {
  const token = classify(body);
  if (token.kind === 'now') return renderNow(token.name, now);
  if (token.kind !== 'path' || token.root !== 'partition') return undefined;
  const value = valueAt(records.get('partition') ?? null, token.path);
  return value === undefined ? undefined : jsonText(value);
}

/**
 * Where nothing is fixed beside it, it must stand by itself: a day of two digits is found in many
 * numbers.
 */
function putBack(uri: string, { written, rendered, left, right }: Unit): string {
  if (rendered === '') return uri;
  let out = '';
  let from = 0;
  for (let at = uri.indexOf(rendered); at !== -1; at = uri.indexOf(rendered, at + 1)) {
    const end = at + rendered.length;
    if (at < from || !fits(uri.charAt(at - 1), left) || !fits(uri.charAt(end), right)) continue;
    out += uri.slice(from, at) + written;
    from = end;
  }
  return out + uri.slice(from);
}

function fits(beside: string, fixed: string): boolean {
  return fixed === '' ? !/[A-Za-z0-9]/.test(beside) : beside === fixed;
}
