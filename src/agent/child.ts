import { dirname } from 'node:path'
import type { Json, JsonObject } from '../base/json.ts'
import { isJsonObject } from '../base/json.ts'
import type { Place } from '../event/effects.ts'
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
 * `aip.agent.run`: finds the agent from the caller's folder, runs it and waits (spec/aipack.md 6.2, 8.5).
 * A child does not take its parent's front matter (DESIGN 3). Null outputs are nil in the list. The outputs of a prompt
 * file are its answers.
 * @throws BatonError when the agent is missing, cyclic or fails; then with the line that failed in its text
 */
export async function runChild(
  { name, call, place }: ChildCall,
  section: Section,
  parts: AgentParts,
): Promise<LuaValue> {
  const { context } = section
  const agent = parts.findAgent(name, call.baseDir ?? dirname(section.agentFile))
  const inputs: Json[] | null = call.inputs?.map((input) => luaToJson(input, 'the input')) ?? null
  const options = luaToJson(call.options as LuaValue, 'options')
  const request = requestFor({ agent, inputs, options: toOptions(options) }, callPromptInput)
  const at = [...place, 'agent', name]
  const result = await context.agents
    .run(request, { ...context, at, options: context.configOptions ?? {}, redoCount: 0 })
    .catch((error: unknown) => {
      throw toldError(error, context.workspace)
    })
  return {
    outputs: result.outputs.map((output) => output ?? undefined),
    after_all: result.afterAll ?? undefined,
    redo_requested: result.redoRequested,
  }
}

function toOptions(value: Json): JsonObject {
  return isJsonObject(value) ? fromLua(value) : {}
}
