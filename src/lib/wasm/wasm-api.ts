/**
 * The part of the WebAssembly interface of JavaScript that is used here; the types of Node do not
 * have it.
 */
export interface WasmModule {
  readonly [Symbol.toStringTag]: string;
}

export interface WasmGlobal {
  value: bigint;
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

interface WasmApi {
  validate(bytes: Uint8Array): boolean;
  compile(bytes: Uint8Array): Promise<WasmModule>;
  readonly Module: {
    new (bytes: Uint8Array): WasmModule;
    imports(
      module: WasmModule,
    ): { readonly module: string; readonly name: string; readonly kind: string }[];
    exports(module: WasmModule): { readonly name: string; readonly kind: string }[];
  };
  readonly Instance: new (
    module: WasmModule,
    imports: object,
  ) => { readonly exports: Readonly<Record<string, unknown>> };
  readonly CompileError: new () => Error;
}

export const wasmApi = (globalThis as unknown as { readonly WebAssembly: WasmApi }).WebAssembly;
