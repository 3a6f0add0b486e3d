import { BatonError, isBatonError, isSuspension, rewordError, type SourcePlace } from '../base/error.ts'
import { tableLine } from '../config/table-line.ts'
import { defined, type Json, type JsonObject } from '../base/json.ts'
import { throwIssues } from '../settings/issue.ts'
import { parseDuration } from '../base/duration.ts'
import type {
  AgentExecutor,
  AgentResult,
  ModelAgent,
  ModelAgentRequest,
  ModelResult,
  PromptRequest,
  PromptResult,
  ScriptRequest,
  ScriptResult,
  TextAgent,
} from '../event/agent.ts'
import { type Ancestor, below, emit, narrow, type RunContext, withScope, withServices } from '../event/context.ts'
import { errorInfo } from '../event/error-info.ts'
import type { FileAnswer, FileConversation } from '../event/sub-agents.ts'
import { parseAip } from '../prompt/aip.ts'
import { createModuleReader } from '../script/module-reader.ts'
import { runAip } from './aip-agent.ts'
import { placeText } from '../event/place.ts'
import { createSectionRunner, placeOfInput, type ScriptRun, withCtxValues } from './script-run.ts'
import { restrictToPack } from './restrict-to-pack.ts'
import { concurrencyOf, scriptAgentOptions, mergeOptions } from './options.ts'
import { declaredOptionIssues } from './declared-option-issues.ts'
import { readDeclaredOptions } from './declared-options.ts'
import type { AgentParts, ScriptParts } from './parts.ts'
import { timeLimitOf, withTimeLimit } from './time-limit.ts'
import { serverNamesOf } from '../mcp/names.ts'
import { canonicalHash } from '../base/hash.ts'
import { mapSiblings } from '../base/concurrency.ts'

/** Combines the kinds of agents behind the one `AgentExecutor`. One event announces each run, and one ends it. */
export function createAgentExecutor(given: AgentParts): AgentExecutor {
  let runs = given.agentRunsBefore
  const parts: ScriptParts = { ...given, findModule: createModuleReader(), countRun: () => (runs += 1) }

  // loaded only for agents that ask a model
  const open = async (agent: ModelAgent, context: RunContext): ReturnType<AgentExecutor['open']> =>
    (await import('./conversation.ts')).openConversation(agent, parts, context)

  async function runModel({ agent, messages }: ModelAgentRequest, context: RunContext): Promise<ModelResult> {
    const session = await open(agent, context)
    try {
      return await session.answer(await session.send(messages))
    } finally {
      await session.close()
    }
  }

  function run(request: ScriptRequest, context: RunContext): Promise<ScriptResult>
  function run(request: PromptRequest, context: RunContext): Promise<PromptResult>
  function run(request: ModelAgentRequest, context: RunContext): Promise<ModelResult>
  function run(request: ScriptRequest | PromptRequest, context: RunContext): Promise<ScriptResult | PromptResult>
  async function run(
    request: ScriptRequest | PromptRequest | ModelAgentRequest,
    context: RunContext,
  ): Promise<AgentResult> {
    if (request.kind === 'model') return runModel(request, context)
    const { name, kind } = request.agent
    emit(context, { type: 'agent.started', name, kind })
    try {
      const result = await runFile(request, parts, context)
      const output = outputOf(result)
      const stop = result.end === 'redo' ? 'done' : result.end
      emit(context, { type: 'agent.completed', name, stop_reason: stop, ...(output !== null && { output }) })
      return result
    } catch (error) {
      const failure = located(error, request)
      const type = isSuspension(error) ? 'agent.suspended' : 'agent.failed'
      emit(context, { type, name, error: errorInfo(failure) })
      throw failure
    }
  }

  async function converse(request: FileConversation, context: RunContext): Promise<FileAnswer | undefined> {
    const { agent } = request
    if (parts.converseWithFile === undefined) return undefined
    noteExecuted(agent, context)
    const held = await restrictToPack(agent, parts, context)
    // a model that starts its own kind of agent gives it new work; the limit of nesting is checked elsewhere
    const own = { name: agent.name, file: identity(agent) }
    return parts.converseWithFile(request, descend(own, placeText(context.scope.at), held))
  }

  return { run, open, converse }
}

async function runFile(
  request: ScriptRequest | PromptRequest,
  parts: ScriptParts,
  given: RunContext,
): Promise<ScriptResult | PromptResult> {
  const { agent } = request
  noteExecuted(agent, given)
  const context = await restrictToPack(agent, parts, given)
  if (request.kind === 'script') return runScript(request, parts, context)
  const { agent: answering } = request
  const values = request.inputs.map(({ value }) => value)
  const inner = descend({ name: answering.name, file: identity(answering) }, values, context)
  return answering.kind === 'command'
    ? (await import('./command/run.ts')).runCommandAgent({ ...request, agent: answering }, inner, parts)
    : parts.runPromptFile({ ...request, agent: answering }, inner)
}

/**
 * Notes which text of which files is executed. Not needed for agents that come with Baton, or for the front matter of
 * the file that is run: they cannot change.
 */
function noteExecuted(agent: ScriptRequest['agent'] | TextAgent, { scope, services }: RunContext): void {
  const { at } = scope
  const defined = 'defined' in agent ? agent.defined : undefined
  if (defined === undefined) return services.sources.execute(agent.file, { at, text: agent.text })
  for (const { file, text, form, at: path } of defined.sources) {
    const isWhole = form === 'config' || path.length === 0
    services.sources.execute(file, isWhole ? { at, text } : undefined)
  }
}

/** Agents that one file defines are different agents. */
function identity({ file, name, defined }: TextAgent): string {
  return defined === undefined ? file : `${file}#${name}`
}

async function runScript(request: ScriptRequest, parts: ScriptParts, context: RunContext): Promise<ScriptResult> {
  const { agent } = request
  const inner = withCtxValues(descend(agent, request.inputs ?? null, context), parts)
  const given = scriptAgentOptions(request.options, `"${agent.name}"`)
  if (agent.kind === 'lua') {
    const options = mergeOptions(context.scope.options, given)
    return limited({ agent, options }, inner, (context) =>
      runLua({ request, options, section: createSectionRunner(request, parts, context) }),
    )
  }

  const document = parseAip(agent.file, agent.text)
  const own = await readDeclaredOptions(agent, document)
  throwIssues(await declaredOptionIssues(own, { ...parts, ...serverNamesOf(context.services.mcp) }))
  const options = mergeOptions(context.scope.options, own.values, given)
  const held = own.rules.length === 0 ? inner : narrow(inner, { rules: own.rules })
  return limited({ agent, options }, held, (context) =>
    runAip({ request, options, section: createSectionRunner(request, parts, context) }, document),
  )
}

/** Stops an agent that exceeds its time limit. */
function limited<T>(
  { agent, options }: { readonly agent: ScriptRequest['agent']; readonly options: JsonObject },
  context: RunContext,
  work: (context: RunContext) => Promise<T>,
): Promise<T> {
  const { timeout } = options
  const own = typeof timeout === 'string' ? parseDuration(timeout) : undefined
  return withTimeLimit(timeLimitOf({ own, whose: `agent "${agent.name}"` }, context), context, work)
}

function outputOf(result: ScriptResult | PromptResult): Json {
  if (result.end === 'skipped') return null
  const single = result.outputs.length === 1 ? (result.outputs[0] ?? null) : null
  if (result.kind === 'prompt') return result.value ?? single
  return (result.end === 'done' ? result.afterAll : undefined) ?? single
}

/** Where an agent is defined: its file, with the line of its table if the file defines several. */
function definedAt(agent: ScriptRequest['agent'] | PromptRequest['agent']): SourcePlace {
  const [source] = 'defined' in agent ? (agent.defined?.sources ?? []) : []
  const line = source === undefined || source.at.length === 0 ? undefined : tableLine(source)
  return { file: agent.file, ...defined({ line }) }
}

/** Adds the file of the agent to errors without a place. */
function located(error: unknown, { agent }: ScriptRequest | PromptRequest): unknown {
  if (!isBatonError(error)) return error
  const isOwn = agent.kind === 'command' || ['SCRIPT_FAILED', 'LIMIT', 'AGENT_CYCLE'].includes(error.code)
  if (error.place !== undefined || !isOwn || isSuspension(error)) return error
  return rewordError(error, { place: definedAt(agent) })
}

/** How deep agents may be nested. */
const maxDepth = 8

/**
 * The context of an agent that is about to run, with the agent added to its ancestors. An agent that is called again
 * with the same input can never end and is reported immediately; other recursion is allowed down to `maxDepth`.
 * @throws BatonError AGENT_CYCLE naming the path, LIMIT beyond the depth if no agent repeats
 */
function descend(agent: Pick<Ancestor, 'name' | 'file'>, input: Json, context: RunContext): RunContext {
  const ancestor: Ancestor = { name: agent.name, file: agent.file, call: canonicalHash(input) }
  const path = [...context.scope.ancestors, ancestor]
  const again = context.scope.ancestors.some(({ file, call }) => file === ancestor.file && call === ancestor.call)
  const repeated = new Set(path.map(({ file }) => file)).size < path.length
  if (again || (repeated && path.length > maxDepth)) {
    throw new BatonError('AGENT_CYCLE', `agents run each other in a cycle: ${names(path)}`, {
      hint: 'Let one of them answer without running the other.',
    })
  }
  if (path.length > maxDepth) {
    throw new BatonError('LIMIT', `agents are nested more than ${maxDepth} deep: ${names(path)}`, {
      hint: `Agents may be nested at most ${maxDepth} deep.`,
    })
  }
  return withScope(context, { ancestors: path })
}

function names(path: readonly Ancestor[]): string {
  return path.map(({ name }) => name).join(' → ')
}

/**
 * Runs a `.lua` agent: one chunk per input, with `input` and `options` in scope; its return value is the output.
 * Without inputs it runs once with `input` nil.
 * @throws BatonError SCRIPT_FAILED
 */
async function runLua({ request, options, section }: ScriptRun): Promise<ScriptResult> {
  const { agent, onOutput } = request
  const inputs = request.inputs !== null && request.inputs.length > 0 ? request.inputs : [null]
  const { context } = section
  const outputs = await mapSiblings(
    inputs,
    { limit: concurrencyOf(options), signal: context.services.signal },
    async (input, index, signal) => {
      const at = below(withServices(context, { signal }), ...placeOfInput(index, inputs.length), chunk)
      const output: Json | undefined = await section.run(
        { text: agent.text, variables: { input, options } },
        { context: at, stage: 'chunk' },
      )
      onOutput?.(output ?? null, index)
      return output ?? null
    },
  )
  return { kind: 'script', end: 'done', outputs, failedInputs: 0, afterAll: undefined }
}

const chunk = { kind: 'section', name: 'chunk' } as const
