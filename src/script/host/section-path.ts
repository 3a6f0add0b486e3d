import type { LuaValue } from '../engine.ts'
import { pathText } from './arguments.ts'
import type { Section } from './module.ts'
import { resolvePath } from './resolve-path.ts'

/** The absolute path of a path argument (spec/aipack.md 3.5). `name` is the function, for messages. */
export function sectionPath(path: LuaValue, { name, what }: PathArgument, { context }: Section): string {
  return resolvePath(pathText(path, name, what), context)
}

export interface PathArgument {
  readonly name: string
  readonly what?: string
}
