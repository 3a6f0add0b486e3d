import { resolve } from 'node:path'
import type { BatonError, SourcePlace } from '../../base/error.ts'
import { displayPath } from '../../base/files.ts'
import { sandboxMode, type Settings } from '../../config/settings.ts'
import type { MaskOptions } from '../../journal/secrets.ts'
import { secretsOf } from '../../model/choice.ts'
import type { TargetOptions } from '../options.ts'
import { loadTarget, targetKind } from '../target.ts'
import {
  checkAgent,
  checkNamedModel,
  type CheckParts,
  type FileSurroundings,
  type SharedParts,
  surroundingsOf,
} from './agent.ts'
import { type Problem, problemOf, problemsOfError, sortProblems } from './problem.ts'
import { mayGiveTools } from '../../agent/tool-names.ts'
import type { AgentConfig } from '../../config/agent-config.ts'
import { type Finding, placeFindings, wrongKey } from '../../settings/issue.ts'
import { placeOrigins } from '../../config/layers.ts'
import { placeInPrompt, readRunSpec, type RunSpec } from '../../config/run-spec.ts'
import { namedModels } from '../model-place.ts'
import { toolLists, withoutMissingTools } from '../named-tools.ts'
import { externalToolsOf } from '../external-tools.ts'
import { type AgentLookup, findPromptAgents } from '../prompt-agents.ts'
import { withPackServers } from '../pack-servers.ts'
import { agentLookup, loadOutput } from '../prompt-target.ts'
import { definitionsOfPrompt, startsAgents } from '../definitions.ts'
import { checkGlobs } from './globs.ts'
import type { NamedModel } from './models.ts'
import type { StepAgent } from '../strategy.ts'
import { nameRules, partRules, problemsByRules } from '../file-rules.ts'
import type { AgentDefinition } from '../../config/agent-definitions.ts'
import { allRights } from '../../event/permission.ts'
import { toolRules, writtenRules } from '../../tool/rule-list.ts'
import type { MissingBox } from '../../tool/sandbox/needs-box.ts'
import { isJsonObject } from '../../base/json.ts'
import { findRole, withheldTools, type RolePlaces } from '../roles.ts'

export interface CheckedFile {
  readonly problems: readonly Problem[]
  readonly secrets: MaskOptions
}

/**
 * All problems of a file and of what it names, found without running anything or calling a model. Errors would end a
 * run; warnings might affect one.
 */
export async function checkFile(given: TargetOptions, parts: CheckParts): Promise<CheckedFile> {
  const options = { ...given, collected: parts.collected }
  const { cwd, file, env } = options
  const found: { settings?: Settings } = {}
  const shared: SharedParts = {
    parts,
    seen: new Set(),
    onSettings(settings) {
      found.settings = settings
    },
  }
  const problems =
    targetKind(file, options) === 'agent'
      ? await checkAgentTarget(options, shared)
      : await checkPromptFile({ ...options, file: resolve(cwd, file) }, shared)
  const shown = problems.map((problem) => relativeTo(cwd, problem))
  // a file that cannot be read has no settings
  const secrets = found.settings === undefined ? {} : await secretsOf(found.settings, env)
  return { problems: sortProblems(shown, displayPath(cwd, resolve(cwd, file))), secrets }
}

async function checkAgentTarget(options: TargetOptions, shared: SharedParts): Promise<readonly Problem[]> {
  const { file } = options
  try {
    const target = await loadTarget(options)
    // packs may contain prompt files, too
    if (target.kind === 'prompt') {
      const { source, document } = target.spec
      const isMade = source === 'text' && target.answerAgent?.kind === 'command'
      const { file: named } = target.spec
      return await checkPromptFile({ ...options, file: named, ...(isMade ? { text: document.text } : {}) }, shared)
    }
    const { agent, notes, workspace, settings, definitions } = target
    shared.onSettings(settings)
    const around = surroundingsOf(shared, {
      options,
      workspace,
      settings,
      definitions,
      callers: [],
      checkPrompt: (prompt, seen) => checkPromptFile(prompt, { ...shared, seen }),
    })
    const warnings = notes.map((issue) => problemOf(issue, { severity: 'warning', file, trail: [] }))
    return [...warnings, ...(await checkAgent({ agent, trail: [] }, around))]
  } catch (error) {
    return problemsOfError(error, { file, trail: [] })
  }
}

/** Files below the current folder are named relative to it. */
function relativeTo(cwd: string, problem: Problem): Problem {
  const named = (place: SourcePlace): SourcePlace => ({ ...place, file: displayPath(cwd, resolve(cwd, place.file)) })
  return { ...problem, place: named(problem.place), trail: problem.trail.map(named) }
}

/**
 * Checks a prompt file and everything it names. It follows the same steps as loading it for a run, but none of them
 * stops the check: invalid parts are skipped, and the rest is checked.
 */
async function checkPromptFile(
  options: TargetOptions,
  shared: SharedParts,
  callers: readonly string[] = [],
): Promise<readonly Problem[]> {
  const file = displayPath(options.cwd, options.file)
  try {
    const { issues, spec: read } = await readRunSpec(options)
    const errors = issues.map((issue) => problemOf(issue, { severity: 'error', file, trail: [] }))
    if (read === undefined) return errors
    const spec = await withoutMissingTools(await withPackServers(read, options))
    const { workspace, settings } = spec
    shared.onSettings(settings)
    shared.seen.add(`${spec.file}\n`)
    const definitions = definitionsOfPrompt(spec, options)
    const around = surroundingsOf(shared, {
      options,
      workspace,
      settings,
      definitions,
      callers,
      checkPrompt: (child, seen) => checkPromptFile(child, { ...shared, seen }, [...callers, spec.file]),
    })
    const lookup = agentLookup(spec, { ...options, definitions }, callers)
    return [...errors, ...(await checkSpec(spec, { ...around, lookup }))]
  } catch (error) {
    return problemsOfError(error, { file, trail: [] })
  }
}

/** The context in which the names in a prompt file are checked. */
interface PromptSurroundings extends FileSurroundings {
  readonly lookup: AgentLookup
}

async function checkSpec(spec: RunSpec, around: PromptSurroundings): Promise<readonly Problem[]> {
  const { file } = spec.document
  const notes = [...spec.warnings, ...spec.notes, ...(spec.toolNotes ?? [])].map((issue) =>
    problemOf(issue, { severity: 'warning', file, trail: [] }),
  )
  const agents: (readonly Problem[])[] = []
  for (const config of spec.agents.filter(({ enabled }) => enabled)) {
    agents.push(await checkEntry(config, spec, around))
  }
  const problems = (errors: readonly BatonError[]): readonly Problem[] =>
    errors.flatMap((error) => problemsOfError(error, { file, trail: [] }))
  return [
    ...notes,
    ...problems(await problemsByRules(nameRules, spec, around.options)),
    ...(await rulesProblems(spec)),
    ...(await sandboxProblems(spec, around.options)),
    ...(await globProblems(spec, around)),
    ...(await modelProblems(spec, around)),
    ...agents.flat(),
    ...(await checkAnswerAgent(spec, around)),
    ...(await checkStrategyAgents(spec, around)),
    ...(await strategyProblems(spec, around)),
    ...(await partProblems(spec, around)),
    ...(await definitionProblems(spec, around)),
    ...(await rolesProblems(spec, around)),
  ]
}

/** The pattern parsers are only loaded if there are rules. */
async function rulesProblems({ settings: { permission = [] }, workspace }: RunSpec): Promise<readonly Problem[]> {
  if (permission.length === 0) return []
  const { ruleProblems } = await import('../rule-problems.ts')
  return ruleProblems(permission, workspace).map((issue) =>
    problemOf(issue, { severity: 'warning', file: '', trail: [] }),
  )
}

/** Most files have no roles, and load nothing for them. */
async function rolesProblems(spec: RunSpec, around: PromptSurroundings): Promise<readonly Problem[]> {
  if (spec.settings.collab === undefined) return []
  const { lookup, definitions, options } = around
  return roleProblems(spec, { lookup, definitions, cwd: options.cwd }, around)
}

async function checkEntry(config: AgentConfig, spec: RunSpec, around: PromptSurroundings): Promise<readonly Problem[]> {
  const { agent: _, ...settings } = spec.settings
  const alone = { ...spec, agents: [config], settings }
  const path = ['sub_agents', config.index, 'name'] as const
  return checkNamed({ alone, name: config.name, path }, spec, around)
}

async function checkAnswerAgent(spec: RunSpec, around: PromptSurroundings): Promise<readonly Problem[]> {
  const { agent: name } = spec.settings
  return name === undefined ? [] : checkNamed({ alone: { ...spec, agents: [] }, name, path: ['agent'] }, spec, around)
}

async function checkStrategyAgents(spec: RunSpec, around: PromptSurroundings): Promise<readonly Problem[]> {
  const { agent: _, ...others } = spec.settings
  const alone = { ...spec, agents: [], settings: others }
  const problems: (readonly Problem[])[] = []
  for (const step of around.options.strategies.flatMap(({ agents }) => agents(spec.settings))) {
    problems.push(await checkNamed({ alone, name: step.name, path: step.path, steps: [step] }, spec, around))
  }
  return problems.flat()
}

/** The files that the table of a strategy names. */
async function strategyProblems(spec: RunSpec, { options }: PromptSurroundings): Promise<readonly Problem[]> {
  const { file } = spec.document
  const problems = options.strategies.map(({ load }) => caught(file, async () => load?.(spec, {})))
  return (await Promise.all(problems)).flat()
}

/** Parts that do not fit together. Whether a strategy fits is not known if the output schema cannot be read. */
async function partProblems(spec: RunSpec, { options, parts }: PromptSurroundings): Promise<readonly Problem[]> {
  const { file } = spec.document
  const compiler = (): ReturnType<typeof parts.compiler> => parts.compiler(spec.settings.lua)
  let output: Awaited<ReturnType<typeof loadOutput>>
  const unread = await caught(file, async () => {
    output = await loadOutput(spec, { strategies: options.strategies })
  })
  const around = { output, strategies: unread.length > 0 ? [] : options.strategies, compiler }
  const errors = await problemsByRules(partRules, spec, around)
  return [...unread, ...errors.flatMap((error) => problemsOfError(error, { file, trail: [] }))]
}

interface NamedInPrompt {
  /** The prompt file as if it named only this agent. */
  readonly alone: RunSpec
  readonly name: string
  readonly path: readonly (string | number)[]
  /** It is the agent of this step. */
  readonly steps?: readonly StepAgent[]
}

async function checkNamed(
  { alone, name, path, steps = [] }: NamedInPrompt,
  spec: RunSpec,
  around: PromptSurroundings,
): Promise<readonly Problem[]> {
  const { lookup } = around
  const { file } = spec.document
  const key = JSON.stringify([spec.workspace, spec.promptDir, name])
  const found = around.parts.agents.get(key) ?? lookup.find(name)
  around.parts.agents.set(key, found)
  const wrong = await caught(file, () => findPromptAgents(alone, { ...lookup, find: () => found }, steps))
  const agent = await found.catch(() => undefined)
  if (agent === undefined) return wrong
  const below = await checkAgent({ agent, trail: [] }, around)
  if (below.length === 0) return wrong
  const entry = await placeInPrompt(spec, path, 'value')
  return [...wrong, ...below.map((problem) => ({ ...problem, trail: [...problem.trail, entry] }))]
}

async function caught(file: string, work: () => Promise<unknown>): Promise<readonly Problem[]> {
  try {
    await work()
    return []
  } catch (error) {
    return problemsOfError(error, { file, trail: [] })
  }
}

async function globProblems(spec: RunSpec, { parts }: FileSurroundings): Promise<readonly Problem[]> {
  const findings = checkGlobs(spec, parts.countFiles)
  const issues = await placeOrigins(findings, spec.origins)
  const { file } = spec.document
  return issues.map((issue, index) =>
    problemOf(issue, { severity: findings[index]?.severity ?? 'error', file, trail: [] }),
  )
}

async function modelProblems(spec: RunSpec, around: FileSurroundings): Promise<readonly Problem[]> {
  const entries = spec.agents.flatMap(({ enabled, index, options: { model } }) =>
    enabled && typeof model === 'string' ? [{ name: model, path: ['sub_agents', index, 'options', 'model'] }] : [],
  )
  const { strategies } = around.options
  const named = [
    ...namedModels(spec.settings).filter(({ name }) => name !== ''),
    ...entries,
    ...strategies.flatMap(({ namedModels: modelsIn }) => modelsIn?.(spec.settings) ?? []),
  ]
  const { tools, disallowed_tools, write_mode: writes } = spec.settings
  const others = await externalToolsOf(spec)
  const givesTools =
    spec.settings.collab !== undefined || mayGiveTools({ tools, disallowed_tools, writes: writes !== false, ...others })
  const models = named.map(({ name, path }): NamedModel => {
    // the tools of a chain agent are only known together with its own options
    const usesTools = givesTools && path[0] !== 'sub_agents'
    return { name, usesTools, placeOf: () => placeOfModel(path, spec, around.options) }
  })
  return (await Promise.all(models.map((found) => checkNamedModel(found, around)))).flat()
}

/** The place in the file that names the model; one from the environment or a flag is attributed to the file. */
async function placeOfModel(
  path: readonly (string | number)[],
  spec: RunSpec,
  { strategies }: TargetOptions,
): Promise<SourcePlace> {
  const finding: Finding = { code: 'CONFIG_INVALID', message: '', hint: '', path, part: 'value' }
  const { file, text, meta } = spec.document
  if (path[0] === 'sub_agents' || strategies.some(({ key }) => key === path[0])) {
    const [issue] = await placeFindings([finding], { file, text, locate: meta.locate })
    return issue?.place ?? { file }
  }
  const written = spec.origins.filter(({ layer }) => layer.text !== undefined)
  const [issue] = await placeOrigins([finding], written)
  return issue?.place ?? { file }
}

/**
 * Problems of the named agents that the model of a prompt file may start, each as it would be run, and of definitions
 * that cannot be used. If the model starts none, a broken definition is an error where it is named. Agents of the file
 * itself should be used. A file of agents also has the notes about its own name.
 */
async function definitionProblems(spec: RunSpec, around: FileSurroundings): Promise<readonly Problem[]> {
  const { byName, broken, notes } = await around.definitions()
  const { file } = spec.document
  const isOffered = startsAgents(spec)
  const wrong = isOffered ? [...broken.values()] : []
  const problems = wrong.flatMap((error) => problemsOfError(error, { file, trail: [] }))
  const told = notes.filter(({ message }) => isOffered || (spec.isDefinition && message.includes(file)))
  problems.push(...told.map((issue) => problemOf(issue, { severity: 'warning', file, trail: [] })))
  if (isOffered) problems.push(...(await offeredProblems(byName, around)))
  for (const definition of byName.values()) {
    problems.push(...(await unusedProblems(definition, { isOffered, spec })))
  }
  return problems
}

/** In `seen`: all agents that a model may start are being checked, so those of a checked agent are not checked again. */
const allOffered = 'every agent that is offered'

/** Problems of all agents that models may start: checked once for all files that have the same ones. */
function offeredProblems(
  byName: ReadonlyMap<string, AgentDefinition>,
  around: FileSurroundings,
): Promise<readonly Problem[]> {
  const { offered } = around.parts
  if (around.seen.has(allOffered)) return Promise.resolve([])
  const known = offered.get(byName)
  if (known !== undefined) return known
  const made = checkOffered([...byName.values()].filter(isOfferedToModels), {
    ...around,
    seen: new Set([allOffered]),
  })
  offered.set(byName, made)
  return made
}

async function checkOffered(
  definitions: readonly AgentDefinition[],
  around: FileSurroundings,
): Promise<readonly Problem[]> {
  const problems: Problem[] = []
  for (const { agent } of definitions) {
    problems.push(...(await checkAgent({ agent: { ...agent, builtIn: false }, trail: [] }, around)))
  }
  return problems
}

function isOfferedToModels({ description, from }: AgentDefinition): boolean {
  return description !== undefined && from !== 'built-in'
}

/** An agent that the file itself defines, and that nothing uses. */
async function unusedProblems(
  definition: AgentDefinition,
  { isOffered, spec }: { readonly isOffered: boolean; readonly spec: RunSpec },
): Promise<readonly Problem[]> {
  const { name, from } = definition
  const { workspace } = spec
  if (from !== 'prompt' || isNamed(name, spec) || (isOffered && isOfferedToModels(definition))) return []
  const why = isOffered ? 'it has no description, so it is not offered to the model' : 'tools does not name task'
  const hint = `Name it in sub_agents or as agent; for a model to start it, give it a description and add "task" to tools.`
  const finding = wrongKey(['agents', name], { message: `nothing uses the agent "${name}": ${why}`, hint })
  const place = await placeInPrompt(spec, ['agents', name], 'key')
  return [problemOf({ ...finding, place }, { severity: 'warning', file: displayPath(workspace, spec.file), trail: [] })]
}

/** Whether the file contains the name elsewhere, or runs scripts, which may name it. */
function isNamed(name: string, { frontMatter, agents, settings }: RunSpec): boolean {
  const { agents: _, ...others } = frontMatter
  const scripts = [settings.agent, ...agents.map((each) => each.name)].filter((each) => each !== undefined)
  const mayRunIt = scripts.some((each) => !each.endsWith('.md'))
  return mayRunIt || JSON.stringify(others).includes(JSON.stringify(name))
}

/**
 * Reports that the settings need a sandbox and this machine cannot provide one, in the words of a run. Only a warning,
 * even if a run would end: the file is valid, and may be meant for another machine.
 */
async function sandboxProblems(
  spec: RunSpec,
  { env, strategies }: Pick<TargetOptions, 'env' | 'strategies'>,
): Promise<readonly Problem[]> {
  const { settings, workspace, document, origins } = spec
  const given = toolLists(spec, strategies)
  const asksModel =
    settings.agent === undefined ||
    strategies.some(({ key, ignoresAgent }) => ignoresAgent === true && settings[key] !== undefined)
  const isAsked = settings.tools !== undefined && asksModel
  if (!isAsked && given.length === 0 && !settings.sandbox.scripts) return []
  const { boxProblem, missingBox } = await import('../../tool/sandbox/needs-box.ts')
  const rights = {
    ...allRights,
    write: settings.write_mode !== false,
    rules: [toolRules(writtenRules(settings))],
    sandbox: { ...settings.sandbox, mode: sandboxMode(settings) },
  }
  const asking = { scope: { rights, folders: { workspace } }, env }

  const named = isAsked ? await missingBox(settings, asking) : undefined
  const scripts = settings.sandbox.scripts ? await boxProblem(asking) : undefined
  const inAgents = await Promise.all(
    given.map(async ({ names, path }) => findingsOf(await missingBox({ tools: names }, asking), path)),
  )
  const { file, text, meta } = document
  const issues = [
    ...(await placeOrigins([...findingsOf(named, ['tools']), ...findingsOf(scripts, ['sandbox', 'scripts'])], origins)),
    ...(await placeFindings(inAgents.flat(), { file, text, locate: meta.locate })),
  ]
  return issues.map((issue) => problemOf(issue, { severity: 'warning', file, trail: [] }))
}

function findingsOf(missing: MissingBox | undefined, path: Finding['path']): readonly Finding[] {
  if (missing === undefined) return []
  return [{ code: 'SANDBOX', message: missing.message, hint: missing.hint ?? '', path, part: 'value' }]
}

/** Problems of the roles of `[collab]`: each is checked as the agent that it would be. */
async function roleProblems(spec: RunSpec, places: RolePlaces, around: FileSurroundings): Promise<readonly Problem[]> {
  const { file } = spec.document
  const problems: Problem[] = []
  for (const name of Object.keys(spec.settings.collab?.roles ?? {})) {
    try {
      const role = await findRole(name, spec, places)
      problems.push(
        ...(await checkAgent({ agent: { ...role.agent, builtIn: false }, trail: [] }, around)),
        ...(await toolsNotGiven(name, role, spec)),
      )
    } catch (error) {
      problems.push(...problemsOfError(error, { file, trail: [] }))
    }
  }
  return problems
}

/** An agent has no tool that the model which starts it does not have. */
async function toolsNotGiven(name: string, role: AgentDefinition, spec: RunSpec): Promise<readonly Problem[]> {
  const kept = withheldTools(role, spec.settings)
  const isHere = isJsonObject(spec.frontMatter['collab'] ?? null)
  if (kept.length === 0 || !isHere || spec.settings.collab?.roles[name]?.['tools'] === undefined) return []
  const message = `the role "${name}" does not get ${kept.join(', ')}: agents have at most the tools of the file`
  const it = kept.length === 1 ? 'it' : 'them'
  const hint = `Add ${it} to the tools of the file, or remove ${it} from the role.`
  const place = await placeInPrompt(spec, ['collab', 'roles', name, 'tools'], 'value')
  const finding = { code: 'CONFIG_INVALID', message, hint, place } as const
  return [problemOf(finding, { severity: 'warning', file: spec.document.file, trail: [] })]
}
