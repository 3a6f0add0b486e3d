import { dirname, join } from 'node:path'
import type { SourcePlace } from '../../base/error.ts'
import type { Definitions } from '../../config/collect-definitions.ts'
import type { Settings } from '../../config/settings.ts'
import { loadModelTable, type ModelTable } from '../../model/table.ts'
import { packRoots } from '../../pack/find-pack.ts'
import { nameGuard } from '../../pack/name-guard.ts'
import type { AgentFile, NamedFile, ScriptFile } from '../../pack/resolve.ts'
import { type FindDefinitions, type FoundAgent, resolveNamed } from '../definitions.ts'
import { childTargetOptions } from '../child-target.ts'
import type { TargetOptions } from '../options.ts'
import { createScriptLoader } from '../../agent/script-loader.ts'
import { createCompiler, type LuaCompiler } from '../../script/compiler.ts'
import { pluginsOf } from '../check-mode.ts'
import { serversOfAgent } from '../pack-servers.ts'
import { createGlobCounter, type GlobCounter } from './globs.ts'
import { checkModel, type NamedModel } from './models.ts'
import { type Problem, problemsOfError } from './problem.ts'
import { type CheckedScript, checkScript } from './script.ts'

/** What all files of one check share, so that nothing is loaded or checked twice. */
export interface CheckParts {
  readonly countFiles: GlobCounter
  readonly modelTable: () => Promise<ModelTable>
  readonly compiler: (lua: Settings['lua']) => Promise<LuaCompiler>
  /** Agents that were looked up, by workspace, folder and name. */
  readonly agents: Map<string, Promise<FoundAgent>>
  /** The named agents that the files of a workspace have in common. */
  readonly collected: Map<string, Promise<Definitions>>
  /** The problems of all of them that a model may start. */
  readonly offered: Map<Definitions['byName'], Promise<readonly Problem[]>>
  /** Checked scripts, by file and pack; their trails start at the script. */
  readonly scripts: Map<string, Promise<CheckedScript>>
}

/** Creates the shared parts. The caller closes them. */
export function createCheckParts({
  builtInDir,
}: {
  readonly builtInDir: string
}): CheckParts & { close(): Promise<void> } {
  const compilers = new Map<string, Promise<LuaCompiler>>()
  let table: Promise<ModelTable> | undefined
  return {
    countFiles: createGlobCounter(),
    modelTable: () => (table ??= loadModelTable(join(builtInDir, 'models.toml'))),
    agents: new Map(),
    collected: new Map(),
    offered: new Map(),
    scripts: new Map(),
    compiler(lua) {
      const known = compilers.get(lua.engine)
      if (known !== undefined) return known
      // nothing is run, so nothing has to be stopped from outside
      const made = createScriptLoader({ ...lua, isolated: false })({ isInstalled: false }).then(createCompiler)
      compilers.set(lua.engine, made)
      return made
    },
    async close() {
      for (const compiler of await Promise.all(compilers.values())) compiler.close()
    },
  }
}

/** What a file and the prompt files below it share. */
export interface SharedParts {
  readonly parts: CheckParts
  /** Agents and prompt files that were checked for this file; absolute. */
  readonly seen: Set<string>
  readonly onSettings: (settings: Settings) => void
}

/** The context in which a file and everything below it is checked. */
export interface FileSurroundings extends SharedParts {
  readonly options: TargetOptions
  readonly workspace: string
  readonly packRoots: readonly string[]
  readonly settings: Settings
  readonly definitions: FindDefinitions
  /** Prompt files that led to this one, outermost first; absolute. */
  readonly callers: readonly string[]
  /** `seen`: as in `SharedParts`. */
  readonly checkPrompt: (options: TargetOptions, seen: Set<string>) => Promise<readonly Problem[]>
}

export function surroundingsOf(
  shared: SharedParts,
  around: Omit<FileSurroundings, keyof SharedParts | 'packRoots'>,
): FileSurroundings {
  return { ...shared, ...around, packRoots: packRoots(around.workspace, around.options) }
}

interface NamedAgent {
  readonly agent: NamedFile
  /** The lines that led to it, innermost first. */
  readonly trail: readonly SourcePlace[]
}

/** Checks an agent, and all agents that its code runs by name. */
export async function checkAgent({ agent, trail }: NamedAgent, around: FileSurroundings): Promise<readonly Problem[]> {
  // a program is not checked here, but where it is defined
  if (agent.kind === 'command') return []
  const key = `${agent.file}\n${definedAs(agent) ?? agent.pack?.identity ?? ''}`
  if (around.seen.has(key)) return []
  around.seen.add(key)
  if (agent.kind === 'prompt') {
    const { text: _, definition: _definition, stdin: _stdin, ...options } = around.options
    const below = await around.checkPrompt(childTargetOptions(agent, options), around.seen)
    return below.map((problem) => further(problem, trail))
  }
  const script = await scriptOf({ ...agent, kind: agent.kind }, key, around)
  const models = await Promise.all(script.models.map((model) => checkNamedModel(model, around)))
  const problems = [...script.problems, ...models.flat()].map((problem) => further(problem, trail))
  for (const call of script.agents) {
    problems.push(...(await checkCalled(agent, { name: call.name, trail: [...call.trail, ...trail] }, around)))
  }
  return problems
}

/** The table that defines an agent, in addition to its name: a role may have the name of an agent. */
function definedAs(agent: AgentFile): string | undefined {
  if (agent.kind !== 'prompt' || agent.defined === undefined) return undefined
  return `#${agent.name} ${agent.defined.sources[0]?.at.join('.') ?? ''}`
}

function scriptOf(
  agent: ScriptFile,
  key: string,
  { parts, settings, workspace, options }: FileSurroundings,
): Promise<CheckedScript> {
  const known = parts.scripts.get(key)
  if (known !== undefined) return known
  const made = parts.compiler(settings.lua).then(async (compiler) =>
    checkScript(agent, {
      compiler,
      workspace,
      seen: new Set(),
      trail: [],
      plugins: () => pluginsOf(settings),
      servers: await serversOfAgent(agent.file, { workspace, settings }, options),
    }),
  )
  parts.scripts.set(key, made)
  return made
}

function further(problem: Problem, trail: readonly SourcePlace[]): Problem {
  return trail.length === 0 ? problem : { ...problem, trail: [...problem.trail, ...trail] }
}

/** The call may be for a case that never occurs, so an unknown name is only a warning. */
async function checkCalled(
  caller: AgentFile,
  { name, trail }: { readonly name: string; readonly trail: readonly SourcePlace[] },
  around: FileSurroundings,
): Promise<readonly Problem[]> {
  const { options, packRoots, workspace, definitions } = around
  const { builtInDir } = options
  try {
    const guard = nameGuard(workspace, options)
    const agent = await resolveNamed(name, { baseDir: dirname(caller.file), builtInDir, packRoots, guard, definitions })
    return await checkAgent({ agent, trail }, around)
  } catch (error) {
    const [place = { file: caller.file }, ...above] = trail
    return problemsOfError(error, { file: caller.file, trail: above }).map((problem) => ({
      ...problem,
      severity: 'warning',
      place: problem.place.line === undefined ? place : problem.place,
    }))
  }
}

/** Whether a model name resolves, and whether its key is set. */
export async function checkNamedModel(
  model: NamedModel,
  { parts, options, settings }: FileSurroundings,
): Promise<readonly Problem[]> {
  return checkModel(model, { env: options.env, settings, table: await parts.modelTable() })
}
