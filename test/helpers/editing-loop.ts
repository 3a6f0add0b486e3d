import { giveTools } from '../../src/team/tools.ts'
import { narrow } from '../../src/event/context.ts'
import { type Message, textMessage } from '../../src/event/message.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import type { ModelEvent, ModelProvider, ModelRequest } from '../../src/model/provider.ts'
import { liveOnce } from './mortal-process.ts'
import { tempTree } from './temp.ts'

export type EditingLife =
  | { readonly kind: 'killed' }
  | { readonly kind: 'ended'; readonly text: string; readonly calls: number }

export interface EditingWorld {
  readonly folder: string
  /** Records of all processes so far. */
  readonly records: readonly JournalRecord[]
  /** How often the answer of each turn was requested. */
  readonly asked: readonly number[]
  /** Turns whose answer is recorded. */
  readonly paidTurns: () => readonly number[]
  /** One process: starts or resumes the run, and dies at the record after this many of its own. */
  readonly live: (records: number) => Promise<EditingLife>
}

/** `classic`: the model calls tools. `code`: it writes programs that call them, one or several at once. */
export type EditingMode = 'classic' | 'code'

/** A model that reads, writes and edits files for a number of rounds: several calls per round, some of which fail. */
export function editingWorld(rounds: number, mode: EditingMode = 'classic'): EditingWorld {
  const folder = tempTree({ 'log.txt': 'begin\n', 'count.txt': 'at 0\n' })
  const records: JournalRecord[] = []
  const asked: number[] = []
  const provider: ModelProvider = {
    name: 'scripted',
    async *stream(request) {
      const turn = request.messages.filter(({ role }) => role === 'assistant').length
      asked[turn] = (asked[turn] ?? 0) + 1
      yield* mode === 'code' ? programEvents(turn, rounds, request) : turnEvents(turn, rounds, request)
    },
  }

  async function live(lives: number): Promise<EditingLife> {
    const life = await liveOnce({ provider, workspace: folder, records, lives }, async (world) => {
      const allowing = [{ tool: '*', effect: 'allow', origin: 'test' }] as const
      const context = narrow(world.context, { rules: allowing })
      const { tools } = await giveTools(['read', 'write', 'edit', 'todo'], { named: {}, baseDir: folder }, context)
      const session = await context.services.agents.open(
        { kind: 'llm', name: 'editor', settings: { model: 'm' }, tools, maxRounds: rounds + 1, mode },
        context,
      )
      try {
        const { text, calls } = await session.answer(await session.send([textMessage('user', 'Work.')]))
        return { kind: 'ended', text, calls: calls.length } as const
      } finally {
        await session.close()
      }
    })
    return life ?? { kind: 'killed' }
  }

  return {
    folder,
    records,
    asked,
    paidTurns: () =>
      records.flatMap((record) => {
        const found = record.k === 'ended' && record.status === 'ok' ? /\/turn\/(\d+)#\d+$/.exec(record.p) : null
        return found === null ? [] : [Number(found[1])]
      }),
    live,
  }
}

function* turnEvents(turn: number, rounds: number, { messages }: ModelRequest): Generator<ModelEvent> {
  const calls = turn === rounds ? [] : callsOf(turn)
  yield { type: 'text', block: 0, text: turn === rounds ? `All ${rounds} rounds are done.` : `Round ${turn}.` }
  for (const [index, { name, input }] of calls.entries()) {
    const id = `call_${turn}_${index}`
    yield { type: 'tool_call', block: index + 1, id, name, input: JSON.stringify(input) }
  }
  yield { type: 'usage', usage: { input: countOf(messages), output: 1, cached: 0, reasoning: 0, calls: 1 } }
  yield { type: 'finish', reason: calls.length === 0 ? 'stop' : 'tool_calls' }
}

/**
 * The same as a program: the time and randomness it sees, and the results of its calls, are part of what the model
 * gets.
 */
function* programEvents(turn: number, rounds: number, { messages }: ModelRequest): Generator<ModelEvent> {
  yield { type: 'text', block: 0, text: turn === rounds ? lastProgram(rounds) : programOf(turn) }
  yield { type: 'usage', usage: { input: countOf(messages), output: 1, cached: 0, reasoning: 0, calls: 1 } }
  yield { type: 'finish', reason: 'stop' }
}

function programOf(turn: number): string {
  const calls = callsOf(turn)
  const one = calls.map(
    ({ name, input }) => `try { log(${name}(${JSON.stringify(input)})) } catch (error) { log(error.message) }`,
  )
  const all = calls.map(({ name, input }) => ({ tool: name, input }))
  const work = turn % 2 === 0 ? one : [`log(parallel(${JSON.stringify(all)}))`]
  return [
    'const begun = Date.now()',
    ...work,
    `store('rounds', (recall('rounds') ?? 0) + 1)`,
    'output(`Round ${recall("rounds")}.`)',
    'Math.random() + Date.now() - begun',
  ].join('\n')
}

function lastProgram(rounds: number): string {
  return `output('All ${rounds} rounds are done.'); done()`
}

function countOf(messages: readonly Message[]): number {
  return messages.length
}

interface Call {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}

function callsOf(turn: number): readonly Call[] {
  const step = { path: 'count.txt', old_text: `at ${turn}`, new_text: `at ${turn + 1}` }
  const calls: readonly Call[] = [
    { name: 'edit', input: step },
    { name: 'write', input: { path: `made-${turn}.txt`, content: `made in round ${turn}\n` } },
  ]
  switch (turn % 4) {
    case 0:
      return [...calls, { name: 'read', input: { path: 'log.txt' } }]
    case 1:
      // a file that it has read or created itself may be overwritten
      return [
        ...calls,
        { name: 'write', input: { path: `made-${turn - 1}.txt`, content: `replaced in round ${turn}\n` } },
      ]
    case 2:
      return [...calls, { name: 'edit', input: { path: 'log.txt', old_text: 'not there', new_text: 'x' } }]
    default:
      return [
        ...calls,
        { name: 'edit', input: { path: 'log.txt', old_text: 'begin\n', new_text: `begin\nround ${turn}\n` } },
      ]
  }
}
