import { statSync } from 'node:fs'
import { namedCalls } from '../check/lua-calls.ts'
import { readSourceFile } from '../base/files.ts'
import { moduleFiles } from '../script/module-reader.ts'

/** What Lua code may start, found by reading it. */
export interface LuaReach {
  /** Agents that it runs by a name that stands in it, each once. */
  readonly names: readonly string[]
  /** False: it runs no other agent, whatever happens. */
  readonly mayRunAgents: boolean
  /** Whether it may ask to be run again (`aip.flow.redo_run`). */
  readonly mayRedo: boolean
}

/** Comments and texts: what stands in them is no code, because `load` is a way of its own. */
const noCode = /--\[(=*)\[[^]*?\]\1\]|--[^\n]*|\[(=*)\[[^]*?\]\2\]|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'/g

/** A way to `aip.agent.run` besides calls by name: without one `aip` is only ever followed by the name of another module. */
const otherWays =
  /(?<![.:])\b(?:load|loadstring|dofile|loadfile|debug|package|_G|_ENV)\b|\baip\b(?!\s*\.\s*(?:agent\s*\.\s*extract_options\b|(?!agent\b)\w))/

/** Reads code and the modules it names, and theirs, in the `lua` folders of `folders`. Nothing is run. */
export function reachOf(code: string, folders: readonly string[]): LuaReach {
  const names = new Set<string>()
  const seen = new Set<string>()
  let mayRunAgents = false
  let mayRedo = false

  function look(text: string): void {
    const calls = namedCalls(text)
    for (const { kind, name } of calls) if (kind === 'agent') names.add(name)
    const modules = calls.filter(({ kind }) => kind === 'module')
    // one that is named otherwise may hold anything
    const bare = text.replace(noCode, '""')
    const named = [...bare.matchAll(/\brequire\b/g)].length
    mayRunAgents ||= otherWays.test(bare) || named > modules.length
    mayRedo ||= /redo/.test(text)
    for (const { name } of modules) lookAtModule(name)
  }

  function lookAtModule(name: string): void {
    const file = moduleFiles(name, folders).find((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    if (file === undefined || seen.has(file)) return
    seen.add(file)
    look(readSourceFile(file))
  }

  look(code)
  return { names: [...names], mayRunAgents: mayRunAgents || names.size > 0, mayRedo }
}
