/**
 * From a file to a module that counts its work: read, checked, rewritten, compiled. The same content
 * is compiled once.
 */
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ConfigError, messageOf } from '../../lib/errors.ts';
import { readRegular } from '../../lib/files/regular-file.ts';
import type { Env } from '../../lib/env.ts';
import { defineMetric } from '../../lib/metrics/metrics.ts';
import { wasmApi, type WasmModule } from '../../lib/wasm/wasm-api.ts';
import { WasmFormatError } from '../../lib/wasm/wasm-bytes.ts';
import { FUEL_EXPORT, meteredModule } from './wasm-meter.ts';

/** The one module that can be imported, and what is in it. */
export const HOST_MODULE = 'headgate_v1';
export const HOST_FUNCTIONS = ['log', 'now_ns'] as const;

export interface WasmSettings {
  readonly module: string;
  readonly function: string;
  readonly memory_limit_mb: number;
  readonly fuel_limit: number;
}

export interface LoadedModule {
  readonly module: WasmModule;
  /** Changes with the file. */
  readonly version: string;
}

const PAGES_PER_MB = 16;
const LONGEST_MODULE_BYTES = 64 * 1024 * 1024;
const MOST_KEPT = 16;

const compileDuration = defineMetric({
  name: 'svc_wasm_compile_duration_seconds',
  type: 'histogram',
  help: 'Time it took to rewrite and compile a module.',
  labels: ['module'],
});

/** By content and limits, the one used last at the end. */
const compiled = new Map<string, WasmModule>();

export async function loadModule(settings: WasmSettings, env: Env): Promise<LoadedModule> {
  const path = resolve(env.cwd, settings.module);
  let bytes: Uint8Array;
  let version: string;
  try {
    version = await versionOf(path);
    bytes = await readRegular(path, { limitBytes: LONGEST_MODULE_BYTES + 1 });
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw refusal(
      'file_unreadable',
      settings,
      `cannot be read: ${missing ? 'it does not exist' : messageOf(error)}`,
      error,
    );
  }
  if (bytes.length > LONGEST_MODULE_BYTES)
    throw refusal('too_large', settings, 'is larger than 64 MiB');
  const digest = createHash('sha256').update(bytes).digest('hex');
  const key = `${digest} ${settings.memory_limit_mb} ${settings.fuel_limit}`;
  const module = compiled.get(key) ?? (await compile(bytes, settings, env));
  compiled.delete(key);
  compiled.set(key, module);
  for (const oldest of compiled.keys()) {
    if (compiled.size <= MOST_KEPT) break;
    compiled.delete(oldest);
  }
  checkShape(module, settings);
  return { module, version };
}

export async function currentVersion(
  { module }: WasmSettings,
  env: Env,
): Promise<string | undefined> {
  try {
    return await versionOf(resolve(env.cwd, module));
  } catch {
    // The file is being replaced; the module that is loaded still works.
    return undefined;
  }
}

async function versionOf(path: string): Promise<string> {
  const { mtimeNs, size } = await stat(path, { bigint: true });
  return `${mtimeNs} ${size}`;
}

async function compile(bytes: Uint8Array, settings: WasmSettings, env: Env): Promise<WasmModule> {
  const from = env.clock.elapsedMs();
  try {
    const metered = meteredModule(bytes, {
      memoryPages: settings.memory_limit_mb * PAGES_PER_MB,
      fuelLimit: settings.fuel_limit,
    });
    const module = await wasmApi.compile(metered);
    env.metrics.observe(
      compileDuration,
      { module: settings.module },
      (env.clock.elapsedMs() - from) / 1000,
    );
    return module;
  } catch (error) {
    if (!(error instanceof WasmFormatError || error instanceof wasmApi.CompileError)) throw error;
    throw refusal('invalid_value', settings, `cannot be compiled: ${error.message}`, error);
  }
}

function checkShape(module: WasmModule, settings: WasmSettings): void {
  for (const { module: from, name } of wasmApi.Module.imports(module)) {
    if (from === HOST_MODULE && (HOST_FUNCTIONS as readonly string[]).includes(name)) continue;
    const offered = HOST_FUNCTIONS.map((one) => `\`${HOST_MODULE}.${one}\``).join(' and ');
    throw refusal(
      'invalid_value',
      settings,
      `imports \`${from}.${name}\`; there are ${offered}: no files, network or environment`,
    );
  }
  const exports = new Map(wasmApi.Module.exports(module).map(({ name, kind }) => [name, kind]));
  const wanted = [
    ['memory', 'memory'] as const,
    ['alloc', 'function'] as const,
    [settings.function, 'function'] as const,
  ];
  for (const [name, kind] of wanted) {
    if (exports.get(name) === kind) continue;
    throw refusal('invalid_value', settings, `exports no ${kind} called \`${name}\``);
  }
  if (exports.get(FUEL_EXPORT) !== 'global')
    throw new Error('cannot happen: a metered module has its fuel');
}

function refusal(
  code: string,
  { module }: WasmSettings,
  says: string,
  cause?: unknown,
): ConfigError {
  const message = `the module ${JSON.stringify(module)} ${says}`;
  const hint = 'relative paths start at the folder the process runs in';
  return new ConfigError(
    [{ code, path: 'wasm.module', message, ...(code === 'file_unreadable' ? { hint } : {}) }],
    { cause },
  );
}
