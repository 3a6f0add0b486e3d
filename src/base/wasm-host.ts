/** The used part of WebAssembly; Node's type definitions do not describe it. */
export interface WebAssemblyHost {
  readonly Module: new (bytes: Uint8Array) => CompiledModule
  readonly Instance: new (module: CompiledModule, imports: object) => { readonly exports: unknown }
  readonly Global: new (type: { readonly value: 'i32' }, value: number) => object
  readonly Memory: new (size: { readonly initial: number }) => WasmMemory
}

declare const compiled: unique symbol

export interface CompiledModule {
  readonly [compiled]: true
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}

/** The WebAssembly of this process; undefined if it has none (for example `node --jitless`). */
export function wasmHost(): WebAssemblyHost | undefined {
  return (globalThis as unknown as { readonly WebAssembly?: WebAssemblyHost }).WebAssembly
}
