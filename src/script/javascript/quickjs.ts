import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import packaged from '@jitl/quickjs-ng-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSSyncVariant,
} from 'quickjs-emscripten-core'
import { wasmFlags } from '../../base/wasm-flag.ts'

export type { QuickJSContext, QuickJSHandle } from 'quickjs-emscripten-core'

/** The package's types are those of its CommonJS form. */
const variant = packaged as unknown as QuickJSSyncVariant

/** Flags of QuickJS's eval. `async`: a script with top-level await, whose value is a promise of `{ value }`. */
export const evalFlags = { script: 0, module: 1, compileOnly: 1 << 5, async: 1 << 7 } as const

/** The part of WebAssembly used here; Node's type definitions do not describe it. */
interface WebAssemblyHost {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Memory: new (size: { readonly initial: number; readonly maximum: number }) => {
    readonly buffer: ArrayBuffer
  }
}

/** QuickJS, compiled. */
export interface QuickJS {
  /**
   * A context in a separate instance: it contains nothing of other programs, and any damage a program does to its
   * memory ends with it. It is never disposed of: QuickJS cannot do that after a program was stopped, and the whole
   * instance is garbage collected.
   */
  open(limits: { readonly memoryMb: number; readonly stackKb: number }): Promise<Opened>
}

interface Opened {
  readonly context: QuickJSContext
  /** Whether its memory has grown to its limit: then there may have been no room left for an error. */
  readonly isFull: () => boolean
}

const pageBytes = 65_536
/** The memory the module was compiled to start with. */
const initialPages = 256

/** @throws Error when the wasm file cannot be read */
export function loadQuickJS(): QuickJS {
  setFlagsFromString(wasmFlags)
  const { Module, Memory } = (globalThis as unknown as { readonly WebAssembly: WebAssemblyHost }).WebAssembly
  const wasmModule = new Module(readFileSync(wasmFile()))
  return {
    async open({ memoryMb, stackKb }) {
      const maximum = Math.max(initialPages, Math.floor((memoryMb * 2 ** 20) / pageBytes))
      const wasmMemory = new Memory({ initial: initialPages, maximum })
      const options = { wasmModule, wasmMemory } as Parameters<typeof newVariant>[1]
      const instance = await newQuickJSWASMModuleFromVariant(newVariant(variant, options))
      const runtime = instance.newRuntime()
      runtime.setMaxStackSize(stackKb * 1024)
      runtime.setModuleLoader((name) => ({ error: new Error(`there is no module "${name}": a program is one file`) }))
      return {
        context: runtime.newContext(),
        isFull: () => wasmMemory.buffer.byteLength >= 0.9 * maximum * pageBytes,
      }
    },
  }
}

function wasmFile(): string {
  return createRequire(import.meta.url).resolve('@jitl/quickjs-ng-wasmfile-release-sync/wasm')
}
