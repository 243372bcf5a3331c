import { mkdtempSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recordsOf } from '../../../test/support/transforms.ts';
import { testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import {
  alloc,
  assemble,
  code,
  I32,
  I64,
  identity,
  transform,
  type FunctionParts,
  type ModuleParts,
} from '../../../test/fixtures/wasm/assemble.ts';
import type { CompiledTransform } from '../../kit/transform.ts';
import { ConfigError } from '../../lib/errors.ts';
import { parseData, stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import type { Metrics } from '../../lib/metrics/metrics.ts';
import { wasmApi } from '../../lib/wasm/wasm-api.ts';
import { meteredModule } from './wasm-meter.ts';
import { UNKNOWN_SCHEMA } from '../../kit/record-schema.ts';
import { schemaText } from '../../kit/type-text.ts';
import { wasm } from './wasm.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-wasm-'));
let files = 0;

function write(bytes: Uint8Array, name = `m${(files += 1)}.wasm`): string {
  writeFileSync(join(folder, name), bytes);
  return name;
}

/** What was measured, as `name{labels}` with its values. */
function measuring(): { metrics: Metrics; values: Map<string, number[]> } {
  const values = new Map<string, number[]>();
  const note = (metric: { readonly name: string }, labels: object, value = 1): void => {
    const key = `${metric.name} ${Object.values(labels).slice(1).join()}`.trim();
    values.set(key, [...(values.get(key) ?? []), value]);
  };
  return { metrics: { inc: note, set: note, observe: note }, values };
}

interface Run {
  readonly config?: Record<string, unknown>;
  readonly env?: TestEnv;
}

type Pages = Extract<CompiledTransform, { kind: 'page' }>;

async function compiled(
  module: Uint8Array | string,
  { config = {}, env = testEnv({ cwd: folder }) }: Run = {},
): Promise<Pages> {
  const path = typeof module === 'string' ? module : write(module);
  const stage = await wasm.compile(wasm.config.parse({ module: path, ...config }), { env });
  if (stage.kind !== 'page') throw new Error('the transform works on pages');
  return stage;
}

async function run(
  parts: ModuleParts,
  records: readonly JsonValue[],
  options: Run = {},
): Promise<readonly JsonValue[]> {
  return applied(await compiled(assemble(parts), options), records);
}

async function applied(stage: Pages, records: readonly JsonValue[]): Promise<readonly JsonValue[]> {
  return recordsOf(await stage.apply(records, new AbortController().signal));
}

const withBody = (...body: readonly (readonly number[])[]): ModuleParts => ({
  functions: [alloc, transform(...body)],
});
/** Gives the text at address 0. */
const giving = (text: string): ModuleParts => ({
  ...withBody(code.i64(BigInt(Buffer.byteLength(text)))),
  data: text,
});

async function failure(parts: ModuleParts, options: Run = {}): Promise<string> {
  return run(parts, [{ id: 1 }], options).then(
    () => 'nothing failed',
    (error: unknown) => (error as Error).message,
  );
}

async function refusal(
  module: Uint8Array | string,
  config: Record<string, unknown> = {},
): Promise<string> {
  const error: unknown = await compiled(module, { config }).catch((why: unknown) => why);
  if (error instanceof ConfigError) return error.issues[0]?.message ?? '';
  throw new Error('nothing was refused', { cause: error });
}

describe('a record', () => {
  const records = [
    { text: 'ä"\n𝄞', big: 9007199254740993n, none: null, list: [1.5, { deep: true }] },
    'plain',
    [],
    7,
  ];

  it('comes back with its numbers as the module wrote them', async () => {
    const text = '{"price":1.10,"exact":12345.678901234567890123,"zero":-0.0}';
    const [there] = await applied(await compiled(identity()), [parseData(text)]);
    const [made] = await run(giving(text), [{}]);
    expect([there, made].map((value = null) => stringifyJson(value))).toEqual([text, text]);
  });

  it('goes into the module as JSON and comes back as JSON', async () => {
    expect(await applied(await compiled(identity()), records)).toEqual(records);
    expect(await run(giving('{"made":[1,"ü"]}'), [1, 2])).toEqual([
      { made: [1, 'ü'] },
      { made: [1, 'ü'] },
    ]);
  });

  it('is left out when the module gives 0', async () => {
    expect(await run(withBody(code.i64(0n)), records)).toEqual([]);
  });

  it('is notified of freed memory when the module wants to know', async () => {
    const free: FunctionParts = { name: 'free', parameters: [I32, I32], body: [code.unreachable] };
    const trapping = { functions: [alloc, transform(code.i64(0n)), free] };
    expect(await failure(trapping)).toContain('trapped');
  });
});

describe('an instance', () => {
  /** Gives `1` for the first call of an instance, and leaves the others out. */
  const firstOnly: ModuleParts = {
    data: '1',
    functions: [
      alloc,
      transform(
        code.i32(500),
        code.load8,
        code.setLocal(2),
        code.i32(500),
        code.i32(1),
        code.store8,
        code.local(2),
        code.when(code.i64(0n), code.return),
        code.i64(1n),
      ),
    ],
  };

  it('is made for every page and kept within it', async () => {
    const stage = await compiled(assemble(firstOnly));
    expect(await applied(stage, [1, 2, 3])).toEqual([1]);
    expect(await applied(stage, [4, 5])).toEqual([1]);
  });

  it('is not used after it trapped', async () => {
    const trapsSecond: ModuleParts = {
      data: '1',
      functions: [
        alloc,
        transform(
          code.i32(500),
          code.load8,
          code.when(code.unreachable),
          code.i32(500),
          code.i32(1),
          code.store8,
          code.i64(1n),
        ),
      ],
    };
    expect(await run(trapsSecond, [1, 2, 3, 4], { config: { on_error: 'passthrough' } })).toEqual([
      1, 2, 1, 4,
    ]);
  });
});

describe('a record that cannot be transformed', () => {
  const trap = withBody(code.unreachable);

  it('fails the run, is left out, or goes on', async () => {
    expect(await failure(trap)).toMatch(/cannot transform a record: it trapped: unreachable/);
    expect(await run(trap, [1, 2], { config: { on_error: 'skip' } })).toEqual([]);
    expect(await run(trap, [1, 2], { config: { on_error: 'passthrough' } })).toEqual([1, 2]);
  });

  it('has the reason that the module gives', async () => {
    const one = (name: string, value: number): FunctionParts => ({
      name,
      results: [I32],
      body: [code.i32(value)],
    });
    const allOnes = transform(code.i64(-1n));
    expect(await failure({ functions: [alloc, allOnes] })).toContain('it reports an error');
    const failing = {
      functions: [alloc, allOnes, one('error_ptr', 0), one('error_len', 8)],
      data: 'no price here',
    };
    expect(await failure(failing)).toContain('it reports an error: no price');
  });

  it('is one for which no good answer comes', async () => {
    expect(await failure(giving('{"x"'))).toContain('not JSON');
    expect(await failure(giving('\u00ff'.repeat(3).slice(0, 1)))).toContain('not JSON');
    expect(await failure(withBody(code.i64((70_000n << 32n) | 10n)))).toContain(
      '10 bytes at 70000, which are not in its memory',
    );
    expect(
      await failure({ functions: [{ ...alloc, body: [code.i32(-1)] }, transform(code.i64(0n))] }),
    ).toContain('not in its memory');
    const wrongType: FunctionParts = {
      name: 'transform',
      parameters: [I32, I32],
      results: [I32],
      body: [code.i32(1)],
    };
    expect(await failure({ functions: [alloc, wrongType] })).toContain('does not give an i64');
  });
});

describe('a module that does not end', () => {
  const fuel = { config: { fuel_limit: 100_000 } };

  it.each<[string, readonly FunctionParts[]]>([
    ['in a loop', [alloc, transform(code.loop(code.branch(0)), code.i64(0n))]],
    [
      'in a loop within a loop',
      [alloc, transform(code.loop(code.loop(code.branch(1))), code.i64(0n))],
    ],
    [
      'before it is asked for anything',
      [{ ...alloc, body: [code.loop(code.branch(0)), code.i32(0)] }, transform(code.i64(0n))],
    ],
    [
      'filling its memory',
      [
        alloc,
        transform(
          code.loop(code.i32(0), code.i32(0), code.i32(60_000), code.fill, code.branch(0)),
          code.i64(0n),
        ),
      ],
    ],
  ])('%s is stopped', async (_where, functions) => {
    expect(await failure({ functions }, fuel)).toContain(
      'it needs more fuel than 100000 (`fuel_limit`) for one record',
    );
  });

  it('in calls of itself is stopped where the stack ends', async () => {
    expect(
      await failure({ functions: [alloc, transform(code.local(0), code.local(1), code.call(1))] }),
    ).toContain('Maximum call stack size');
  });

  it('is stopped for one record; the next has fuel of its own', async () => {
    const { metrics, values } = measuring();
    const options = {
      config: { fuel_limit: 1000, on_error: 'passthrough' },
      env: { ...testEnv({ cwd: folder }), metrics } as TestEnv,
    };
    expect(await run(withBody(code.loop(code.branch(0)), code.i64(0n)), [1, 2], options)).toEqual([
      1, 2,
    ]);
    expect(values.get('svc_wasm_fuel_consumed_total')).toEqual([1000, 1000]);
  });

  it('pays for blocks of memory by their size', async () => {
    const fill = (bytes: number): ModuleParts =>
      withBody(code.i32(0), code.i32(0), code.i32(bytes), code.fill, code.i64(0n));
    const used = async (bytes: number): Promise<number> => {
      const { metrics, values } = measuring();
      await run(fill(bytes), [1], { env: { ...testEnv({ cwd: folder }), metrics } });
      return values.get('svc_wasm_fuel_consumed_total')?.[0] ?? 0;
    };
    expect((await used(48_000)) - (await used(0))).toBe(6000);
  });
});

describe('memory', () => {
  /** Grows by a page until it is refused, then gives the number of pages as a digit. */
  const greedy = withBody(
    code.loop(code.i32(1), code.grow, code.i32(-1), [0x47], code.when(code.branch(1))),
    code.i32(0),
    [0x3f, 0x00],
    code.i32(10),
    [0x70],
    code.i32(48),
    code.add,
    code.store8,
    code.i64(1n),
  );

  it('ends at the limit, which the module sees as a refusal to grow', async () => {
    const { metrics, values } = measuring();
    const options = {
      config: { memory_limit_mb: 2 },
      env: { ...testEnv({ cwd: folder }), metrics } as TestEnv,
    };
    expect(await run(greedy, [1], options)).toEqual([2]);
    expect(values.get('svc_wasm_memory_bytes')).toEqual([2 * 1024 * 1024]);
    expect(await run({ ...greedy, memory: [1, 5] }, [1], options)).toEqual([5]);
  });

  it('cannot begin beyond the limit', async () => {
    expect(
      await refusal(assemble({ ...withBody(code.i64(0n)), memory: [17] }), { memory_limit_mb: 1 }),
    ).toContain('begins with 1088 KiB');
  });
});

describe('the host', () => {
  const imports = [
    { module: 'headgate_v1', name: 'log', parameters: [I32, I32, I32], results: [] },
    { module: 'headgate_v1', name: 'now_ns', parameters: [], results: [I64] },
  ];
  const asking = (...body: readonly (readonly number[])[]): ModuleParts => ({
    imports,
    functions: [alloc, transform(...body)],
    data: 'hello\n*',
  });

  it('writes lines to the log, without secrets', async () => {
    const env = testEnv({ cwd: folder });
    env.redactor.register('hello');
    await run(asking(code.i32(1), code.i32(0), code.i32(5), code.call(0), code.i64(0n)), [1], {
      env,
    });
    expect(env.lines.map(({ level, line }) => `${level} ${line}`)).toEqual([
      expect.stringMatching(/^WARN WARN headgate::wasm: \*\*\* module=m\d+\.wasm$/),
    ]);
  });

  it('does not let a loop fill the log', async () => {
    const env = testEnv({ cwd: folder });
    const noisy = asking(
      code.loop(code.i32(1), code.i32(0), code.i32(5), code.call(0), code.branch(0)),
      code.i64(0n),
    );
    expect(await failure(noisy, { env, config: { fuel_limit: 100_000 } })).toContain('more fuel');
    expect(env.lines).toHaveLength(9);
  });

  it('tells the time', async () => {
    const clock = { now: () => new Date(1234), elapsedMs: () => 0, sleep: () => Promise.resolve() };
    // Left out when it is 1234 ms, and a trap when it is not.
    const parts = asking(
      code.call(1),
      code.i64(1_234_000_000n),
      [0x52],
      code.when(code.unreachable),
      code.i64(0n),
    );
    expect(await run(parts, [1], { env: testEnv({ cwd: folder, clock }) })).toEqual([]);
  });

  it('offers nothing else', async () => {
    const wanting = (module: string, name: string): Uint8Array =>
      assemble({
        imports: [{ module, name, parameters: [], results: [] }],
        functions: [alloc, transform(code.i64(0n))],
      });
    for (const [module, name] of [
      ['wasi_snapshot_preview1', 'fd_write'],
      ['env', 'memory'],
      ['headgate_v1', 'fetch'],
    ] as const) {
      expect(await refusal(wanting(module, name))).toContain(`imports \`${module}.${name}\``);
    }
  });
});

describe('a file', () => {
  it('that is no such module is refused, with the reason', async () => {
    expect(await refusal('none.wasm')).toContain('"none.wasm" cannot be read: it does not exist');
    expect(await refusal(Buffer.from('(module)'))).toContain('no WebAssembly module');
    expect(await refusal(identity().subarray(0, 60))).toContain('ends too early');
    expect(await refusal(identity(), { function: 'clean' })).toContain(
      'exports no function called `clean`',
    );
    expect(await refusal(assemble({ functions: [transform(code.i64(0n))] }))).toContain('`alloc`');
    expect(
      await refusal(
        assemble({ functions: [alloc, transform(code.i64(0n))], noMemoryExport: true }),
      ),
    ).toContain('exports no memory');
    expect(await refusal(assemble(withBody([0x06, 0x40], code.i64(0n))))).toContain(
      'instruction (0x6)',
    );
    expect(await refusal(assemble(withBody(code.i32(0))))).toContain('cannot be compiled');
  });

  it('is compiled once for the same content and limits', async () => {
    const { metrics, values } = measuring();
    const env = { ...testEnv({ cwd: folder }), metrics } as TestEnv;
    const bytes = assemble(withBody(code.i64(0n), code.drop, code.i64(0n)));
    for (const config of [{}, {}, { fuel_limit: 5000 }]) await compiled(bytes, { env, config });
    expect(values.get('svc_wasm_compile_duration_seconds')).toHaveLength(2);
  });

  it('is looked at before every page where that is wanted', async () => {
    const name = write(assemble(giving('1')), 'changing.wasm');
    const [watching, staying] = [
      await compiled(name, { config: { reload_on_change: true } }),
      await compiled(name),
    ];
    expect(await applied(watching, [0])).toEqual([1]);
    write(assemble(giving('22')), name);
    utimesSync(join(folder, name), new Date(1), new Date(1));
    expect(await applied(watching, [0])).toEqual([22]);
    expect(await applied(staying, [0])).toEqual([1]);
  });
});

it('counts records by what became of them', async () => {
  const { metrics, values } = measuring();
  const env = { ...testEnv({ cwd: folder }), metrics } as TestEnv;
  await run(giving('1'), [1, 2], { env });
  await run(withBody(code.i64(0n)), [1], { env });
  await run(withBody(code.unreachable), [1], { env, config: { on_error: 'skip' } });
  const outcomes = ['ok', 'filter', 'error'].map(
    (outcome) => values.get(`svc_wasm_invocations_total ${outcome}`)?.length,
  );
  expect(outcomes).toEqual([2, 1, 1]);
  expect(values.get('svc_wasm_invocation_duration_seconds')).toHaveLength(4);
});

it('stops between records when it is told to', async () => {
  const stage = await compiled(identity());
  await expect(async () =>
    stage.apply([1], AbortSignal.abort(new Error('enough'))),
  ).rejects.toThrow('enough');
});

it.each(['llhttp-wasm.js', 'llhttp_simd-wasm.js'])(
  'leaves a module of a compiler valid: %s',
  async (name) => {
    const load = createRequire(import.meta.url);
    const bytes = new Uint8Array(load(`../../../node_modules/undici/lib/llhttp/${name}`) as Buffer);
    const metered = meteredModule(bytes, { memoryPages: 256, fuelLimit: 1000 });
    expect(metered.length).toBeGreaterThan(bytes.length);
    await expect(wasmApi.compile(metered)).resolves.toBeDefined();
  },
);

describe('types that are declared', () => {
  const columns = { id: 'int64', price: 'decimal(5, 2)' };
  const after = (config: Record<string, unknown>) =>
    wasm.schema?.(wasm.config.parse({ module: 'm.wasm', ...config }), { fields: [] });

  it('are given to what the module gives, and sinks see them', async () => {
    expect(schemaText(after({ columns }) ?? UNKNOWN_SCHEMA)).toBe(
      'id: int64, price: decimal(5, 2), …',
    );
    expect(after({})).toBe(UNKNOWN_SCHEMA);
    const given = giving('{"id":7,"price":1.5,"more":true}');
    expect(await run(given, [1], { config: { columns } })).toEqual([
      { id: 7, price: '1.5', more: true },
    ]);
  });

  it('hold for records that pass unchanged, too', async () => {
    const given = giving('{"id":"x"}');
    expect(await failure(given, { config: { columns } })).toContain(
      '`id` in a record of the module',
    );
    expect(await run(given, [{ id: 1 }], { config: { columns, on_error: 'skip' } })).toEqual([]);
    const unchanged = { columns, on_error: 'passthrough' };
    expect(await run(given, [{ id: 1, price: 2 }], { config: unchanged })).toEqual([
      { id: 1, price: '2' },
    ]);
    await expect(run(given, [{ id: 'y' }], { config: unchanged })).rejects.toThrow('`id`');
  });
});
