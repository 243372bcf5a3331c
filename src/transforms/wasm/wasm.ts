import { z } from 'zod';
import { messageOf, RecordError } from '../../lib/errors.ts';
import type { Env } from '../../lib/env.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { defineMetric } from '../../lib/metrics/metrics.ts';
import { declaredColumns } from '../../kit/declared-columns.ts';
import { UNKNOWN_SCHEMA } from '../../kit/record-schema.ts';
import { boolean, integer, text } from '../../kit/schema.ts';
import { recordTyper } from '../../kit/typed-pages.ts';
import { defineTransform, type RecordsWithOrigins } from '../../kit/transform.ts';
import type { WasmModule } from '../../lib/wasm/wasm-api.ts';
import { WasmInstance, type WasmResult } from './wasm-instance.ts';
import { currentVersion, loadModule, type LoadedModule } from './wasm-module.ts';

const schema = z.lazy(() =>
  z.strictObject({
    module: text().meta({
      description:
        'File of the module, as binary WebAssembly. It exports `memory`, `alloc(len) -> ptr` and the function.',
      examples: ['transforms/clean.wasm'],
    }),
    function: text().default('transform').meta({
      description:
        'Function that is called for each record: `(ptr, len) -> i64` on its JSON. The upper half of the result is the address of the new JSON, the lower half its length; 0 leaves the record out, all ones is an error.',
    }),
    memory_limit_mb: integer({ min: 1, max: 4096 })
      .default(16)
      .meta({ description: 'Most memory the module can have.' }),
    fuel_limit: integer({ min: 1 }).default(10_000_000).meta({
      description:
        'Most work for one record. Every instruction of a function, and of each iteration of a loop, costs 1 when that begins; operations on blocks of memory cost 1 for 8 bytes.',
    }),
    on_error: z.enum(['fail', 'skip', 'passthrough']).default('fail').meta({
      description:
        'What happens when a record cannot be transformed: the run fails, or the record is left out, or it passes unchanged.',
    }),
    columns: declaredColumns().meta({
      description:
        'Types of the fields that the module gives, by name. Values are converted; a record with one that does not fit cannot be transformed, and one that passes unchanged has to fit too. Sinks create columns of these types. Other fields stay as they are.',
    }),
    reload_on_change: boolean().default(false).meta({
      description: 'Whether the file is loaded again before a page when it has changed.',
    }),
  }),
);

type WasmConfig = z.infer<typeof schema>;

const invocations = defineMetric({
  name: 'svc_wasm_invocations_total',
  type: 'counter',
  help: 'Records given to a module, by what became of them: ok, filter or error.',
  labels: ['module', 'outcome'],
});
const duration = defineMetric({
  name: 'svc_wasm_invocation_duration_seconds',
  type: 'histogram',
  help: 'Time a module took for one record.',
  labels: ['module'],
});
const fuelConsumed = defineMetric({
  name: 'svc_wasm_fuel_consumed_total',
  type: 'counter',
  help: 'Work done by a module, as `fuel_limit` counts it.',
  labels: ['module'],
});
const memoryBytes = defineMetric({
  name: 'svc_wasm_memory_bytes',
  type: 'gauge',
  help: 'Memory of a module at the end of its last page.',
  labels: ['module'],
});

export const wasm = defineTransform<WasmConfig>({
  type: 'wasm',
  description:
    'Gives each record to a function of a WebAssembly module, which sees no files, network or environment. It can import `log(level, ptr, len)` and `now_ns() -> i64` from `headgate_v1`. Every page gets a fresh instance.',
  config: schema,
  examples: [
    {
      config: { module: 'test/fixtures/wasm/identity.wasm' },
      input: [{ id: 1, name: 'a' }],
      output: [{ id: 1, name: 'a' }],
    },
  ],
  reads: () => ({ kind: 'record' }),
  columns: () => ({ kind: 'opaque' }),
  schema: ({ columns }) => columns ?? UNKNOWN_SCHEMA,
  async compile(config, { env }) {
    let loaded = await loadModule(config, env);
    return {
      kind: 'page',
      async apply(records, signal) {
        if (config.reload_on_change) loaded = await reloaded(loaded, config, env);
        return new PageOfModule(loaded.module, config, env).apply(records, signal);
      },
    };
  },
});

async function reloaded(loaded: LoadedModule, config: WasmConfig, env: Env): Promise<LoadedModule> {
  const version = await currentVersion(config, env);
  return version === undefined || version === loaded.version ? loaded : loadModule(config, env);
}

/** One page, in a fresh instance without anything from the page before. */
class PageOfModule {
  readonly #module: WasmModule;
  readonly #config: WasmConfig;
  readonly #env: Env;
  readonly #typed: ((record: JsonValue) => JsonValue) | undefined;
  #instance: WasmInstance | undefined;

  constructor(module: WasmModule, config: WasmConfig, env: Env) {
    this.#module = module;
    this.#config = config;
    this.#env = env;
    const { columns } = config;
    if (columns !== undefined)
      this.#typed = recordTyper(columns, { name: 'the module', fromText: false });
  }

  apply(records: readonly JsonValue[], signal: AbortSignal): RecordsWithOrigins {
    const out: JsonValue[] = [];
    const origins: number[] = [];
    for (const [index, record] of records.entries()) {
      signal.throwIfAborted();
      const result = this.#measured(record);
      if (result.outcome === 'ok') out.push(result.record);
      else if (result.outcome === 'error' && this.#config.on_error !== 'skip')
        out.push(this.#despite(record, result.reason));
      if (origins.length < out.length) origins.push(index);
    }
    if (this.#instance !== undefined)
      this.#env.metrics.set(
        memoryBytes,
        { module: this.#config.module },
        this.#instance.memoryBytes,
      );
    return { records: out, origins };
  }

  #measured(record: JsonValue): WasmResult {
    const { metrics, clock } = this.#env;
    const { module } = this.#config;
    const from = clock.elapsedMs();
    const result = this.#transform(record);
    metrics.observe(duration, { module }, (clock.elapsedMs() - from) / 1000);
    metrics.inc(invocations, { module, outcome: result.outcome });
    return result;
  }

  #transform(record: JsonValue): WasmResult {
    try {
      this.#instance ??= new WasmInstance(this.#module, this.#config, this.#env);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { outcome: 'error', reason: `it cannot start: ${why}`, broken: true };
    }
    const result = this.#instance.apply(record);
    this.#env.metrics.inc(
      fuelConsumed,
      { module: this.#config.module },
      Math.min(this.#instance.fuelUsed, this.#config.fuel_limit),
    );
    if (result.outcome === 'error' && result.broken) this.#instance = undefined;
    return result.outcome === 'ok' ? this.#withTypes(result.record) : result;
  }

  /** The values have the types that the config declares. */
  #withTypes(record: JsonValue): WasmResult {
    if (this.#typed === undefined) return { outcome: 'ok', record };
    try {
      return { outcome: 'ok', record: this.#typed(record) };
    } catch (error) {
      return { outcome: 'error', reason: messageOf(error), broken: false };
    }
  }

  #despite(record: JsonValue, reason: string): JsonValue {
    const unchanged = this.#config.on_error === 'passthrough' ? this.#withTypes(record) : undefined;
    if (unchanged?.outcome === 'ok') return unchanged.record;
    throw new RecordError(
      'Transform',
      `the module ${JSON.stringify(this.#config.module)} cannot transform a record: ${reason}`,
      {
        hint: 'set `on_error` to `skip` or `passthrough` to go on without it',
      },
    );
  }
}
