import { mayGiveTools } from '../agent/tool-names.ts'
import type { SourcePlace } from '../base/error.ts'
import type { AgentConfig } from '../config/agent-config.ts'
import { displayPath } from '../base/files.ts'
import { type Finding, placeFindings } from '../config/issue.ts'
import { placeOrigins } from '../config/layers.ts'
import { strategyKeys } from '../config/strategies.ts'
import { placeInPrompt, readRunSpec, type RunSpec } from '../config/run-spec.ts'
import { checkMode } from '../run/check-mode.ts'
import { instructionProblems } from '../run/instruction.ts'
import { loadIteration } from '../run/iterate/load.ts'
import { namedModels } from '../run/model-place.ts'
import { resourceIssues } from '../run/named-resources.ts'
import { toolIssues, withoutMissingTools } from '../run/named-tools.ts'
import { otherToolsOf } from '../run/other-tools.ts'
import { type AgentLookup, findPromptAgents, summarizerName } from '../run/prompt-agents.ts'
import { type StepAgent, strategyOf } from '../run/strategies.ts'
import { withPackServers } from '../run/pack-servers.ts'
import { agentLookup, loadOutput } from '../run/prompt-target.ts'
import type { TargetOptions } from '../run/target.ts'
import { definitionsOfPrompt } from '../run/definitions.ts'
import { checkAgent, checkNamedModel, type FileSurroundings, type SharedParts, surroundingsOf } from './checker.ts'
import { definitionProblems } from './definitions.ts'
import { checkGlobs } from './globs.ts'
import type { NamedModel } from './models.ts'
import { sandboxProblems } from './sandbox.ts'
import { type Problem, problemOf, problemsOfError } from './problem.ts'

/**
 * Checks a prompt file and everything it names. It follows the same steps as loading it for a run, but none of them
 * stops the check: invalid parts are skipped, and the rest is checked.
 */
export async function checkPromptFile(
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
  const named = [...(await toolIssues(spec)), ...(await resourceIssues(spec))]
  const tools = named.map((issue) => problemOf(issue, { severity: 'error', file, trail: [] }))
  return [
    ...notes,
    ...tools,
    ...(await rulesProblems(spec)),
    ...(await sandboxProblems(spec, around.options.env)),
    ...(await globProblems(spec, around)),
    ...(await modelProblems(spec, around)),
    ...agents.flat(),
    ...(await checkAnswerAgent(spec, around)),
    ...(await caught(file, () => loadIteration(spec, {}))),
    ...(await checkSummarizer(spec, around)),
    ...(await checkSteps(spec, around)),
    ...(await definitionProblems(spec, around)),
    ...(await rolesProblems(spec, around)),
    ...(await caught(file, async () => {
      const output = await loadOutput(spec, {})
      await strategyOf(spec.settings)?.check(spec, output)
    })),
    ...(await caught(file, () => checkMode(spec))),
    ...(await templateProblems(spec)),
  ]
}

/** The pattern parsers are only loaded if there are rules. */
async function rulesProblems({ settings: { permission = [] }, workspace }: RunSpec): Promise<readonly Problem[]> {
  if (permission.length === 0) return []
  const { ruleProblems } = await import('../run/rule-problems.ts')
  return ruleProblems(permission, workspace).map((issue) =>
    problemOf(issue, { severity: 'warning', file: '', trail: [] }),
  )
}

/** Most files have no roles, and load nothing for them. */
async function rolesProblems(spec: RunSpec, around: PromptSurroundings): Promise<readonly Problem[]> {
  if (spec.settings.collab === undefined) return []
  const { roleProblems } = await import('./roles.ts')
  const { lookup, definitions, options } = around
  return roleProblems(spec, { lookup, definitions, cwd: options.cwd }, around)
}

async function checkEntry(config: AgentConfig, spec: RunSpec, around: PromptSurroundings): Promise<readonly Problem[]> {
  const { agent: _, iterate: __, ...settings } = spec.settings
  const alone = { ...spec, agents: [config], settings }
  const path = ['sub_agents', config.index, 'name'] as const
  return checkNamed({ alone, name: config.name, path }, spec, around)
}

async function checkAnswerAgent(spec: RunSpec, around: PromptSurroundings): Promise<readonly Problem[]> {
  const { iterate: _, ...settings } = spec.settings
  const { agent: name } = settings
  if (name === undefined) return []
  return checkNamed({ alone: { ...spec, agents: [], settings }, name, path: ['agent'] }, spec, around)
}

/** The agent that summarizes iterations. */
async function checkSummarizer(spec: RunSpec, around: PromptSurroundings): Promise<readonly Problem[]> {
  const { agent: _, ...settings } = spec.settings
  const name = summarizerName(settings)
  if (name === undefined) return []
  return checkNamed({ alone: { ...spec, agents: [], settings }, name, path: ['iterate', 'summarizer'] }, spec, around)
}

/** The agents that a strategy names, and its templates and expressions. */
async function checkSteps(spec: RunSpec, around: PromptSurroundings): Promise<readonly Problem[]> {
  const { document, settings } = spec
  const strategy = strategyOf(settings)
  if (strategy === undefined) return []
  const { agent: _, ...others } = settings
  const alone = { ...spec, agents: [], settings: others }
  const agents: (readonly Problem[])[] = []
  for (const step of strategy.agents) {
    agents.push(await checkNamed({ alone, name: step.name, path: step.path, steps: [step] }, spec, around))
  }
  const compiler = (): ReturnType<typeof around.parts.compiler> => around.parts.compiler(settings.lua)
  const texts = await strategy.problems({ document, compiler })
  return [...agents.flat(), ...texts.flatMap((error) => problemsOfError(error, { file: document.file, trail: [] }))]
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

async function templateProblems({ document, settings }: RunSpec): Promise<readonly Problem[]> {
  if (!settings.template) return []
  const wrong = await instructionProblems(document)
  return wrong.flatMap((error) => problemsOfError(error, { file: document.file, trail: [] }))
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
  const named = [
    ...namedModels(spec.settings).filter(({ name }) => name !== ''),
    ...entries,
    ...(strategyOf(spec.settings)?.models ?? []),
  ]
  const { tools, disallowed_tools, write_mode: writes } = spec.settings
  const others = await otherToolsOf(spec)
  const givesTools =
    spec.settings.collab !== undefined || mayGiveTools({ tools, disallowed_tools, writes: writes !== false, ...others })
  const models = named.map(({ name, path }): NamedModel => {
    // the tools of a chain agent are only known together with its own options
    const usesTools = givesTools && path[0] !== 'sub_agents'
    return { name, usesTools, placeOf: () => placeOfModel(path, spec) }
  })
  return (await Promise.all(models.map((found) => checkNamedModel(found, around)))).flat()
}

/** The place in the file that names the model; one from the environment or a flag is attributed to the file. */
async function placeOfModel(path: readonly (string | number)[], spec: RunSpec): Promise<SourcePlace> {
  const finding: Finding = { code: 'CONFIG_INVALID', message: '', hint: '', path, part: 'value' }
  const { file, text, meta } = spec.document
  if (path[0] === 'sub_agents' || strategyKeys.some((key) => key === path[0])) {
    const [issue] = await placeFindings([finding], { file, text, locate: meta.locate })
    return issue?.place ?? { file }
  }
  const written = spec.origins.filter(({ layer }) => layer.text !== undefined)
  const [issue] = await placeOrigins([finding], written)
  return issue?.place ?? { file }
}
