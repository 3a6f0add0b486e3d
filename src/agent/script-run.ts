import { dirname } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { PromptResult, ScriptRequest, ScriptResult } from '../event/agent.ts'
import { narrow, type RunContext, withScope } from '../event/context.ts'
import { part, type Place, task } from '../event/place.ts'
import type { LuaValue } from '../script/engine.ts'
import type { AgentCallArguments, Section, SectionStage } from '../script/host/module.ts'
import { runSection } from '../script/section.ts'
import { displayPath } from '../base/files.ts'
import { fromLua, shownOptions } from './options.ts'
import type { AgentParts, ScriptParts } from './parts.ts'
import { errorForScript } from '../script/error-for-script.ts'
import { luaToJson } from '../script/values.ts'
import { requestFor } from './agent-call.ts'
import { callPromptInput } from './prompt-input.ts'
import { runUid } from '../script/run-uid.ts'

/** A running script agent: its request, its merged options, and a way to run its sections. */
export interface ScriptRun {
  readonly request: ScriptRequest
  readonly options: JsonObject
  readonly section: SectionRunner
}

interface SectionCode {
  /** Padded so that its line numbers match those of the agent file. */
  readonly text: string
  readonly variables: { readonly [name: string]: LuaValue }
}

export interface SectionRunner {
  readonly context: RunContext
  readonly run: (
    code: SectionCode,
    at: { readonly context: RunContext; readonly stage: SectionStage },
  ) => Promise<Json | undefined>
}

/** Binds the sections of an agent to its file and to the function that runs other agents. */
export function createSectionRunner(request: ScriptRequest, parts: ScriptParts, context: RunContext): SectionRunner {
  const { agent } = request
  const chunkName = displayPath(context.scope.folders.workspace, agent.file)
  return {
    context,
    async run(code, at) {
      const section: Section = {
        context: withTaskFacts(limitedByOptions(code, at.context), context),
        stage: at.stage,
        agentFile: agent.file,
        agentName: agent.name,
        ...(agent.pack === undefined ? {} : { pack: agent.pack }),
        findModule(...asked) {
          const module = parts.findModule(...asked)
          if (module !== undefined)
            context.services.sources.execute(module.file, { at: at.context.scope.at, text: module.text })
          return module
        },
        runAgent: (name, call, place) => runChild({ name, call, place }, section, parts),
      }
      return runSection(
        await parts.scripts({ isInstalled: context.scope.isInstalled }),
        { chunk: { name: chunkName, text: code.text }, fileText: agent.text, variables: shown(code.variables) },
        section,
      )
    },
  }
}

/**
 * Agents that it runs get at most the tools that its options name; without any, those of the agent that runs it.
 */
function limitedByOptions({ variables: { options } }: SectionCode, context: RunContext): RunContext {
  const tools = isJsonObject(options as Json) ? (options as JsonObject)['tools'] : undefined
  return Array.isArray(tools) ? narrow(context, { tools: { tools: tools.map(String) } }) : context
}

function shown(variables: SectionCode['variables']): SectionCode['variables'] {
  const { options } = variables
  return isJsonObject(options as Json) ? { ...variables, options: shownOptions(options as JsonObject) } : variables
}

/** An agent with one input has no task in its places: `pre_task/0:lint/data`, not `…/task/0/data`. */
export function placeOfInput(index: number, count: number): Place {
  return count === 1 ? [] : [task(index)]
}

interface ChildCall {
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
async function runChild({ name, call, place }: ChildCall, section: Section, parts: AgentParts): Promise<LuaValue> {
  const { context } = section
  const agent = await parts.findAgent(name, call.baseDir ?? dirname(section.agentFile))
  const inputs: Json[] | null = call.inputs?.map((input) => luaToJson(input, 'the input')) ?? null
  const options = luaToJson(call.options as LuaValue, 'options')
  const request = requestFor({ agent, inputs, options: toOptions(options) }, callPromptInput)
  const at: Place = [...place, { kind: 'agent', name }]
  const result = await context.services.agents
    .run(request, withScope(context, { at, options: context.scope.configOptions, redoCount: 0 }))
    .catch((error: unknown) => {
      throw errorForScript(error, context.scope.folders.workspace)
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

/**
 * The context of an agent run with the values that its scripts see as `CTX`. Runs start in any order, so the number is
 * recorded, and a resumed run gets the same one.
 */
export function withCtxValues(context: RunContext, { countRun }: Pick<ScriptParts, 'countRun'>): RunContext {
  const { scope, services } = context
  const parent = scope.facts?.runUid
  const runNum = services.effects.observe([...scope.at, part('run')], { name: 'run.number', args: [] }, countRun)
  const facts = { runUid: runUid(context), runNum, ...(parent === undefined ? {} : { parentRunUid: parent }) }
  return withScope(context, { facts })
}

/** The context of a section with the position of its input. `placeOfInput` makes the places of inputs. */
function withTaskFacts(context: RunContext, run: RunContext): RunContext {
  const { facts, at } = context.scope
  if (facts === undefined) return context
  const input = at[run.scope.at.length]
  return withScope(context, { facts: { ...facts, taskNum: input?.kind === 'task' ? input.index + 1 : 1 } })
}
