import { BatonError } from '../base/error.ts'
import { defined, type JsonObject } from '../base/json.ts'
import { inheritedOptions } from '../config/agent-options.ts'
import { checkReserved } from '../config/check-settings.ts'
import { fillVariables, type ValueProblem } from '../config/input-variables.ts'
import { type Finding, suggestionHint, throwIssues, withPlace, wrongKey } from '../settings/issue.ts'
import { isRequestKey, isReserved, reserved, withEmptyLists } from '../settings/keys.ts'
import type { Layer } from '../config/layers.ts'
import { settingsFor } from '../config/run-spec.ts'
import { sandboxMode, type Settings } from '../config/settings.ts'
import type { CallerVariables, PromptAgent } from '../event/agent.ts'
import { type Agents, type ContextWith, narrow, type NarrowPorts, type RunScope } from '../event/context.ts'
import type { SandboxRights } from '../event/sandbox-rights.ts'
import { requestedModel, resolveAlias } from '../model/alias.ts'
import type { PromptTarget } from './prompt-target.ts'
import type { TargetOptions } from './options.ts'
import { limitsOfWriting } from './limits.ts'

/** Where the run was started, and its `-c`: all prompt files of the run are loaded with them. */
export interface ChildSurroundings extends Omit<TargetOptions, 'file' | 'text' | 'stdin' | 'flags'> {
  readonly flags: Pick<TargetOptions['flags'], 'overrides' | 'recordedServers' | 'recordedOfPack' | 'isRecordedTool'>
  /** Called with each prompt file that was loaded, before it is run. */
  readonly onLoad?: (target: PromptTarget) => Promise<void>
}

/**
 * The options for loading a prompt file that is run as an agent. `-m` and `BATON_MODEL` are for the main agent only.
 * `-c` is for the run, and the settings of the file take precedence over it.
 */
export function childTargetOptions(
  { name, file, text, defined: definedText }: Pick<PromptAgent, 'name' | 'file' | 'text' | 'defined'>,
  around: ChildSurroundings,
): TargetOptions {
  const { BATON_MODEL: _, ...env } = around.env
  // other options of the user are for the file that was started
  const { overrides, recordedServers, recordedOfPack, isRecordedTool } = around.flags
  const { onLoad: _onLoad, ...options } = around
  return {
    ...options,
    env,
    file,
    ...(definedText === undefined ? {} : { definition: { name, text, defined: definedText } }),
    flags: { overrides, ...defined({ recordedServers, recordedOfPack, isRecordedTool }) },
    isAgent: true,
  }
}

interface CallerOptions {
  /** Options of the entry or the call; they take precedence over the front matter of the file. */
  readonly options: JsonObject
  /** The options that agents of the run start from: defaults for what the file does not set. */
  readonly inherited?: JsonObject
}

/**
 * The target as its caller runs it.
 * @throws BatonError CONFIG_INVALID for invalid options
 */
export function asChild(
  target: PromptTarget,
  agent: Pick<PromptAgent, 'name' | 'file'>,
  { options, inherited = {} }: CallerOptions,
): PromptTarget {
  const layer: Layer = { origin: { kind: 'flag', name: 'options' }, values: readChildOptions(options, agent) }
  const { layers } = target.spec
  const run: Layer = { origin: { kind: 'default' }, values: inherited }
  const spec = { ...target.spec, layers: { ...layers, below: [...layers.below, run], above: [...layers.above, layer] } }
  const ofParams = settingsFor(spec)
  const settings = (params: JsonObject): Settings => withResolvedModels(ofParams(params))
  const { model, model_aliases } = ofParams(spec.params)
  const agentSettings = { ...target.agentSettings, ...defined({ model }), model_aliases }
  return { ...target, spec, settings: settings(spec.params), agentSettings, settingsFor: settings }
}

type ChildNames = 'rights' | 'options' | 'redoCount' | 'modeOptions' | 'compactAt'

/**
 * The options that its own agents start from, and its rights, which are at most those of its caller. Its own rules
 * apply in addition to those of the run.
 */
export function childContext<Context extends ContextWith<ChildNames, NarrowPorts & Pick<Agents, 'definitions'>>>(
  target: PromptTarget,
  context: Context,
): Context {
  const options = inheritedOptions(target.agentSettings, target.configSettings)
  const { rules = [] } = target.spec.layers.own
  // as written, without comparing its entries: the list is stricter or absent
  const own = rules.map(({ tool, pattern, effect, origin }) => ({ tool, effect, origin, ...defined({ pattern }) }))
  const { compactAt: _, ...scope } = context.scope
  const inner = {
    ...context,
    scope: {
      ...scope,
      ...defined({ compactAt: target.settings.compact_at }),
      options,
      redoCount: 0,
      modeOptions: codeOptions(target, context),
    },
    services: { ...context.services, definitions: async () => (await target.definitions()).byName },
  }
  return narrow(inner, {
    ...limitsOfWriting(target.settings),
    sandbox: { ...ownSandbox(target), mode: sandboxMode(target.settings) },
    ...(own.length === 0 ? {} : { rules: own }),
  })
}

/** Which program calls need no approval is decided by the file that was started, and can only be restricted. */
function codeOptions(
  { settings: { code } }: PromptTarget,
  { scope }: { readonly scope: Pick<RunScope, 'modeOptions'> },
): NonNullable<RunScope['modeOptions']> {
  const isApproved = code.auto_approve && scope.modeOptions?.['code']?.['auto_approve'] === true
  return { code: { ...code, auto_approve: isApproved } }
}

/** The settings of the file itself; those of config files are already in the rights of the run. */
function ownSandbox({ spec }: PromptTarget): Partial<SandboxRights> {
  // validated with the front matter
  return (spec.layers.own.values['sandbox'] ?? {}) as Partial<SandboxRights>
}

/** Models are looked up by the aliases of the main file, so aliases of this file are resolved before. */
function withResolvedModels(settings: Settings): Settings {
  const { model, model_aliases: aliases, fallback_models: fallbacks } = settings
  const asked = model === undefined ? undefined : requestedModel(model, aliases)
  return {
    ...settings,
    ...defined({ model: asked?.model, reasoning_effort: asked?.reasoningEffort }),
    fallback_models: fallbacks.map((name) => resolveAlias(name, aliases)),
  }
}

/** The time limit of the call: `timeout` of the caller or of the file. That of a config file is for whole runs. */
export function childTimeMs({ spec, settings }: PromptTarget, options: JsonObject): number | undefined {
  const isOwn = (options['timeout'] ?? spec.frontMatter['timeout']) !== undefined
  return isOwn ? settings.timeout_ms : undefined
}

/** Keys of the front matter that the file that was started sets for the whole run. */
export function keysWithoutEffect({ spec }: PromptTarget): readonly string[] {
  return ['lua', 'mcp_servers', 'retry', 'runs', 'secrets', 'timeouts'].filter(
    (key) => spec.frontMatter[key] !== undefined,
  )
}

/**
 * The settings that a caller gives a prompt file it runs as an agent: request keys only, because what the file may do
 * is up to the file. `allow_run_on_task_fail` and `timeout` are options of agents, too. Null means unset.
 * @throws BatonError CONFIG_INVALID naming the option
 */
function readChildOptions(options: JsonObject, { name }: Pick<PromptAgent, 'name'>): JsonObject {
  const given = Object.entries(withEmptyLists(options)).filter(([, value]) => value !== null)
  const findings = given.flatMap(([key, value]): readonly Finding[] => {
    if (!isOption(key)) return [unknownOption(key)]
    return isReserved(key) ? checkReserved(key, value) : []
  })
  throwIssues(
    findings.map((finding) => {
      const { code, message, hint } = withPlace(finding, undefined)
      return { code, message: `options of "${name}": ${message}`, hint }
    }),
  )
  return Object.fromEntries(given)
}

function isOption(key: string): boolean {
  return isRequestKey(key) || key === 'allow_run_on_task_fail' || key === 'timeout'
}

function unknownOption(key: string): Finding {
  const [message, otherwise] = isReserved(key)
    ? [`"${key}" cannot be set by the caller`, `Set ${key} in the prompt file itself.`]
    : [`unknown key "${key}"`, 'Options of a prompt file are model, temperature, globs and the like.']
  return wrongKey([key], { message, hint: suggestionHint(key, [...reserved.keys()].filter(isOption), otherwise) })
}

/**
 * The values of the `[input]` variables of a prompt file that is run as an agent: from the table a script calls it with,
 * from the entry of `sub_agents`, or from the file that it answers for. Undefined for a file without `[input]`.
 * @throws BatonError CONFIG_INVALID naming the agent, for an unknown variable, an invalid value or a missing variable
 */
export function childVariables(
  { spec: { variables } }: Pick<PromptTarget, 'spec'>,
  { values, others }: CallerVariables,
  agent: Pick<PromptAgent, 'name'>,
): JsonObject | undefined {
  if (variables === undefined) return undefined
  const filled = fillVariables(variables, values)
  const problem = filled.problems.find(({ kind }) => kind !== 'unknown' || others === 'refused')
  if (problem !== undefined) throw refused(problem, agent)
  return filled.values
}

/** Without a place: the caller adds it. */
function refused(problem: ValueProblem, { name: agent }: Pick<PromptAgent, 'name'>): BatonError {
  const error = (message: string, hint: string): BatonError => new BatonError('CONFIG_INVALID', message, { hint })
  switch (problem.kind) {
    case 'unknown':
      return error(`"${agent}" has no input variable "${problem.name}"`, problem.hint)
    case 'wrong': {
      const { name, expected } = problem
      const message = `the input variable "${name}" of "${agent}" must be ${expected}`
      return error(message, `See [input.${name}] in its front matter.`)
    }
    case 'missing': {
      const { name, description } = problem.variable
      const what = description === undefined ? '' : `: ${description}`
      const hint = `Pass it by name: { name = ${JSON.stringify(agent)}, ${name} = … }, or as input = { ${name} = … } of aip.agent.run.`
      return error(`"${agent}" needs the input variable "${name}"${what}`, hint)
    }
  }
}
