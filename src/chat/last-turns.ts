import { join } from 'node:path'
import { isJsonObject, type JsonObject, parseSentJson } from '../base/json.ts'
import { type Message, textOf, toolCallsOf } from '../event/message.ts'
import { isInterrupted, readChatMessage } from '../journal/chat-context.ts'
import type { SecretMask } from '../journal/secrets.ts'
import type { ListedMessage } from './chat-list.ts'

/** A message of a chat as it was answered. */
export interface LastTurn {
  readonly question: string
  readonly calls: readonly TurnCall[]
  /** The last text of the model; empty: none yet. */
  readonly answer: string
}

interface TurnCall {
  readonly name: string
  readonly input: JsonObject
  readonly state: 'done' | 'failed' | 'unfinished'
}

/**
 * How messages of a chat were answered, from the records of their runs.
 * @param runs the folder of all runs
 */
export async function readTurns(
  messages: readonly ListedMessage[],
  { runs, mask }: { readonly runs: string; readonly mask: SecretMask },
): Promise<readonly LastTurn[]> {
  const all: LastTurn[] = []
  for (const { run, text } of messages) {
    const { instruction, messages: said } = await readChatMessage(join(runs, run), mask)
    all.push({ ...turnOf(said), question: questionIn(instruction, text) })
  }
  return all
}

function turnOf(messages: readonly Message[]): Omit<LastTurn, 'question'> {
  const failed = new Map(
    messages.flatMap(({ parts }) =>
      parts.flatMap((part) =>
        part.type === 'tool_result' && part.is_error === true
          ? [[part.id, isInterrupted(part) ? 'unfinished' : 'failed'] as const]
          : [],
      ),
    ),
  )
  const answers = messages.filter(({ role }) => role === 'assistant')
  return {
    calls: answers
      .flatMap(toolCallsOf)
      .map(({ id, name, input }) => ({ name, input: inputOf(input), state: failed.get(id) ?? 'done' })),
    answer: answers.map((message) => textOf(message).trim()).findLast((text) => text !== '') ?? '',
  }
}

function inputOf(text: string): JsonObject {
  try {
    const value = parseSentJson(text)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** What the user typed: notes of what happened before it stand above it. The list has its start, on one line. */
function questionIn(instruction: string, listed: string): string {
  const start = listed.replace(/…$/, '')
  const paragraphs = instruction.split('\n\n')
  const from = paragraphs.findIndex((_, index) =>
    paragraphs.slice(index).join(' ').replaceAll(/\s+/g, ' ').trim().startsWith(start),
  )
  return from === -1 ? listed : paragraphs.slice(from).join('\n\n')
}
