import { BatonError } from '../../base/error.ts'

/** What this engine uses of WebAssembly; Node's type definitions do not describe it. */
export interface WebAssemblyHost {
  readonly Module: {
    new (bytes: Uint8Array): CompiledModule
    imports(module: CompiledModule): readonly { readonly module: string; readonly name: string }[]
  }
  readonly Instance: new (module: CompiledModule, imports: object) => { readonly exports: unknown }
}

declare const compiled: unique symbol

export interface CompiledModule {
  readonly [compiled]: true
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}

export interface WasmTable {
  get(index: number): (first: number, second: number) => void
  set(index: number, target: unknown): void
  /** Returns the length before. */
  grow(slots: number): number
}

/** The WebAssembly of this process. Throws `NOT_AVAILABLE` where there is none (for example `node --jitless`). */
export function webAssembly(): WebAssemblyHost {
  const { WebAssembly } = globalThis as unknown as { readonly WebAssembly?: WebAssemblyHost }
  if (WebAssembly !== undefined) return WebAssembly
  throw new BatonError('NOT_AVAILABLE', 'the Lua 5.4 engine needs WebAssembly, which this Node.js runs without', {
    hint: 'start Node.js without --jitless',
  })
}
