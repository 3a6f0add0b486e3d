import { everything, project } from '../../src/history/run-view.ts'
import { readTeams, type Teams } from '../../src/history/team.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { effectOf, placeAt, spentOf } from '../helpers/effects.ts'
import { createMemoryEffects, openMemoryRecords } from '../helpers/memory-journal.ts'

export const ids = {
  quick: '6f9b5c1e-8f0a-4d2b-9c57-2b1f6f0f8a11',
  slow: '0d4a7b52-53a5-4c0e-8b7d-93a5e9d7c4f2',
  broken: 'c2a1e8d4-1b5f-4f3a-a0c9-7de0b1f9a633',
}
/** The time that the clock of recorded teams shows at second 0. */
export const startMs = 1_800_000_000_000
const leader = 'task/0/agent/ask'

/** Work whose start was recorded; `end` ends it with a value. */
interface Open {
  readonly end: (value: object) => Promise<void>
}

interface Recorder {
  /** Sets the clock, in seconds. */
  readonly at: (second: number) => void
  readonly observe: (place: string, name: string, call: { readonly args?: object; readonly value: object }) => void
  readonly boundary: (place: string, label?: string) => Promise<Open>
  /** A model call; it ends with the names of the tools that it calls. */
  readonly model: (place: string) => Promise<{ readonly end: (...calls: readonly string[]) => Promise<void> }>
  /** The effect of a tool. */
  readonly act: (place: string, tool: string, input: { readonly id: string }) => Promise<void>
  readonly teams: () => Promise<Teams>
  readonly source: () => ReturnType<typeof openMemoryRecords>
}

/** Records in memory, created by the code of real runs. */
export function createRecorder(): Recorder {
  let seconds = 0
  const { records, ...effects } = createMemoryEffects({ now: () => new Date(startMs + seconds * 1000) })
  const source = (): ReturnType<typeof openMemoryRecords> => openMemoryRecords(records, noMask)

  return {
    at: (second) => void (seconds = second),
    observe: (place, name, { args = {}, value }) =>
      void effects.observe(placeAt(place), { name, args: args as never }, () => value),
    boundary: (place, label) => opened((work) => effects.boundary(placeAt(place), work, { label: label ?? place })),
    async model(place) {
      const request = effectOf({ kind: 'model', repeat: 'safe', request: { provider: 'test::small', messages: [] } })
      const spent = spentOf({ model: 'test::small', input: 100, output: 10, costUsd: 0.01 })
      const { end } = await opened((work) => effects.perform(placeAt(place), { ...request, costOf: () => spent }, work))
      return {
        end: (...calls) => end({ parts: calls.map((name) => ({ type: 'tool_call', id: name, name, input: '{}' })) }),
      }
    },
    async act(place, tool, input) {
      const request = effectOf({ kind: 'tool', repeat: 'safe', request: { tool, input } })
      await effects.perform(placeAt(place), request, async () => ({ text: 'closed' }))
    },
    async teams() {
      return readTeams(await project(source(), everything))
    },
    source,
  }
}

/** Starts some work, which lasts until its `end` is called. */
async function opened(begin: (work: () => Promise<object>) => Promise<unknown>): Promise<Open> {
  let finish: (value: object) => void = () => {}
  let whole: Promise<unknown> = Promise.resolve()
  await new Promise<void>((isOpen) => {
    whole = begin(() => {
      isOpen()
      return new Promise((resolve) => (finish = resolve))
    })
  })
  return {
    async end(value) {
      finish(value)
      await whole
    },
  }
}

/**
 * The place where the agent that was started by the n-th call of the first answer does its k-th piece of work, and that
 * of its model call.
 */
export function pieceAt(call: number, index: number): { readonly piece: string; readonly model: string } {
  const piece = `task/0/ask/turn/0/tool/${call}:spawn_agent/agent/worker/input/${index}`
  return { piece, model: `task/0/agent/${piece.slice('task/0/'.length).replaceAll('/', '+')}+ask/turn/0#0` }
}

/**
 * A leader with three agents, two of which work at a time: one is quick, one is interrupted and continues, one fails.
 */
export async function recordTeam(): Promise<Recorder> {
  const recorder = createRecorder()
  const { at, observe, boundary, model, act } = recorder
  const spawn = (call: number, id: string, message: string): void =>
    observe(`${leader}/turn/0/tool/${call}:spawn_agent/0#0`, 'spawn_agent', {
      args: { role: 'worker', message },
      value: { id },
    })

  const task = await boundary('task/0')
  const turn0 = await model(`${leader}/turn/0#0`)
  at(2)
  await turn0.end('spawn_agent', 'spawn_agent', 'spawn_agent')
  spawn(0, ids.quick, 'Count the files.')
  spawn(1, ids.slow, 'Read all of it.')
  spawn(2, ids.broken, 'Ask a model that is not there.')
  const quick = await boundary(pieceAt(0, 0).piece)
  const counting = await model(pieceAt(0, 0).model)
  const slow = await boundary(pieceAt(1, 0).piece)
  await model(pieceAt(1, 0).model)
  // it starts immediately, and waits for its turn
  const broken = await boundary(pieceAt(2, 0).piece)
  const turn1 = await model(`${leader}/turn/1#0`)
  at(4)
  await turn1.end('wait')
  at(6)
  await counting.end()
  await quick.end({ status: 'done', text: 'There are 12.' })
  const asking = await model(pieceAt(2, 0).model)
  at(8)
  await asking.end()
  await broken.end({ status: 'failed', text: '', error: { code: 'MODEL_FAILED', message: 'no such model' } })
  at(14)
  observe(`${leader}/turn/1/tool/0:wait/0#0`, 'wait', {
    args: { ids: Object.values(ids), return_when: 'all', timeout_ms: 10_000 },
    value: { status: { [ids.slow]: 'running' }, timed_out: true },
  })
  const turn2 = await model(`${leader}/turn/2#0`)
  at(15)
  await turn2.end('send_input')
  observe(`${leader}/turn/2/tool/0:send_input/0#0`, 'send_input', {
    args: { id: ids.slow, message: 'Only the tests; be quick.', interrupt: true },
    value: { submission_id: 'm1' },
  })
  await slow.end({ status: 'stopped', text: 'So far' })
  const again = pieceAt(1, 1)
  observe(`${again.piece.replace(/\/input\/1$/, '')}/inbox#1`, 'mail', {
    value: [{ id: 'm1', from: 'root', text: '…' }],
  })
  const reading = await boundary(again.piece)
  const answering = await model(again.model)
  const turn3 = await model(`${leader}/turn/3#0`)
  at(16)
  await turn3.end('close_agent')
  await act(`${leader}/turn/3/tool/0:close_agent/0#0`, 'close_agent', { id: ids.broken })
  const turn4 = await model(`${leader}/turn/4#0`)
  at(17)
  await turn4.end()
  at(19)
  await answering.end()
  await reading.end({ status: 'done', text: 'They are short.' })
  observe(`${leader}/turn/5/inbox`, 'inbox', { value: [{ id: `end/${ids.slow}/2`, text: 'worker 2 is done' }] })
  const turn5 = await model(`${leader}/turn/5#0`)
  at(20)
  await turn5.end()
  await task.end({ status: 'done' })
  return recorder
}
