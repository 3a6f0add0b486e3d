import { modelText } from '../base/model-text.ts'
import { messageOf, stopsRun } from '../base/error.ts'
import { defined, type Json, parseSentJson } from '../base/json.ts'
import { cutText } from '../base/cut-text.ts'
import { isSentAtFirst, type OnToolProgress, type Tool, type ToolResult } from '../event/agent.ts'
import { emit, type RunContext, withServices } from '../event/context.ts'
import type { Place } from '../event/place.ts'
import type { Timeline } from './modes/timeline.ts'
import type { ToolCallPart } from '../event/message.ts'

/** A tool call: `id` as in events, `input` the JSON text as it was written, which may be invalid. */
interface RequestedTool {
  readonly id: string
  readonly name: string
  readonly input: string
}

/** The places of running calls by id: questions about them are found by place. */
export type RunningCalls = Map<string, Place>

interface Calling {
  readonly tools: readonly Tool[]
  /** Where events are sent from. */
  readonly opener: RunContext
  /** At the place of the call. */
  readonly context: RunContext
  readonly running?: RunningCalls
  /** The timeline of the prompt. If omitted, the call is not an output. */
  readonly timeline?: Timeline
}

/** Characters of an output in events. */
const shownOutput = 2000

/** Calls a tool and reports it. Failures of the tool are results; errors that end the run are thrown. */
export async function callTool(
  { id, name, input: text }: RequestedTool,
  { tools, opener, context, running, timeline }: Calling,
): Promise<ToolResult> {
  const input = inputOf({ input: text })
  const ended = timeline?.addTool({ id, function: name, input })
  const server = tools.find((tool) => tool.name === name)?.server
  const of = defined({ server })
  emit(opener, { type: 'tool.started', id, name, input, ...of })
  running?.set(id, context.scope.at)
  const onProgress: OnToolProgress = (progress) => emit(opener, { type: 'tool.progress', id, name, ...progress, ...of })
  const called = withServices(context, { callId: id })
  const result = await runTool(name, text, { tools, context: called, onProgress }).finally(() => running?.delete(id))
  const { text: output, isError = false, isDenied = false, reason, files = [], structured } = result
  ended?.(isError ? { error: output } : { output, ...defined({ value: structured }) })
  for (const file of files) timeline?.addFile(file)
  const shown = cutText(output, shownOutput)
  const end = {
    type: 'tool.completed',
    id,
    name,
    output: shown,
    is_error: isError,
    ...defined({ reason }),
    ...of,
  } as const
  emit(opener, isDenied ? { ...end, denied: true } : end)
  return result
}

async function runTool(
  name: string,
  input: string,
  { tools, context, onProgress }: Pick<Calling, 'tools' | 'context'> & { readonly onProgress: OnToolProgress },
): Promise<ToolResult> {
  const tool = tools.find((one) => one.name === name)
  if (tool === undefined) {
    const known = tools
      .filter((one) => isSentAtFirst(one))
      .map((one) => one.name)
      .join(', ')
    const text = modelText`Tool "${cutText(name, 200)}" not found. Available tools: ${known}`
    return { text, isError: true, reason: 'TOOL_NOT_FOUND' }
  }
  try {
    return await tool.run(input, context, onProgress)
  } catch (error) {
    context.services.signal.throwIfAborted()
    if (stopsRun(error)) throw error
    return { text: messageOf(error), isError: true }
  }
}

/** The arguments of a call, or its raw text if that is not JSON. */
export function inputOf({ input }: Pick<ToolCallPart, 'input'>): Json {
  try {
    return parseSentJson(input)
  } catch {
    return input
  }
}
