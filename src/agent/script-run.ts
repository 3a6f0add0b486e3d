import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { ScriptRequest } from '../event/agent.ts'
import { narrow, type RunContext } from '../event/context.ts'
import { type Place, task } from '../event/place.ts'
import type { LuaValue } from '../script/engine.ts'
import type { Section, SectionStage } from '../script/host/module.ts'
import { runSection } from '../script/section.ts'
import { runChild } from './child.ts'
import { displayPath } from '../base/files.ts'
import { withTaskFacts } from './facts.ts'
import { shownOptions } from './options.ts'
import type { ScriptParts } from './parts.ts'

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
        context: withTaskFacts(heldTo(code, at.context), context),
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
 * Agents that it runs get at most the tools that its options name (R28); without any, those of the agent that runs it.
 */
function heldTo({ variables: { options } }: SectionCode, context: RunContext): RunContext {
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
