import { isBatonError, rewordError } from '../base/error.ts'
import { throwIssues } from '../config/issue.ts'
import type { AgentExecutor, AgentRequest, AgentResult, PromptRequest } from '../event/agent.ts'
import { emit, type RunContext } from '../event/context.ts'
import { errorInfo } from '../event/error-info.ts'
import { parseAip } from '../prompt/aip.ts'
import { runAip } from './aip-agent.ts'
import { withRunFacts } from './facts.ts'
import { holdToPack } from './hold-to-pack.ts'
import { descend } from './lineage.ts'
import { runLua } from './lua-agent.ts'
import { givenOptions, mergeOptions } from './options.ts'
import { readOwnOptions } from './own-options.ts'
import { runPromptAgent } from './prompt-agent.ts'
import { createModuleReader } from '../script/module-reader.ts'
import type { AgentParts, ScriptParts } from './parts.ts'
import { createSectionRunner, type ScriptRequest } from './script-run.ts'

/** Joins the kinds of agents behind the one `AgentExecutor`. Every run is announced and ended by one event each. */
export function createAgentExecutor(given: AgentParts): AgentExecutor {
  let runs = given.agentRunsBefore
  const parts: ScriptParts = { ...given, findModule: createModuleReader(), countRun: () => (runs += 1) }
  return {
    async run(request, context) {
      const { name, kind } = request.agent
      emit(context, { type: 'agent.started', name, kind })
      try {
        const result = await runKind(request, parts, context)
        emit(context, { type: 'agent.completed', name, stop_reason: result.stopReason, ...outputOf(result) })
        return result
      } catch (error) {
        const failure = located(error, request)
        emit(context, { type: 'agent.failed', name, error: errorInfo(failure) })
        throw failure
      }
    },
  }
}

async function runKind(request: AgentRequest, parts: ScriptParts, given: RunContext): Promise<AgentResult> {
  const { agent } = request
  if (agent.kind !== 'llm') given.sources?.execute(agent.file, { at: given.at, text: agent.text })
  const context = agent.kind === 'llm' ? given : await holdToPack(agent, parts, given)
  switch (request.agent.kind) {
    case 'llm':
      return (await import('./llm-agent.ts')).runModel(
        request as Extract<AgentRequest, { messages: unknown }>,
        parts,
        context,
      )
    case 'prompt':
      return runPromptAgent(request as PromptRequest, parts, context)
    case 'aip':
    case 'lua':
      return runScript(request as ScriptRequest, parts, context)
  }
}

async function runScript(request: ScriptRequest, parts: ScriptParts, context: RunContext): Promise<AgentResult> {
  const { agent } = request
  const inner = withRunFacts(descend(agent, request.inputs ?? null, context), parts)
  const given = givenOptions(request.options, `"${agent.name}"`)
  if (agent.kind === 'lua') {
    const options = mergeOptions(context.options, given)
    return runLua({ request, options, section: createSectionRunner(request, options, parts, inner) })
  }

  const document = parseAip(agent.file, agent.text)
  const own = await readOwnOptions(agent, document)
  throwIssues(own.issues)
  const options = mergeOptions(context.options, own.values, given)
  return runAip({ request, options, section: createSectionRunner(request, options, parts, inner) }, document)
}

function outputOf({ outputs, afterAll }: AgentResult): { readonly output?: NonNullable<AgentResult['afterAll']> } {
  const output = afterAll ?? (outputs.length === 1 ? outputs[0] : undefined)
  return output === undefined || output === null ? {} : { output }
}

/** Errors that know no place get the file of the agent they come from. */
function located(error: unknown, { agent }: AgentRequest): unknown {
  if (agent.kind === 'llm') return error
  if (!isBatonError(error)) return error
  if (error.place !== undefined || !['SCRIPT_FAILED', 'LIMIT', 'AGENT_CYCLE'].includes(error.code)) return error
  return rewordError(error, { place: { file: agent.file } })
}
