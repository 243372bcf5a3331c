import { hash } from 'node:crypto';
import type { MaskingAction } from '../../document/blocks/masking.ts';
import { isObject, stringifyJson, type JsonValue } from '../../lib/json.ts';
import { hmacSha256 } from '../../lib/hmac.ts';
import { memoWhileItPays } from '../../lib/memo.ts';

export interface Action {
  /** What a value becomes; the same value when the action does not touch it. */
  of(value: JsonValue): JsonValue;
  /** What the text of a scalar becomes, where that is all the action looks at. */
  readonly ofText?: (text: string) => string;
  /** Whether that text is ASCII and needs no escape. */
  readonly isPlain?: boolean;
}

export type Digest = (text: string) => string;

export function compileAction(action: MaskingAction, digest: Digest): Action {
  switch (action.type) {
    case 'redact':
      return { of: () => action.mask };
    case 'hash':
      return { ...everyScalar(digest), isPlain: true };
    case 'tokenize':
      return { ...everyScalar((text) => action.prefix + digest(text).slice(0, 16)), isPlain: PLAIN.test(action.prefix) };
    case 'partial':
      return everyScalar((text) => hideAllButLast(text, action.keep_last, action.mask_char));
    default:
      return action satisfies never;
  }
}

/** Scalars are replaced by a text made of their text; containers by a copy in which every scalar is; null stays. */
function everyScalar(hide: (text: string) => string): Action {
  const apply = (value: JsonValue): JsonValue => {
    if (value === null) return null;
    if (Array.isArray(value)) return value.map(apply);
    if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, apply(item)]));
    return hide(typeof value === 'string' ? value : stringifyJson(value));
  };
  return { of: apply, ofText: hide };
}

/** ASCII but for control characters, quotes and backslashes. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** Counts Unicode characters. A text of at most `keep` characters is hidden whole. */
export function hideAllButLast(text: string, keep: number, mask: string): string {
  const characters = Array.from(text);
  const hidden = keep >= characters.length ? characters.length : characters.length - keep;
  return mask.repeat(hidden) + characters.slice(hidden).join('');
}

const REMEMBERED_VALUES = 10_000;
/** Long values rarely repeat and would fill the memory. */
const REMEMBERED_LENGTH = 256;

/** 64 hexadecimal digits: HMAC-SHA256 under the key, plain SHA-256 without one. Values that repeat are worked out once. */
export function createDigest(key: string | undefined): Digest {
  const compute: Digest = key === undefined ? (text) => hash('sha256', text, 'hex') : hmacSha256(key);
  const remembered = memoWhileItPays(compute, REMEMBERED_VALUES);
  return (text) => (text.length > REMEMBERED_LENGTH ? compute(text) : remembered(text));
}
