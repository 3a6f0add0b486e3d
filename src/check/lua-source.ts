import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SourcePlace } from '../base/error.ts'
import { displayPath, readSourceFile } from '../base/files.ts'
import type { ScriptFile } from '../pack/resolve.ts'
import type { LuaError } from '../script/engine.ts'
import { withRange } from '../script/error-range.ts'
import { asLua } from '../script/host/require.ts'
import { moduleFiles } from '../script/module-reader.ts'
import type { LuaCompiler } from './compiler.ts'
import { type NamedCall, namedCalls } from './lua-calls.ts'
import { type Problem, problemsOfError } from './problem.ts'

/** Lua code of a file: of a section, padded so that its lines are those of the file, or all of it. */
export interface LuaSource {
  readonly file: string
  /** The whole file. */
  readonly text: string
  readonly code: string
  /** The lines that led to this file, innermost first. */
  readonly trail: readonly SourcePlace[]
}

export interface LuaSurroundings {
  readonly compiler: LuaCompiler
  readonly workspace: string
  /** Whose code it is: where its modules are looked for. */
  readonly agent: ScriptFile
  /** Modules that were looked at. */
  readonly seen: Set<string>
}

export interface CheckedLua {
  readonly problems: readonly Problem[]
  /** Agents that the code runs by name, with the place of the call. */
  readonly agents: readonly { readonly name: string; readonly trail: readonly SourcePlace[] }[]
}

/** Compiles code and the modules it names, and theirs. Nothing is run. */
export async function checkLua(source: LuaSource, around: LuaSurroundings): Promise<CheckedLua> {
  const { compiler, workspace } = around
  const name = displayPath(workspace, source.file)
  const error = await compiler.compile({ name, text: source.code })
  const problems: Problem[] = error === undefined ? [] : [compileProblem(error, source)]
  const agents: { name: string; trail: readonly SourcePlace[] }[] = []
  for (const call of namedCalls(source.code)) {
    const trail = [placeOf(call, source), ...source.trail]
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
  const hint = 'Lua stopped reading here; the mistake is on this line or above it.'
  return { severity: 'error', code: 'SCRIPT_FAILED', message, hint, place, trail }
}

function placeOf({ line, column, endColumn }: NamedCall, { file, text }: LuaSource): SourcePlace {
  return { file, text, line, column, endLine: line, endColumn }
}

const nothing: CheckedLua = { problems: [], agents: [] }
const standard: ReadonlySet<string> = new Set(['_G', 'coroutine', 'debug', 'math', 'os', 'string', 'table', 'utf8'])

/** As `require` looks; a module that is checked by itself belongs to the agents beside its `lua` folder. */
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
    const message = `there is no module "${call.name}"`
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
