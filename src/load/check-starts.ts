import { checkModelNames, fatalProblem, refuseUnpriced, refuseWithoutTools } from '../agent/check-models.ts'
import { commandOptions } from '../agent/command/options.ts'
import { fallbackModels, scriptAgentOptions, mergeOptions, modelOf } from '../agent/options.ts'
import { declaredOptionIssues } from '../agent/declared-option-issues.ts'
import { readDeclaredOptions } from '../agent/declared-options.ts'
import type { AgentParts, ChosenModel } from '../agent/parts.ts'
import type { ExternalTools } from '../agent/tool-names.ts'
import type { ToolFilter } from '../event/permission.ts'
import { BatonError, isBatonError, rewordError } from '../base/error.ts'
import { defined, type Json, type JsonObject } from '../base/json.ts'
import { inheritedOptions } from '../config/agent-options.ts'
import { throwIssues } from '../settings/issue.ts'
import { type AipDocument, parseAip } from '../prompt/aip.ts'
import { placeOf } from '../prompt/document.ts'
import { syntaxHint, withRange } from '../script/section-error.ts'
import { asLua } from '../script/host/require.ts'
import { serverNamesOf } from '../mcp/names.ts'
import { packOfFile } from '../pack/granted.ts'
import { asChild } from './child-target.ts'
import { createSharedCompiler, type SharedCompiler } from './shared-compiler.ts'
import { placeModelError } from './model-place.ts'
import type { NamedAgent } from './prompt-agents.ts'
import type { PromptTarget } from './prompt-target.ts'
import { mayAskModel } from './target.ts'

interface Parts extends Pick<AgentParts, 'chooseModel' | 'prices' | 'plugins' | 'serversOf' | 'isRecordedTool'> {
  /** Rejects if the model of a file cannot be given the tools that are named for it. */
  readonly checkTools: (named: ToolFilter, file: string) => Promise<void>
}

/**
 * Finds what would otherwise end the run after calls were paid for: an unavailable model, a missing key, an agent that
 * cannot start. Checks the main agent and every agent of the chain, as far as they are already known (choices of
 * scripts are not). Calls no model.
 * @throws BatonError at the entry that names the agent
 */
export async function checkStarts(target: PromptTarget, parts: Parts): Promise<void> {
  const compiler = createSharedCompiler(target.settings.lua)
  try {
    const models = await modelsOf(target, { parts, compiler, packRoots: target.packRoots })
    const { usd, unpriced } = target.settings.budget
    if (usd !== undefined && unpriced !== 'allow') await refuseUnpriced(models, parts)
  } finally {
    await compiler.close()
  }
}

interface Checking {
  readonly parts: Parts
  readonly packRoots: readonly string[]
  readonly compiler: SharedCompiler
}

async function modelsOf(target: PromptTarget, checking: Checking): Promise<readonly ChosenModel[]> {
  const { spec, starts, agentSettings, configSettings } = target
  const models = [...(await mainModels(target, checking)), ...(await strategyModels(target, checking))]
  const inherited = inheritedOptions(agentSettings, configSettings)
  for (const start of starts) {
    try {
      models.push(...(await modelsOfAgent(start, inherited, checking)))
    } catch (error) {
      if (!isBatonError(error)) throw error
      throw rewordError(error, { from: await placeOf(spec.document, start.path, 'value') })
    }
  }
  return models
}

/** Without a name, the default model is checked, unless an agent of the chain may still name another. */
async function mainModels(target: PromptTarget, checking: Checking): Promise<readonly ChosenModel[]> {
  const { chooseModel, checkTools } = checking.parts
  const { settings, spec } = target
  if (!mayAskModel(target)) return []
  const others = otherToolsIn(spec.file, checking)
  const usesTools = await givesTools(settings, others)
  const checked = await checkModelNames({ ...settings, usesTools }, { chooseModel })
  const problem = fatalProblem(checked)
  if (problem !== undefined) throw await placeModelError(problem.error, problem.path, spec)
  const mayNameOne = spec.agents.some(
    ({ enabled, stages }) => enabled && stages.some((stage) => stage.startsWith('pre')),
  )
  const hasNoWork = target.strategy?.row.hasInstructions !== true && spec.document.instruction.trim() === ''
  const isLeftOpen = settings.model !== undefined || mayNameOne || hasNoWork
  const unnamed = isLeftOpen ? [] : [await defaultModel({ usesTools }, { chooseModel })]
  if (usesTools) await checkTools(settings, spec.file)
  return [...unnamed, ...checked.usable]
}

async function strategyModels(target: PromptTarget, checking: Checking): Promise<readonly ChosenModel[]> {
  const { strategy, settings, settingsFor, spec, placeOf: place } = target
  if (strategy?.row.models === undefined) return []
  const { chooseModel } = checking.parts
  const others = otherToolsIn(spec.file, checking)
  const givesToolsHere = (own: PromptTarget['settings']): Promise<boolean> => givesTools(own, others)
  return strategy.row.models({ settings, settingsFor, spec, placeOf: place, chooseModel, givesTools: givesToolsHere })
}

/** Whether the model of a prompt file may be given tools. Most files have none, and load no code for them. */
async function givesTools(
  { tools, disallowed_tools, write_mode: writes }: PromptTarget['settings'],
  others: () => Promise<ExternalTools>,
): Promise<boolean> {
  if (tools === undefined) return false
  const { mayGiveTools } = await import('../agent/tool-names.ts')
  return mayGiveTools({ tools, disallowed_tools, writes: writes !== false, ...(await others()) })
}

/** @throws BatonError CONFIG_INVALID for a model that cannot call the tools it would be given */
async function defaultModel(
  { usesTools }: { readonly usesTools: boolean },
  { chooseModel }: Pick<Parts, 'chooseModel'>,
): Promise<ChosenModel> {
  const chosen = await chooseModel(undefined)
  if (usesTools) refuseWithoutTools(chosen)
  return chosen
}

async function modelsOfAgent(
  { agent, options, child, stages, isLate = stages.some((stage) => stage.startsWith('post')) }: NamedAgent,
  inherited: JsonObject,
  checking: Checking,
): Promise<readonly ChosenModel[]> {
  if (agent.kind === 'prompt') {
    return child === undefined ? [] : modelsOf(asChild(child, agent, { options, inherited }), checking)
  }
  if (agent.kind === 'command') {
    commandOptions(agent, options)
    return []
  }
  const given = scriptAgentOptions(options, `"${agent.name}"`)
  const document = agent.kind === 'aip' ? parseAip(agent.file, agent.text) : undefined
  // this fails before anything is paid for, and reports the error itself
  if (isLate) await checkCode(agent, document === undefined ? [asLua(agent.text)] : codeOf(document), checking)
  if (document === undefined) return []
  const own = await readDeclaredOptions(agent, document)
  const others = otherToolsIn(agent.file, checking)
  const { plugins, isRecordedTool } = checking.parts
  const known = defined({ plugins, isRecordedTool })
  throwIssues(await declaredOptionIssues(own, { ...known, ...(await serversIn(agent.file, checking)) }))
  if (document.parts.length === 0 || mayChooseItself(document)) return []
  const merged = mergeOptions(inherited, own.values, given)
  const usesTools = await namesTools(merged, agent.name, others)
  if (usesTools)
    await checking.parts.checkTools({ tools: (merged['tools'] as readonly Json[]).map(String) }, agent.file)
  const checked = await checkModelNames(
    { ...defined({ model: modelOf(merged).model }), fallback_models: fallbackModels(merged), usesTools },
    checking.parts,
  )
  const problem = fatalProblem(checked)
  if (problem !== undefined) throw problem.error
  return checked.usable.length > 0 ? checked.usable : [await defaultModel({ usesTools }, checking.parts)]
}

/** Whether the options of a script agent give its model tools. @throws BatonError for unknown tools */
async function namesTools(
  { tools }: JsonObject,
  agent: string,
  othersOf: () => Promise<ExternalTools>,
): Promise<boolean> {
  if (!Array.isArray(tools)) return false
  const { mayGiveTools, refuseUnknownTools } = await import('../agent/tool-names.ts')
  const names = tools.map(String)
  const others = await othersOf()
  refuseUnknownTools(names, `"${agent}"`, others)
  return mayGiveTools({ tools: names, writes: true, ...others })
}

/** The tools available to an agent besides those of Baton. */
function otherToolsIn(file: string, checking: Checking): () => Promise<ExternalTools> {
  return async () => {
    const brought = ((await checking.parts.plugins?.())?.tools ?? []).map(({ name }) => name)
    return {
      brought,
      ...(await serversIn(file, checking)),
      ...defined({ isRecordedTool: checking.parts.isRecordedTool }),
    }
  }
}

/** The MCP servers that an agent has; undefined if they are not known. */
async function serversIn(file: string, { parts, packRoots }: Checking): Promise<Omit<ExternalTools, 'brought'>> {
  if (parts.serversOf === undefined) return {}
  return serverNamesOf(await parts.serversOf(packOfFile(file, packRoots)))
}

function codeOf({ beforeAll, data, output, afterAll }: AipDocument): readonly string[] {
  return [beforeAll, data, output, afterAll].flatMap((block) => block?.text ?? [])
}

/** @throws BatonError SCRIPT_FAILED if the code cannot be compiled */
async function checkCode(
  { file, text }: { readonly file: string; readonly text: string },
  sections: readonly string[],
  { compiler }: Checking,
): Promise<void> {
  for (const code of sections) {
    const error = await (await compiler.open()).compile({ name: file, text: code })
    if (error === undefined) continue
    const { message, line } = error
    const place = withRange(line === undefined ? { file } : { file, line, text }, message)
    throw new BatonError('SCRIPT_FAILED', message, { hint: syntaxHint, place })
  }
}

/** Whether a script may set the options of the request, or skip it. */
function mayChooseItself({ beforeAll, data }: AipDocument): boolean {
  return /\b(?:options|require|skip|load)\b/.test(`${beforeAll?.text ?? ''}\n${data?.text ?? ''}`)
}
