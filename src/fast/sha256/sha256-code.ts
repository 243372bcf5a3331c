/**
 * A WebAssembly module that computes SHA-256 (FIPS 180-4) of four blocks at once, one in each lane of
 * a vector. For short texts a call into the crypto library of the runtime takes longer than the
 * hashing itself; this code has no such call, and four texts take the time of one.
 */
import {
  addWords,
  chosenBits,
  eitherBits,
  functionModule,
  get,
  int,
  loadVector,
  oddBits,
  set,
  shiftWordsLeft,
  shiftWordsRight,
  splatWords,
  storeVector,
  V128,
  type Code,
} from '../wasm/wasm-code.ts';

/**
 * What the module exports. A state is eight vectors, a block is sixteen; all are addresses in its
 * one page of memory.
 */
export interface Sha256Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** Writes to `out` the state that follows `state` after `block`. */
  readonly compress: (state: number, block: number, out: number) => void;
}

const WORDS_A_STATE = 8;
const WORDS_A_BLOCK = 16;
const ROUNDS = 64;
const VECTOR_BYTES = 16;

/**
 * The constants of the standard: the first bits of the fractional parts of roots of the first primes.
 */
const PRIMES = firstPrimes(ROUNDS);
export const FIRST_STATE: readonly number[] = PRIMES.slice(0, WORDS_A_STATE).map((prime) =>
  fractionBits(Math.sqrt(prime)),
);
const ROUND_CONSTANTS = PRIMES.map((prime) => fractionBits(Math.cbrt(prime)));

const [STATE, BLOCK, OUT] = [0, 1, 2];
/** Places of the locals. */
const STATE_WORDS = 3;
const BLOCK_WORDS = STATE_WORDS + WORDS_A_STATE;
const SUM = BLOCK_WORDS + WORDS_A_BLOCK;
const LOCALS = SUM + 1 - STATE_WORDS;

const word = (address: number, index: number): Code =>
  loadVector(get(address), index * VECTOR_BYTES);
const xor = (a: Code, b: Code, c: Code): Code => oddBits(oddBits(a, b), c);
const shiftRight = (local: number, bits: number): Code => shiftWordsRight(get(local), int(bits));
const rotate = (local: number, bits: number): Code =>
  eitherBits(shiftRight(local, bits), shiftWordsLeft(get(local), int(32 - bits)));
const sum = (...words: Code[]): Code => words.reduce((left, right) => addWords(left, right));

export function sha256Module(): Uint8Array {
  const locals = Array.from({ length: LOCALS }, () => V128);
  return functionModule({
    name: 'compress',
    params: 3,
    returnsNumber: false,
    locals,
    body: compressCode(),
    pages: 1,
  });
}

function compressCode(): Code {
  const code: Code[] = [];
  const state = Array.from({ length: WORDS_A_STATE }, (_, index) => STATE_WORDS + index);
  for (let index = 0; index < WORDS_A_STATE; index += 1)
    code.push(set(STATE_WORDS + index, word(STATE, index)));
  for (let index = 0; index < WORDS_A_BLOCK; index += 1)
    code.push(set(BLOCK_WORDS + index, word(BLOCK, index)));
  for (let round = 0; round < ROUNDS; round += 1) {
    if (round >= WORDS_A_BLOCK) code.push(scheduleCode(round));
    code.push(roundCode(state, round));
    // Instead of moving eight words by one place, the locals change their roles.
    state.unshift(state.pop() as number);
  }
  for (const [index, local] of state.entries())
    code.push(
      storeVector(get(OUT), addWords(word(STATE, index), get(local)), index * VECTOR_BYTES),
    );
  return code.flat();
}

/** The word of a round takes the place of the one that was used sixteen rounds before. */
function scheduleCode(round: number): Code {
  const before = (back: number): number => BLOCK_WORDS + ((round - back) % WORDS_A_BLOCK);
  const near = xor(rotate(before(2), 17), rotate(before(2), 19), shiftRight(before(2), 10));
  const far = xor(rotate(before(15), 7), rotate(before(15), 18), shiftRight(before(15), 3));
  return set(before(16), sum(get(before(16)), far, get(before(7)), near));
}

function roundCode(state: readonly number[], round: number): Code {
  const [a, b, c, d, e, f, g, h] = state as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const chosen = chosenBits(get(f), get(g), get(e));
  // Majority: where `a` and `b` differ, `c` decides.
  const majority = chosenBits(get(c), get(a), oddBits(get(a), get(b)));
  const constant = splatWords(int(ROUND_CONSTANTS[round] ?? 0));
  const mixedE = xor(rotate(e, 6), rotate(e, 11), rotate(e, 25));
  const mixedA = xor(rotate(a, 2), rotate(a, 13), rotate(a, 22));
  return [
    ...set(SUM, sum(get(h), mixedE, chosen, constant, get(BLOCK_WORDS + (round % WORDS_A_BLOCK)))),
    ...set(d, sum(get(d), get(SUM))),
    ...set(h, sum(mixedA, majority, get(SUM))),
  ];
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let number = 2; primes.length < count; number += 1)
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  return primes;
}

function fractionBits(root: number): number {
  return Math.floor((root % 1) * 2 ** 32) | 0;
}
