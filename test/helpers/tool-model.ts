import { onTestFinished } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { type ModelReply, type ModelScript, type ModelServer, startModelServer } from './model-server.ts'

/** A reply that calls tools, each by name and arguments; arguments given as text are sent unchanged. */
export function callsTools(...calls: readonly (readonly [name: string, input: Json])[]): ModelReply {
  const toolCalls = calls.map(([name, input], index) => ({
    id: `call_${index}`,
    name,
    pieces: [typeof input === 'string' ? input : JSON.stringify(input)],
  }))
  return { text: '', toolCalls, finish: 'tool_calls' }
}

export interface ToolModel extends ModelServer {
  /** The tool results in the last request: those after the last answer of the model. */
  readonly results: () => readonly string[]
  /** Names of the tools that the last request offers. */
  readonly offered: () => readonly string[]
}

/** A model that plays replies in order and gives access to the tool results it received. It ends with the test. */
export async function startToolModel(replies: ModelScript): Promise<ToolModel> {
  const server = await startModelServer(replies)
  onTestFinished(() => server.close())
  const last = (): { readonly [key: string]: unknown } | undefined => server.requests.at(-1)?.body ?? undefined
  return {
    ...server,
    results() {
      const messages = (last()?.['messages'] ?? []) as readonly { readonly role: string; readonly content: string }[]
      const behind = messages.findLastIndex(({ role }) => role === 'assistant') + 1
      return messages.slice(behind).flatMap(({ role, content }) => (role === 'tool' ? [content] : []))
    },
    offered() {
      const tools = (last()?.['tools'] ?? []) as readonly { readonly function: { readonly name: string } }[]
      return tools.map(({ function: { name } }) => name)
    },
  }
}
