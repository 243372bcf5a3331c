/** A running module: records pass through its memory as JSON, one after another. */
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { parseData, stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import {
  wasmApi,
  type WasmGlobal,
  type WasmMemory,
  type WasmModule,
} from '../../lib/wasm/wasm-api.ts';
import { FUEL_EXPORT } from './wasm-meter.ts';
import { HOST_MODULE, type WasmSettings } from './wasm-module.ts';

/**
 * The result for one record. `broken`: nothing that this instance does from now on can be trusted.
 */
export type WasmResult =
  | { readonly outcome: 'ok'; readonly record: JsonValue }
  | { readonly outcome: 'filter' }
  | { readonly outcome: 'error'; readonly reason: string; readonly broken: boolean };

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const;
const LONGEST_LOG_BYTES = 8192;
/** Fuel for a line in the log, besides one a byte, so that a loop cannot fill the log. */
const LOG_FUEL = 10_000n;
const LONGEST_REASON_BYTES = 2048;
const ALL_ONES = 0xffff_ffff_ffff_ffffn;

type WasmFunction = (...args: (number | bigint)[]) => unknown;

/** Thrown by what the module calls, to end the call. */
class OutOfBounds extends Error {}

export class WasmInstance {
  readonly #settings: WasmSettings;
  readonly #env: Env;
  readonly #exports: Readonly<Record<string, unknown>>;

  /** Also runs its start function, with separate fuel. */
  constructor(module: WasmModule, settings: WasmSettings, env: Env) {
    this.#settings = settings;
    this.#env = env;
    const host = {
      log: (level: number, pointer: number, length: number) => this.#log(level, pointer, length),
      now_ns: () => BigInt(env.clock.now().getTime()) * 1_000_000n,
    };
    this.#exports = new wasmApi.Instance(module, { [HOST_MODULE]: host }).exports;
  }

  get memoryBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  /** Of the last record. */
  get fuelUsed(): number {
    return Number(BigInt(this.#settings.fuel_limit) - this.#fuelLeft());
  }

  apply(record: JsonValue): WasmResult {
    this.#fuel.value = BigInt(this.#settings.fuel_limit);
    try {
      return this.#call(new TextEncoder().encode(stringifyJson(record)));
    } catch (error) {
      return { outcome: 'error', reason: this.#reasonOf(error), broken: true };
    }
  }

  #call(input: Uint8Array): WasmResult {
    const pointer = Number(this.#function('alloc')(input.length)) >>> 0;
    this.#bytes(pointer, input.length).set(input);
    const packed = this.#function(this.#settings.function)(pointer, input.length);
    if (typeof packed !== 'bigint')
      return wrong(`\`${this.#settings.function}\` does not give an i64`);
    const bits = BigInt.asUintN(64, packed);
    if (bits === ALL_ONES) return wrong(this.#ownReason());
    if (bits === 0n) return this.#freed(pointer, input.length, { outcome: 'filter' });
    const at = Number(bits >> 32n);
    const length = Number(bits & 0xffff_ffffn);
    // A copy: the module may use its memory again when it knows that it is free.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      this.#bytes(at, length).slice(),
    );
    if (at !== pointer) this.#free(at, length);
    let output: JsonValue;
    try {
      output = parseData(text);
    } catch {
      return wrong('what it gives is not JSON');
    }
    return this.#freed(pointer, input.length, { outcome: 'ok', record: output });
  }

  #freed(pointer: number, length: number, result: WasmResult): WasmResult {
    this.#free(pointer, length);
    return result;
  }

  #free(pointer: number, length: number): void {
    const { free } = this.#exports;
    if (typeof free === 'function') (free as WasmFunction)(pointer, length);
  }

  /** The error message of the module, if it gives one. */
  #ownReason(): string {
    const { error_ptr: pointer, error_len: length } = this.#exports;
    if (typeof pointer !== 'function' || typeof length !== 'function') return 'it reports an error';
    const bytes = this.#bytes(
      Number((pointer as WasmFunction)()) >>> 0,
      Math.min(Number((length as WasmFunction)()) >>> 0, LONGEST_REASON_BYTES),
    );
    return `it reports an error: ${new TextDecoder().decode(bytes.slice())}`;
  }

  #reasonOf(error: unknown): string {
    if (this.#fuelLeft() < 0n)
      return `it needs more fuel than ${this.#settings.fuel_limit} (\`fuel_limit\`) for one record`;
    if (error instanceof OutOfBounds) return error.message;
    if (error instanceof TypeError) return 'what it gives is not UTF-8, or no number';
    const atLimit = this.memoryBytes >= this.#settings.memory_limit_mb * 1024 * 1024;
    return `it trapped: ${messageOf(error)}${atLimit ? `; its memory is at the limit of ${this.#settings.memory_limit_mb} MB` : ''}`;
  }

  #log(level: number, pointer: number, length: number): void {
    const bytes = this.#bytes(pointer >>> 0, Math.min(length >>> 0, LONGEST_LOG_BYTES));
    this.#fuel.value = this.#fuelLeft() - LOG_FUEL - BigInt(bytes.length);
    if (this.#fuelLeft() < 0n) throw new OutOfBounds('it has no fuel left');
    const log = this.#env.log.at('headgate::wasm');
    const text = new TextDecoder().decode(bytes.slice());
    log[LEVELS[level] ?? 'info'](text, { module: this.#settings.module });
  }

  #bytes(pointer: number, length: number): Uint8Array {
    const { buffer } = this.#memory;
    if (pointer + length <= buffer.byteLength) return new Uint8Array(buffer, pointer, length);
    throw new OutOfBounds(
      `it names ${length} bytes at ${pointer}, which are not in its memory of ${buffer.byteLength}`,
    );
  }

  #fuelLeft(): bigint {
    return this.#fuel.value;
  }

  // What is exported was checked when the module was loaded.
  get #fuel(): WasmGlobal {
    return this.#exports[FUEL_EXPORT] as WasmGlobal;
  }

  get #memory(): WasmMemory {
    return this.#exports['memory'] as WasmMemory;
  }

  #function(name: string): WasmFunction {
    return this.#exports[name] as WasmFunction;
  }
}

function wrong(reason: string): WasmResult {
  return { outcome: 'error', reason, broken: false };
}
