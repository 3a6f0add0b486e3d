import { expect, it } from 'vitest'
import { giveTools } from '../../src/team/tools.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/base/json.ts'
import { narrow, withServices } from '../../src/event/context.ts'
import { textMessage } from '../../src/event/message.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import type { Uncertain } from '../../src/journal/uncertain.ts'
import type { ModelProvider } from '../../src/model/provider.ts'
import { type FakeMcp, fakeMcp, type FakeServer } from '../helpers/fake-mcp.ts'
import { liveOnce } from '../helpers/mortal-process.ts'
import { core } from '../helpers/series.ts'
import { tempTree } from '../helpers/temp.ts'

type Mode = 'classic' | 'code'

interface World {
  readonly records: readonly JournalRecord[]
  /** Each call that has reached a server, as `tool n`, in any process. */
  readonly reached: readonly string[]
  /** What a resume asked the user about. */
  readonly asked: readonly Uncertain[]
  readonly warnings: readonly string[]
  /** One process, which dies at the record after this many of its own; returns its result, or undefined if it died. */
  readonly live: (
    records: number,
    servers?: Partial<Record<string, Partial<FakeServer>>>,
  ) => Promise<string | undefined>
  /** Of the last process. */
  readonly mcp: () => FakeMcp
}

/**
 * A model that calls tools of two servers for a number of rounds: several calls per round, two of which must not be
 * repeated.
 */
function callingWorld(rounds: number, mode: Mode): World {
  const records: JournalRecord[] = []
  const reached: string[] = []
  const asked: Uncertain[] = []
  const warnings: string[] = []
  const workspace = tempTree({})
  let mcp = fakeMcp({})
  const answer = (tool: string, { n = null }: JsonObject) => {
    reached.push(`${tool} ${JSON.stringify(n)}`)
    return { content: [{ type: 'text', text: `${tool} of ${JSON.stringify(n)}` }] } as const
  }
  const provider: ModelProvider = {
    name: 'scripted',
    async *stream({ messages }) {
      const turn = messages.filter(({ role }) => role === 'assistant').length
      const calls = turn === rounds ? [] : callsOf(turn)
      if (mode === 'code') {
        const program = calls.map(({ name, n }) => `log(tools[${JSON.stringify(name)}]({ n: ${n} }))`)
        const text = turn === rounds ? `output('Done.'); done()` : program.join('\n')
        yield { type: 'text', block: 0, text }
      } else if (turn === rounds) yield { type: 'text', block: 0, text: 'Done.' }
      else {
        for (const [block, { name, n }] of calls.entries()) {
          yield { type: 'tool_call', block, id: `call_${n}`, name, input: JSON.stringify({ n }) }
        }
      }
      yield { type: 'usage', usage: { input: 1, output: 1, cached: 0, reasoning: 0, calls: 1 } }
      yield { type: 'finish', reason: mode === 'code' || turn === rounds ? 'stop' : 'tool_calls' }
    },
  }

  return {
    records,
    reached,
    asked,
    warnings,
    mcp: () => mcp,
    async live(lives, servers = {}) {
      mcp = fakeMcp({
        ledger: { tools: [{ name: 'add' }], answer, ...servers['ledger'] },
        library: { tools: [{ name: 'look', readOnly: true }], isTrusted: true, answer, ...servers['library'] },
      })
      // the user checks whether it was done
      const onUncertain = (one: Uncertain) => {
        asked.push(one)
        const n = /"n":(\d+)/.exec(one.what)?.[1] ?? ''
        return reached.includes(`add ${n}`) ? 'done' : 'redo'
      }
      return liveOnce({ provider, workspace, records, lives, onUncertain }, async (world) => {
        const rules = [{ tool: 'mcp', effect: 'allow', origin: 'test' }] as const
        const context = withServices(narrow(world.context, { rules }), { mcp })
        try {
          const named = { tools: ['ledger__*', 'mcp__library__*'] }
          const { tools } = await giveTools([], { named, baseDir: workspace }, context)
          const session = await context.services.agents.open(
            { kind: 'llm', name: 'caller', settings: { model: 'm' }, tools, maxRounds: rounds + 1, mode },
            context,
          )
          try {
            return (await session.answer(await session.send([textMessage('user', 'Work.')]))).text
          } finally {
            await session.close()
          }
        } finally {
          warnings.push(...world.sent.flatMap((event) => (event.type === 'warning' ? [event.message] : [])))
        }
      })
    },
  }
}

function callsOf(turn: number): readonly { readonly name: string; readonly n: number }[] {
  return ['ledger__add', 'library__look', 'ledger__add'].map((name, index) => ({ name, n: turn * 3 + index }))
}

it.each([
  { mode: 'classic', rounds: 2, step: core(4, 1), all: ['add 0', 'add 2', 'add 3', 'add 5'] },
  // running a program again takes longer than a call
  { mode: 'code', rounds: 1, step: core(5, 2), all: ['add 0', 'add 2'] },
] as const)(
  'MCP calls in $mode mode that are killed at any record are neither repeated nor lost',
  async ({ mode, rounds, step, all }) => {
    const whole = callingWorld(rounds, mode)
    expect(await whole.live(Infinity)).toBe('Done.')
    expect(adds(whole.reached)).toEqual(all)
    let uncertain = 0
    for (let lives = step - 1; lives < whole.records.length; lives += step) {
      const world = callingWorld(rounds, mode)
      expect(await world.live(lives), `killed after ${lives} records`).toBeUndefined()
      expect(await world.live(Infinity), `killed after ${lives} records`).toBe('Done.')
      expect(adds(world.reached), `killed after ${lives} records`).toEqual(all)
      uncertain += world.asked.length
      for (const { kind, what } of world.asked) {
        expect([kind, what]).toEqual(['mcp', expect.stringMatching(/^add\(.*\) of the MCP server ledger$/)])
      }
    }
    // each of them was in flight at one of all records, and read-only tools never lead to a question
    expect(uncertain).toBeGreaterThanOrEqual(step === 1 ? all.length : 1)
  },
)

function adds(reached: readonly string[]): readonly string[] {
  return reached.filter((call) => call.startsWith('add')).toSorted()
}

/** Kills a run after its last call, before the model has finished its last answer. */
async function almostDone(): Promise<World> {
  const whole = callingWorld(1, 'classic')
  await whole.live(Infinity)
  const last = whole.records.findLastIndex(({ k }) => k === 'started')
  const world = callingWorld(1, 'classic')
  expect(await world.live(last)).toBeUndefined()
  return world
}

it('a resumed run that needs nothing more from its servers starts none', async () => {
  const world = await almostDone()
  const gone = { ledger: { broken: 'gone' }, library: { broken: 'gone' } }
  expect(await world.live(Infinity, gone)).toBe('Done.')
  expect([world.mcp().started, world.warnings]).toEqual([[], []])
})

it('a resumed run reports changed tools once, when it starts a server for a call', async () => {
  const whole = callingWorld(3, 'classic')
  await whole.live(Infinity)
  const begun = whole.records.findIndex(
    (record) => record.k === 'started' && record.kind === 'mcp' && toolOf(record.request) === 'add',
  )
  const world = callingWorld(3, 'classic')
  expect(await world.live(begun)).toBeUndefined()
  const changed = { ledger: { tools: [{ name: 'add', description: 'Adds more.' }, { name: 'drop' }] } }
  expect(await world.live(Infinity, changed)).toBe('Done.')
  expect(world.warnings).toEqual([
    'the MCP server ledger offers different tools than when the run was interrupted: added: drop; changed: add',
  ])
})

function toolOf(request: Json): Json | undefined {
  return isJsonObject(request) ? request['tool'] : undefined
}
