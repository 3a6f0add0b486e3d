import { defined } from '../../base/json.ts'
import type { OnToolProgress } from '../../event/agent.ts'
import { emit, type Sender } from '../../event/context.ts'
import type { McpProgress } from '../../event/mcp.ts'
import { type Place, placeText } from '../../event/place.ts'

interface CalledTool {
  readonly name: string
  readonly server?: string | undefined
  readonly at: Place
}

/**
 * Runs a script's call of a tool and emits the progress that the tool reports. No other event covers such a call, so a
 * final progress event marks its end.
 */
export async function withProgress<T>(
  { name, server, at }: CalledTool,
  context: Sender,
  work: (onProgress: OnToolProgress) => Promise<T>,
): Promise<T> {
  const of = { type: 'tool.progress', id: placeText(at), name, ...defined({ server }) } as const
  let last: McpProgress | undefined
  try {
    return await work((progress) => {
      last = progress
      emit(context, { ...of, ...progress })
    })
  } finally {
    if (last !== undefined) emit(context, { ...of, ...last, ended: true })
  }
}
