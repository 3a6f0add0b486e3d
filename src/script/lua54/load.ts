import type { Pointer } from './exports.ts'
import { withBlock } from './text.ts'
import type { LuaWasm } from './wasm.ts'

export interface SourceText {
  /** Lua's name of the chunk: `@` before a file name, `=` before a name that is no file. */
  readonly name: string
  readonly text: string
}

/** Compiles Lua text and pushes its main function, or the error. Returns `luaStatus`. Binary chunks are refused. */
export function loadText(wasm: LuaWasm, thread: Pointer, { name, text }: SourceText): number {
  const { lua, constant } = wasm
  const content = Buffer.from(text, 'utf8')
  return withBlock(wasm, content, (block) =>
    withBlock(wasm, Buffer.from(`${name}\0`, 'utf8'), (nameBlock) =>
      lua.luaL_loadbufferx(thread, block, content.length, nameBlock, constant('t')),
    ),
  )
}

/**
 * Loads a binary chunk that `dumpFunction` has made in this instance, or in one of the same library when Baton was built
 * (prelude-code.ts), and pushes its main function. Returns `luaStatus`.
 * Never for bytes from anywhere else: crafted binary chunks can corrupt the memory of Lua.
 */
export function loadDumped(wasm: LuaWasm, thread: Pointer, code: Uint8Array): number {
  const { lua, constant } = wasm
  return withBlock(wasm, code, (block) =>
    lua.luaL_loadbufferx(thread, block, code.length, constant('=?'), constant('b')),
  )
}

/** The Lua function on top of the stack as a binary chunk, which holds its name and lines unless they are left out. */
export function dumpFunction(
  { lua, pointers, dumped }: LuaWasm,
  thread: Pointer,
  { lines }: { readonly lines: 'keep' | 'omit' },
): Uint8Array {
  const status = lua.lua_dump(thread, pointers.write, 0, lines === 'keep' ? 0 : 1)
  if (status !== 0) throw new Error('Lua cannot dump this function')
  return Uint8Array.from(dumped.splice(0))
}
