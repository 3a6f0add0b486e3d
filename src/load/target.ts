import { extname, resolve } from 'node:path'
import { BatonError } from '../base/error.ts'
import type { JsonObject } from '../base/json.ts'
import { isSourceEntry } from '../base/reads.ts'
import { pickAgentOptions } from '../config/agent-options.ts'
import { type Issue, issueText } from '../settings/issue.ts'
import type { SourcedValue } from '../config/layers.ts'
import type { UnusedServers } from '../config/unused-servers.ts'
import type { Settings } from '../config/settings.ts'
import { loadTargetConfig } from '../config/target-config.ts'
import { findWorkspace } from '../config/locate.ts'
import { packRoots } from '../pack/find-pack.ts'
import { type NameGuard, nameGuard } from '../pack/name-guard.ts'
import { mayBePackName, unusedCores, unusedCoreText } from '../pack/pack-ref.ts'
import {
  type CommandFile,
  findAgent,
  type NamedFile,
  type PromptFile,
  resolveAgent,
  type ScriptFile,
} from '../pack/resolve.ts'
import { checkSources, type InputOptions, refuseBoth, workingGlobs } from './inputs.ts'
import { definitionsOf } from '../pack/definitions.ts'
import { definitionsOnDemand, type FindDefinitions, resolveNamed } from './definitions.ts'
import type { PromptTarget } from './prompt-target.ts'
import type { TargetOptions } from './options.ts'

/** An agent that is run directly. */
export interface AgentTarget {
  readonly kind: 'agent'
  readonly agent: ScriptFile
  /** Reads the agent again, because a redo uses the current file. */
  readonly reload: () => ScriptFile
  readonly workspace: string
  readonly settings: Settings
  /** The origins of the settings. */
  readonly origins: readonly SourcedValue[]
  /** The options below the agent's own ones: config files and `-c`. */
  readonly agentSettings: Settings
  readonly configSettings: Settings
  /** `-c` as given, for loading prompt files that are run as agents. */
  readonly overrides: readonly string[]
  /** Options from the environment and flags, which take precedence over the agent's own. */
  readonly flagOptions: JsonObject
  /** Problems that only `baton check` reports. */
  readonly notes: readonly Issue[]
  /** MCP servers that are not used because their file is not trusted. */
  readonly leftOut: readonly UnusedServers[]
  readonly packRoots: readonly string[]
  readonly guard: NameGuard
  /** The named agents. */
  readonly definitions: FindDefinitions
  readonly agents: readonly NamedFile[]
}

/** The target of a run, read and checked; nothing has been executed yet. */
export type Target = PromptTarget | AgentTarget

/** Warnings that a run reports before it starts, one line each. */
export async function warningsOf(target: Target): Promise<readonly string[]> {
  const own = target.kind === 'prompt' ? [...target.spec.warnings, ...(target.spec.toolNotes ?? [])].map(issueText) : []
  const leftOut = unusedServersOf(target)
  const servers =
    leftOut.length === 0
      ? []
      : (await import('../config/unused-servers.ts')).warningsOfLeftOut(leftOut, target.settings.tools ?? [])
  const hasAipack = originsOf(target).some(({ layer }) => layer.isAipack === true)
  const models = hasAipack ? await (await import('./folder-models.ts')).folderModelWarnings(target) : []
  return [...new Set([...own, ...models, ...servers, ...unusedCores(target.packRoots).map(unusedCoreText)])]
}

/** MCP servers that are not used because their file is not trusted. */
export function unusedServersOf(target: Target): readonly UnusedServers[] {
  return target.kind === 'prompt' ? target.spec.leftOut : target.leftOut
}

export function originsOf(target: Target): readonly SourcedValue[] {
  return target.kind === 'prompt' ? target.spec.origins : target.origins
}

/** Whether a key inside a table is set explicitly, not only by the defaults. */
export function isSet(target: Target, key: string, inner: string): boolean {
  return originsOf(target).some(
    ({ path, layer }) => path[0] === key && path[1] === inner && layer.origin.kind !== 'default',
  )
}

/** Whether the built-in main agent may call a model: no agent answers instead, and there may be an instruction. */
export function mayAskModel({ answerAgent, spec, settings, strategy }: PromptTarget): boolean {
  const asksModel = strategy?.row.asksModel
  if (asksModel !== undefined) return asksModel(settings)
  return answerAgent === undefined && (spec.document.instruction.trim() !== '' || spec.agents.length > 0)
}

/**
 * Reads the file, its config and all agents it names. Code that only prompt files need (schemas, TOML) is loaded only
 * for them.
 * @throws BatonError for everything that prevents a run from starting (exit codes 2 and 6)
 */
export async function loadTarget(options: TargetOptions): Promise<Target> {
  if (options.text === undefined && targetKind(options.file, options) === 'agent') return loadAgentTarget(options)
  return loadPrompt(options)
}

/**
 * The same with inputs: `-f` becomes `working_globs` of a prompt file, relative to its `base_dir`, which is known only
 * after it is loaded.
 * @throws BatonError USAGE if both `-i` and `-f` are given
 */
export async function loadTargetFor(inputs: InputOptions, options: TargetOptions): Promise<Target> {
  refuseBoth(inputs)
  const target = await loadTarget(options)
  refuseNothing(target, inputs, options)
  if (target.kind === 'agent') return target
  if (inputs.globs.length === 0) return withInputs(target, inputs)
  const overrides = [...options.flags.overrides, workingGlobs(inputs, target.settings.base_dir)]
  const given = await loadTarget({ ...options, flags: { ...options.flags, overrides } })
  if (given.kind === 'prompt') checkSources({ ...sourcesOf(given), hasInputs: false, groups: '-f' })
  return given
}

/** Refuses inputs before anything is paid for, or lets an agent definition get them as messages. */
function withInputs(target: PromptTarget, { texts, ignoresUnread = false }: InputOptions): PromptTarget {
  const { settings, spec } = target
  // a `pre` agent may change the globs
  const hasGroups = settings.globs.working.length > 0 && !spec.agents.some(({ enabled }) => enabled)
  checkSources({
    ...sourcesOf(target),
    hasInputs: texts.length > 0,
    ...(hasGroups ? { groups: 'working_globs' } : {}),
  })
  if (texts.length === 0 || ignoresUnread) return target
  if (takesMessages(target)) return { ...target, inputsAreMessages: true }
  if (readsInputs(target)) return target
  const { file, text, instructionLine: line } = spec.document
  const [what, hint] =
    spec.source === 'file'
      ? [file, `${reading} Files are given with -f, other context with --stdin.`]
      : ['the prompt', 'Write it into the prompt, give it with --stdin as context, or use a file that reads it.']
  throw new BatonError('USAGE', `an input (-i) is given, but nothing in ${what} reads it`, {
    place: { file, text, line },
    hint,
  })
}

function sourcesOf({ spec: { file }, strategy }: PromptTarget) {
  return { file, strategy: strategy?.row }
}

const reading =
  'Set template = true and write {{input}} where it belongs, or name an agent in sub_agents that reads it.'

/** Whether the inputs of a target are the messages of the user to its model: it is an agent that asks one. */
export function takesMessages(target: PromptTarget): boolean {
  return target.spec.isDefinition && !readsInputs(target)
}

/** Whether a template, an agent or a program of the file gets the input. */
export function readsInputs({ settings, spec, answerAgent, strategy }: PromptTarget): boolean {
  return (
    settings.template ||
    answerAgent !== undefined ||
    strategy?.row.readsInput?.(settings) === true ||
    spec.agents.some(({ enabled }) => enabled)
  )
}

async function loadAgentTarget(options: TargetOptions): Promise<Target> {
  const { workspace, settings, origins, configSettings, flagValues, notes, leftOut, layers } =
    await loadTargetConfig(options)
  if (settings.plugins !== undefined) await (await import('./check-mode.ts')).pluginsOf(settings)
  const roots = packRoots(workspace, options)
  const guard = nameGuard(workspace, options)
  const { cwd, builtInDir, file, reads } = options
  const definitions = definitionsOnDemand(() => definitionsOf({ workspace, layers, packRoots: roots, guard }, options))
  const places = { baseDir: cwd, builtInDir, packRoots: roots, guard, reads }
  const agent = await resolveNamed(file, { ...places, definitions })
  // packs may contain prompt files, too
  if (agent.kind === 'prompt') return loadPrompt(asTarget(agent, options))
  if (agent.kind === 'command') return loadPrompt(asPrompt(agent, options))
  refusePromptFlags(options)
  return {
    kind: 'agent',
    agent,
    reload() {
      const again = findAgent(file, places)
      return again?.kind === 'aip' || again?.kind === 'lua' ? again : agent
    },
    workspace,
    settings,
    origins,
    agentSettings: configSettings,
    configSettings,
    overrides: options.flags.overrides,
    flagOptions: pickAgentOptions(flagValues),
    notes,
    leftOut,
    packRoots: roots,
    guard,
    definitions,
    agents: [agent],
  }
}

function asTarget({ name, file, text, defined }: PromptFile, options: TargetOptions): TargetOptions {
  return { ...options, file, ...(defined === undefined ? {} : { definition: { name, text, defined } }) }
}

/** @throws BatonError USAGE for a command line agent that is run by its name without input */
function refuseNothing(target: Target, { texts, globs }: InputOptions, { file, text }: TargetOptions): void {
  const isGiven = texts.length > 0 || globs.length > 0 || text !== undefined
  if (isGiven || target.kind !== 'prompt' || target.spec.source !== 'text') return
  if (target.answerAgent?.kind !== 'command') return
  throw new BatonError('USAGE', `the program of the agent "${file}" needs an input`, {
    hint: `Say what it should do: baton ${file} -i TEXT.`,
  })
}

/** The prompt that stands in for a command line agent run by its name: it passes the input on verbatim. */
function asPrompt({ name }: CommandFile, options: TargetOptions): TargetOptions {
  const instruction = '{{#if input.files}}Work on these files.{{else}}{{input}}{{/if}}'
  return {
    ...options,
    file: name,
    text: `+++\nagent = ${JSON.stringify(name)}\ntemplate = true\n+++\n${instruction}\n`,
  }
}

function refusePromptFlags({ file, flags: { vars = [], outputSchema } }: TargetOptions): void {
  const refuse = (flag: string, hint: string): BatonError =>
    new BatonError('USAGE', `${flag} is for prompt files, and ${file} is an agent`, { hint })
  if (vars.length > 0) throw refuse('--var', 'Pass its input with -i.')
  if (outputSchema !== undefined) throw refuse('--output-schema', 'The answer of an agent is what its script returns.')
}

async function loadPrompt(options: TargetOptions): Promise<PromptTarget> {
  const { loadPromptTarget } = await import('./prompt-target.ts')
  return loadPromptTarget(options)
}

/**
 * Whether a word of the command line names a prompt file or an agent. `.aip` and `.lua` are agents, and any other
 * existing file is a prompt file. Else a pack reference, a folder with a trailing `/`, a name without an extension, and
 * a name for which an agent file is found, are agents; in a pack, that name may be a prompt file, too.
 */
export function targetKind(
  file: string,
  { cwd, builtInDir, reads }: Pick<TargetOptions, 'cwd' | 'builtInDir' | 'reads'>,
): 'agent' | 'prompt' {
  if (/\.(?:aip|lua)$/.test(file)) return 'agent'
  const isPlainPrompt = file.endsWith('.md') && !isInPack(file)
  if (isPlainPrompt || file === '-' || file === '' || isSourceEntry(resolve(cwd, file), reads)) return 'prompt'
  if (file.endsWith('/') || mayBePackName(file) || extname(file) === '') return 'agent'
  return findAgent(file, { baseDir: cwd, builtInDir, packRoots: [], reads }) === undefined ? 'prompt' : 'agent'
}

function isInPack(file: string): boolean {
  return mayBePackName(file) && file.includes('/')
}

/**
 * The path of the prompt file that a word of the command line names: the path itself, or that of a file in a pack.
 * @throws BatonError AGENT_NOT_FOUND, AGENT_AMBIGUOUS
 */
export function promptFileOf(
  file: string,
  options: Pick<TargetOptions, 'cwd' | 'builtInDir' | 'env' | 'home'>,
): string {
  if (!isInPack(file) || targetKind(file, options) === 'prompt') return file
  return packFileOf(file, options)
}

/**
 * The file of a prompt or an agent, also of the main agent of a pack.
 * @throws BatonError if a pack or its agent does not exist
 */
export function targetFileOf(
  file: string,
  options: Pick<TargetOptions, 'cwd' | 'builtInDir' | 'env' | 'home'>,
): string {
  const isMain = mayBePackName(file) && !isInPack(file) && targetKind(file, options) === 'agent'
  return isMain ? packFileOf(file, options) : promptFileOf(file, options)
}

function packFileOf(file: string, options: Pick<TargetOptions, 'cwd' | 'builtInDir' | 'env' | 'home'>): string {
  const { cwd, builtInDir } = options
  return resolveAgent(file, { baseDir: cwd, builtInDir, packRoots: packRoots(findWorkspace(options), options) }).file
}
