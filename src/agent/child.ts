import { dirname } from 'node:path'
import type { Json, JsonObject } from '../base/json.ts'
import { isJsonObject } from '../base/json.ts'
import type { PromptResult, ScriptResult } from '../event/agent.ts'
import { withScope } from '../event/context.ts'
import type { Place } from '../event/place.ts'
import type { LuaValue } from '../script/engine.ts'
import type { AgentCallArguments, Section } from '../script/host/module.ts'
import { toldError } from '../script/told-error.ts'
import { luaToJson } from '../script/values.ts'
import { fromLua } from './options.ts'
import type { AgentParts } from './parts.ts'
import { requestFor } from './prompt-agent.ts'
import { callPromptInput } from './prompt-input.ts'

export interface ChildCall {
  readonly name: string
  readonly call: AgentCallArguments
  readonly place: Place
}

/**
 * `aip.agent.run`: resolves the agent from the caller's folder, runs it and waits. A child does not inherit its
 * parent's front matter. Null outputs are nil in the list, which is nil itself if there was no task. The outputs of a
 * prompt file are its answers.
 * @throws BatonError if the agent is missing, cyclic or fails; the text then includes the line that failed
 */
export async function runChild(
  { name, call, place }: ChildCall,
  section: Section,
  parts: AgentParts,
): Promise<LuaValue> {
  const { context } = section
  const agent = await parts.findAgent(name, call.baseDir ?? dirname(section.agentFile))
  const inputs: Json[] | null = call.inputs?.map((input) => luaToJson(input, 'the input')) ?? null
  const options = luaToJson(call.options as LuaValue, 'options')
  const request = requestFor({ agent, inputs, options: toOptions(options) }, callPromptInput)
  const at: Place = [...place, { kind: 'agent', name }]
  const result = await context.services.agents
    .run(request, withScope(context, { at, options: context.scope.configOptions, redoCount: 0 }))
    .catch((error: unknown) => {
      throw toldError(error, context.scope.folders.workspace)
    })
  const outputs = outputsOf(result).map((output) => output ?? undefined)
  return {
    outputs: outputs.length === 0 ? undefined : outputs,
    after_all: afterAllOf(result) ?? undefined,
    redo_requested: result.end === 'redo',
  }
}

/** Null for a skipped agent. */
function outputsOf(result: ScriptResult | PromptResult): readonly Json[] {
  if (result.end !== 'skipped') return result.outputs
  return result.kind === 'prompt' ? [null] : []
}

function afterAllOf(result: ScriptResult | PromptResult): Json | undefined {
  if (result.end === 'skipped') return undefined
  return result.kind === 'prompt' ? result.value : result.afterAll
}

function toOptions(value: Json): JsonObject {
  return isJsonObject(value) ? fromLua(value) : {}
}
