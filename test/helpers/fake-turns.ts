import { createMessageLog } from '../../src/agent/message-log.ts'
import type { Reply } from '../../src/agent/modes/mode.ts'
import { type OpenPrompt, openPrompt } from '../../src/agent/open-prompt.ts'
import type { Turns } from '../../src/agent/turns.ts'
import type { ToolCallPart } from '../../src/event/message.ts'
import { textMessage } from '../../src/event/message.ts'
import { testContext } from './context.ts'

interface Scripted {
  readonly prompt: OpenPrompt
  readonly turns: Turns
  /** What was done, in order. */
  readonly done: string[]
}

/** A prompt, and turns whose model gives these answers; a tool returns the number of its call. */
export function fakeTurns(answers: readonly Partial<Reply>[], more: Partial<Turns> = {}): Scripted {
  const done: string[] = []
  const log = createMessageLog()
  const replies = [...answers]
  let called = 0
  const prompt = openPrompt({
    id: 'p',
    mode: 'm',
    userId: 'ada',
    log,
    opener: testContext(),
    signal: new AbortController().signal,
    asked: [],
    input: [textMessage('user', 'Hi.')],
    isFeedback: false,
    prepare: async () => [],
  })
  const turns: Turns = {
    log,
    wasAnswered: () => false,
    endsHere: () => false,
    place: () => [],
    tools: [],
    offered: ['look'],
    hasMail: async () => false,
    broken: () => undefined,
    undelivered: () => [],
    lastPlace: () => [],
    async ask() {
      done.push('ask')
      return { text: '', calls: [], end: 'done', itemId: 'i', isLast: false, ...replies.shift() }
    },
    askAgain: (message) => void done.push(`again: ${message}`),
    async runTools(_, calls) {
      done.push(...calls.map(({ name }) => `call ${name}`))
      return calls.map((call) => ({ call, result: { text: String((called += 1)) } }))
    },
    async runProgram(_, { function: name }) {
      done.push(`run ${name}`)
      return { text: 'ran' }
    },
    refuse: (calls) => void done.push(...calls.map(({ name }) => `refuse ${name}`)),
    tell: ({ text }) => void done.push(`tell ${text}`),
    approve: async () => {},
    reject: async () => {},
    ...more,
  }
  return { prompt, turns, done }
}

export function callOf(name: string): ToolCallPart {
  return { type: 'tool_call', id: name, name, input: '{}' }
}
