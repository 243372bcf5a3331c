import { hash } from 'node:crypto';
import type { MaskingAction } from '../../blocks/masking/schema.ts';
import { plainJson } from '../../lib/text/json-literal.ts';
import { isObject, stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { hmacSha256 } from '../../lib/crypto/hmac.ts';
import { memoWhileItPays } from '../../lib/memo.ts';
import { shortDigests as fastDigests } from '../../fast/fast-paths.ts';
import { shortDigests, type ShortDigests } from '../../fast/sha256/short-digests.ts';

export interface Action {
  /** What a value becomes; the same value when the action does not touch it. */
  of(value: JsonValue): JsonValue;
  /** What the text of a scalar becomes, where that is all the action looks at. */
  readonly ofText?: (text: string) => string;
  /** Present when that text is ASCII and needs no escape. */
  readonly spelling?: DigestSpelling;
}

/** A text that is a prefix and the first digits of a digest. */
export interface DigestSpelling {
  readonly prefix: Uint8Array;
  readonly digits: number;
  /** Writes the digits of short texts; `undefined` where the machine cannot. */
  readonly digests: () => ShortDigests | undefined;
}

export interface Digests {
  /** 64 hexadecimal digits. */
  readonly of: (text: string) => string;
  /** The first `digits` of the same digests. */
  readonly ofCells: (digits: number) => ShortDigests | undefined;
}

const DIGITS = 64;
const TOKEN_DIGITS = 16;

export function compileAction(action: MaskingAction, digests: Digests): Action {
  switch (action.type) {
    case 'redact':
      return { of: () => action.mask };
    case 'hash':
      return { ...everyScalar(digests.of), ...spelledAs('', DIGITS, digests) };
    case 'tokenize': {
      const { prefix } = action;
      const tokens = everyScalar((text) => prefix + digests.of(text).slice(0, TOKEN_DIGITS));
      return { ...tokens, ...(PLAIN.test(prefix) ? spelledAs(prefix, TOKEN_DIGITS, digests) : {}) };
    }
    case 'partial':
      return everyScalar((text) => hideAllButLast(text, action.keep_last, action.mask_char));
    default:
      return action satisfies never;
  }
}

/** Made when the first page of columns comes. */
function spelledAs(
  prefix: string,
  digits: number,
  { ofCells }: Digests,
): { readonly spelling: DigestSpelling } {
  let digests: { readonly found: ShortDigests | undefined } | undefined;
  return {
    spelling: {
      prefix: Buffer.from(prefix),
      digits,
      digests: () => (digests ??= { found: ofCells(digits) }).found,
    },
  };
}

/**
 * Scalars are replaced by a text made of their text; containers by a copy in which every scalar is;
 * null stays.
 */
function everyScalar(hide: (text: string) => string): Action {
  const apply = (written: JsonValue): JsonValue => {
    const value = plainJson(written);
    if (value === null) return null;
    if (Array.isArray(value)) return value.map(apply);
    if (isObject(value))
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, apply(item)]));
    return hide(typeof value === 'string' ? value : stringifyJson(value));
  };
  return { of: apply, ofText: hide };
}

/**
 * The action for records that were masked before, such as dead letters: a text that looks like what
 * the action makes stays, because a hash of a hash matches nothing.
 */
export function keepingMasked(action: MaskingAction, compiled: Action): Action {
  const isMasked = maskedBy(action);
  const apply = (written: JsonValue): JsonValue => {
    const value = plainJson(written);
    if (typeof value === 'string' && isMasked(value)) return value;
    if (Array.isArray(value)) return value.map(apply);
    if (isObject(value))
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, apply(item)]));
    return compiled.of(value);
  };
  return action.type === 'redact' ? compiled : { of: apply };
}

function maskedBy(action: MaskingAction): (text: string) => boolean {
  switch (action.type) {
    case 'redact':
      return () => false;
    case 'hash':
      return (text) => /^[0-9a-f]{64}$/.test(text);
    case 'tokenize':
      return (text) =>
        text.startsWith(action.prefix) && /^[0-9a-f]{16}$/.test(text.slice(action.prefix.length));
    case 'partial':
      return (text) => hideAllButLast(text, action.keep_last, action.mask_char) === text;
    default:
      return action satisfies never;
  }
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

/** HMAC-SHA256 under the key, plain SHA-256 without one. Values that repeat are worked out once. */
export function createDigests(key: string | undefined): Digests {
  const compute =
    key === undefined ? (text: string): string => hash('sha256', text, 'hex') : hmacSha256(key);
  const remembered = memoWhileItPays(compute, REMEMBERED_VALUES);
  return {
    of: (text) => (text.length > REMEMBERED_LENGTH ? compute(text) : remembered(text)),
    ofCells: (digits) => (fastDigests.isOn() ? shortDigests(key, digits) : undefined),
  };
}
