import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SourcePlace } from '../../base/error.ts'
import { displayPath, readSourceFile } from '../../base/files.ts'
import type { ScriptFile } from '../../pack/resolve.ts'
import type { LuaCompiler } from '../../script/compiler.ts'
import type { LuaError } from '../../script/engine.ts'
import { asLua } from '../../script/host/require.ts'
import { moduleFiles } from '../../script/module-reader.ts'
import { syntaxHint, withRange } from '../../script/section-error.ts'
import { type Problem, problemsOfError } from './problem.ts'

/** Lua code of a file: of a section, padded so that its lines are those of the file, or the whole file. */
interface LuaSource {
  readonly file: string
  readonly text: string
  readonly code: string
  /** The lines that led to this file, innermost first. */
  readonly trail: readonly SourcePlace[]
}

export interface LuaSurroundings {
  readonly compiler: LuaCompiler
  readonly workspace: string
  /** The owner of the code: determines where its modules are looked up. */
  readonly agent: ScriptFile
  readonly seen: Set<string>
}

interface CheckedLua {
  readonly problems: readonly Problem[]
  readonly agents: readonly { readonly name: string; readonly trail: readonly SourcePlace[] }[]
}

/** Compiles code and, recursively, the modules it names. Nothing is run. */
export async function checkLua(source: LuaSource, around: LuaSurroundings): Promise<CheckedLua> {
  const { compiler, workspace } = around
  const name = displayPath(workspace, source.file)
  const error = await compiler.compile({ name, text: source.code })
  const problems: Problem[] = error === undefined ? [] : [compileProblem(error, source)]
  const agents: { name: string; trail: readonly SourcePlace[] }[] = []
  for (const call of namedCalls(source.code)) {
    const { line, column, endColumn } = call
    const { file, text } = source
    const trail = [{ file, text, line, column, endLine: line, endColumn }, ...source.trail]
    if (call.kind === 'agent') agents.push({ name: call.name, trail })
    else {
      const checked = await checkModule(call, { ...source, trail }, around)
      problems.push(...checked.problems)
      agents.push(...checked.agents)
    }
  }
  return { problems, agents }
}

function compileProblem({ message, line }: LuaError, { file, text, trail }: LuaSource): Problem {
  const place = withRange(line === undefined ? { file } : { file, line, text }, message)
  return { severity: 'error', code: 'SCRIPT_FAILED', message, hint: syntaxHint, place, trail }
}

const nothing: CheckedLua = { problems: [], agents: [] }
const standard: ReadonlySet<string> = new Set(['_G', 'coroutine', 'debug', 'math', 'os', 'string', 'table', 'utf8'])

/** Resolves like `require`; a module that is checked by itself belongs to the agents next to its `lua` folder. */
function moduleFolders({ file, pack }: ScriptFile): readonly string[] {
  const above = /^(.*)\/lua\/.*$/.exec(file)?.[1]
  const folders = [dirname(file), ...(above === undefined ? [] : [above]), ...(pack === undefined ? [] : [pack.dir])]
  return [...new Set(folders)]
}

async function checkModule(call: NamedCall, from: LuaSource, around: LuaSurroundings): Promise<CheckedLua> {
  const { agent, seen, workspace } = around
  if (standard.has(call.name)) return nothing
  const folders = moduleFolders(agent)
  const files = moduleFiles(call.name, folders)
  const file = files.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
  if (file === undefined) {
    const shown = files.map((path) => displayPath(workspace, path)).join(', ')
    const message = `the module "${call.name}" does not exist`
    const [place = { file: from.file }, ...trail] = from.trail
    return {
      ...nothing,
      problems: [
        { severity: 'warning', code: 'MODULE_NOT_FOUND', message, hint: `Looked for ${shown}.`, place, trail },
      ],
    }
  }
  if (seen.has(file)) return nothing
  seen.add(file)
  try {
    const text = readSourceFile(file)
    return await checkLua({ file, text, code: asLua(text), trail: from.trail }, around)
  } catch (error) {
    return { ...nothing, problems: problemsOfError(error, { file, trail: from.trail }) }
  }
}

/** A literal name that Lua code passes to `require` or `aip.agent.run`. Lines and columns count from 1. */
interface NamedCall {
  readonly kind: 'module' | 'agent'
  readonly name: string
  readonly line: number
  readonly column: number
  readonly endColumn: number
}

// what is not closed extends to the end, so that no part of the code is read twice
const comment = String.raw`--\[(?<cm>=*)\[[^]*?(?:\]\k<cm>\]|$)|--[^\n]*`
const longText = String.raw`\[(?<tx>=*)\[[^]*?(?:\]\k<tx>\]|$)`
const quoted = String.raw`"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?`
// the lookahead keeps a text whole
const module = String.raw`(?<![\w.:])require\s*(?:\(\s*)?(?=(?<module>${quoted}))\k<module>(?!\s*\.\.)`
const agent = String.raw`(?<![\w.:])aip\.agent\.run\s*\(\s*(?=(?<agent>${quoted}))\k<agent>\s*[,)]`

/** Literal names of modules and agents in Lua code, in order. Computed names, comments and strings are ignored. */
export function namedCalls(code: string): readonly NamedCall[] {
  const calls = code.matchAll(new RegExp([comment, longText, module, agent, quoted].join('|'), 'g'))
  let [line, lineStart, counted] = [1, 0, 0]
  return [...calls].flatMap(({ 0: whole, index, groups = {} }): readonly NamedCall[] => {
    const written = groups['module'] ?? groups['agent']
    const name = written?.slice(1, -1)
    if (written === undefined || name === undefined || name.includes('\\')) return []
    if (written.length < 2 || written.at(-1) !== written[0]) return []
    const start = index + whole.indexOf(written)
    for (const { index: end } of code.slice(counted, start).matchAll(/\n/g)) {
      line += 1
      lineStart = counted + end + 1
    }
    counted = start
    const column = start - lineStart + 1
    return [
      {
        kind: groups['module'] === undefined ? 'agent' : 'module',
        name,
        line,
        column,
        endColumn: column + written.length,
      },
    ]
  })
}
