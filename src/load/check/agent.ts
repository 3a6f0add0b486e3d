import { dirname, join } from 'node:path'
import type { SourcePlace } from '../../base/error.ts'
import type { Definitions } from '../../config/collect-definitions.ts'
import type { Settings } from '../../config/settings.ts'
import { loadModelTable, type ModelTable } from '../../model/table.ts'
import { packRoots } from '../../pack/find-pack.ts'
import { nameGuard } from '../../pack/name-guard.ts'
import type { AgentFile, NamedFile, ScriptFile } from '../../pack/resolve.ts'
import { type FindDefinitions, type ResolvedAgent, resolveNamed } from '../definitions.ts'
import { childTargetOptions } from '../child-target.ts'
import type { TargetOptions } from '../options.ts'
import { createScriptLoader } from '../../agent/script-loader.ts'
import { createCompiler, type LuaCompiler } from '../../script/compiler.ts'
import { pluginsOf } from '../check-mode.ts'
import { serversOfAgent } from '../pack-servers.ts'
import { createGlobCounter, type GlobCounter } from './globs.ts'
import { checkModel, type NamedModel } from './models.ts'
import { type Problem, problemOf, problemsOfError } from './problem.ts'
import { declaredOptionIssues } from '../../agent/declared-option-issues.ts'
import { type DeclaredOptions, readDeclaredOptions } from '../../agent/declared-options.ts'
import { mayGiveTools } from '../../agent/tool-names.ts'
import type { Plugins } from '../../agent/plugins/plugin.ts'
import { editDistance } from '../../base/suggest.ts'
import type { Issue } from '../../settings/issue.ts'
import type { ServersOfPack } from '../../config/unused-servers.ts'
import { type AipDocument, isSectionHeading, parseAip, placeOfOption, readCacheOption } from '../../prompt/aip.ts'
import { loadTemplates } from '../../prompt/template.ts'
import { checkLua, type LuaSurroundings } from './lua-source.ts'

/** What all files of one check share, so that nothing is loaded or checked twice. */
export interface CheckParts {
  readonly countFiles: GlobCounter
  readonly modelTable: () => Promise<ModelTable>
  readonly compiler: (lua: Settings['lua']) => Promise<LuaCompiler>
  /** Agents that were looked up, by workspace, folder and name. */
  readonly agents: Map<string, Promise<ResolvedAgent>>
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

interface CheckedScript {
  readonly problems: readonly Problem[]
  readonly agents: readonly { readonly name: string; readonly trail: readonly SourcePlace[] }[]
  readonly models: readonly NamedModel[]
}

interface ScriptSurroundings extends Omit<LuaSurroundings, 'agent'> {
  readonly plugins: () => Promise<Plugins>
  /** The MCP servers available to it. */
  readonly servers: ServersOfPack
  /** The lines that led to the agent, innermost first. */
  readonly trail: readonly SourcePlace[]
}

/**
 * Checks everything of a script agent that can be checked without running it: options, templates, code, and its
 * modules.
 */
async function checkScript(agent: ScriptFile, around: ScriptSurroundings): Promise<CheckedScript> {
  if (agent.kind === 'lua') return { ...(await checkCode(agent, [agent.text], around)), models: [] }
  const document = parseAip(agent.file, agent.text)
  const { beforeAll, data, output, afterAll } = document
  const sections = [beforeAll, data, output, afterAll].flatMap((block) => block?.text ?? [])
  const code = await checkCode(agent, sections, around)
  const options = await checkOptions(agent, document, around)
  const headings = headingIssues(agent, document).map((issue) =>
    problemOf(issue, { severity: 'warning', file: agent.file, trail: around.trail }),
  )
  const templates = await checkTemplates(agent, document, around.trail)
  return {
    ...code,
    problems: [...options.problems, ...headings, ...templates, ...code.problems],
    models: options.models,
  }
}

async function checkCode(
  agent: ScriptFile,
  sections: readonly string[],
  { trail, ...around }: ScriptSurroundings,
): Promise<Omit<CheckedScript, 'models'>> {
  const { file, text } = agent
  const checked = []
  for (const code of sections) checked.push(await checkLua({ file, text, code, trail }, { ...around, agent }))
  return { problems: checked.flatMap(({ problems }) => problems), agents: checked.flatMap(({ agents }) => agents) }
}

async function checkOptions(
  { file, text }: AgentFile,
  document: AipDocument,
  { trail, plugins, servers, workspace }: Pick<ScriptSurroundings, 'trail' | 'plugins' | 'servers' | 'workspace'>,
): Promise<Pick<CheckedScript, 'problems' | 'models'>> {
  try {
    const own = await readDeclaredOptions({ file, text }, document)
    const { values, unknown, placeOf } = own
    const issues = await declaredOptionIssues(own, { plugins, servers: servers.names, leftOut: servers.leftOut })
    const problems = [
      ...issues.map((issue) => problemOf(issue, { severity: 'error', file, trail })),
      ...unknown.map((issue) => problemOf(issue, { severity: 'warning', file, trail })),
      ...(await ruleWarnings(own, workspace)).map((issue) => problemOf(issue, { severity: 'warning', file, trail })),
    ]
    const { model } = values
    if (typeof model !== 'string') return { problems, models: [] }
    const aliases = values['model_aliases'] as Readonly<Record<string, string>> | undefined
    const tools = Array.isArray(values['tools']) ? values['tools'].map(String) : []
    const brought = tools.length === 0 ? [] : (await plugins()).tools.map((tool) => tool.name)
    const usesTools = mayGiveTools({ tools, writes: true, brought, servers: servers.names })
    const named = { name: model, usesTools, placeOf: () => placeOf(['model'], 'value') }
    return { problems, models: [aliases === undefined ? named : { ...named, aliases }] }
  } catch (error) {
    return { problems: problemsOfError(error, { file, trail }), models: [] }
  }
}

/** The pattern parsers are only loaded for agents with rules. */
async function ruleWarnings({ rules }: DeclaredOptions, workspace: string): Promise<readonly Issue[]> {
  if (rules.length === 0) return []
  return (await import('../rule-problems.ts')).agentRuleProblems(rules, workspace)
}

async function checkTemplates(
  { file, text }: AgentFile,
  { parts }: AipDocument,
  trail: readonly SourcePlace[],
): Promise<readonly Problem[]> {
  if (parts.length === 0) return []
  const templates = await loadTemplates()
  const lines = text.split('\n')
  const problems: Problem[] = []
  for (const { content, optionText, line } of parts) {
    const place = placeOfOption({ file, text, line }, lines)
    const wrong = [
      ...(optionText === undefined ? [] : templates.problems(optionText, place)),
      ...templates.problems(content, { file, text, line: line + 1 }),
    ]
    problems.push(...wrong.flatMap((error) => problemsOfError(error, { file, trail })))
    // an option string with expressions is known only when it is rendered
    if (optionText === undefined || optionText.includes('{{')) continue
    problems.push(...(await inlineProblems(optionText, { place, trail })))
  }
  return problems
}

async function inlineProblems(
  optionText: string,
  { place, trail }: { readonly place: SourcePlace; readonly trail: readonly SourcePlace[] },
): Promise<readonly Problem[]> {
  try {
    await readCacheOption(optionText, place)
    return []
  } catch (error) {
    return problemsOfError(error, { file: place.file, trail })
  }
}

const sections = ['Options', 'Before All', 'Data', 'System', 'User', 'Instruction', 'Assistant', 'Output', 'After All']

/** Headings of an agent that are probably misspelled sections, and an agent without any section. */
function headingIssues({ file, text }: AgentFile, document: AipDocument): readonly Issue[] {
  const misspelt = headings(text).flatMap(({ heading, line }): readonly Issue[] => {
    const meant = sections.find((name) => editDistance(heading.toLowerCase(), name.toLowerCase(), 1) === 1)
    if (meant === undefined) return []
    const place = { file, text, line, column: 1, endLine: line, endColumn: heading.length + 3 }
    const message = `the heading "# ${heading}" does not start a section`
    return [{ code: 'CONFIG_INVALID', message, hint: `Did you mean "# ${meant}"?`, place }]
  })
  const { beforeAll, data, output, afterAll, parts } = document
  if (misspelt.length > 0 || parts.length > 0 || (beforeAll ?? data ?? output ?? afterAll) !== undefined)
    return misspelt
  const hint = 'Start a section with a heading such as # Output and a ```lua block, or # User and text.'
  const message = 'the agent has no section that does anything'
  return [{ code: 'CONFIG_INVALID', message, hint, place: { file, text, line: 1 } }]
}

/** Level-1 headings outside of fences that do not start a section. */
function headings(text: string): readonly { readonly heading: string; readonly line: number }[] {
  const found: { heading: string; line: number }[] = []
  let isOpen = false
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.startsWith('```')) isOpen = !isOpen
    const heading = /^# (\S.*)$/.exec(line)?.[1]
    if (!isOpen && heading !== undefined && !isSectionHeading(line)) found.push({ heading, line: index + 1 })
  }
  return found
}
