import { afterEach, describe, expect, it } from 'vitest'
import type { WireFormatName } from '../../src/event/message.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { createProvider } from '../../src/model/create.ts'
import type { ModelProvider } from '../../src/model/provider.ts'
import { startConversationHost, type ConversationHost } from '../helpers/conversation-host.ts'
import { converse } from '../helpers/scripted-conversation.ts'
import { liveOnce } from '../helpers/mortal-process.ts'
import { core } from '../helpers/series.ts'

const formats: readonly WireFormatName[] = ['chat', 'responses', 'anthropic', 'gemini']

let host: ConversationHost | undefined
afterEach(async () => {
  await host?.close()
  host = undefined
})

async function startHost(format: WireFormatName, turns: number): Promise<ConversationHost> {
  await host?.close()
  host = await startConversationHost(format, { turns })
  return host
}

interface Life {
  readonly host: ConversationHost
  readonly provider: ModelProvider
  /** Records of all processes so far; this one appends its own. */
  readonly records: JournalRecord[]
  /** Number of records until the process dies. */
  readonly lives: number
  /** Places where the tool has read. */
  readonly read: string[]
}

/** One process: starts or resumes the conversation. Undefined if it died. */
async function live({
  host: { choice },
  provider,
  records,
  lives,
  read,
}: Life): Promise<
  { readonly text: string; readonly messages: number; readonly repeated: readonly string[] } | undefined
> {
  return liveOnce({ provider, records, lives }, async (world) => {
    const { text, messages } = await converse({ choice }, world.context, (place) => void read.push(place))
    return { text, messages: messages.length, repeated: world.repeated.map(({ place }) => place) }
  })
}

/** Places of effects that ended successfully. */
function answered(records: readonly JournalRecord[]): ReadonlySet<string> {
  return new Set(records.flatMap((one) => (one.k === 'ended' && one.status === 'ok' ? [one.p] : [])))
}

function turnOf(place: string): number {
  return Number(/\/turn\/(\d+)/.exec(place)?.[1])
}

describe.each(formats)('a conversation over %s', (format) => {
  it('that is killed at any record is resumed, and pays for nothing twice', async () => {
    const turns = 4
    const first = await startHost(format, turns)
    const whole: JournalRecord[] = []
    const read: string[] = []
    const expected = await live({
      host: first,
      provider: await createProvider(first.choice, { env: {} }),
      records: whole,
      lives: Infinity,
      read,
    })
    expect(expected).toMatchObject({ text: 'All files are read.', repeated: [] })
    const calls = first.turns.reduce((sum, turn) => sum + turn.calls.length, 0)
    expect([read.length, new Set(read).size]).toEqual([calls, calls])
    expect(whole).toHaveLength(2 * (turns + calls))

    let again = 0
    for (let lives = core(1, 0); lives < whole.length; lives += core(3, 1)) {
      const one = await startHost(format, turns)
      const provider = await createProvider(one.choice, { env: {} })
      const records: JournalRecord[] = []
      const done: string[] = []
      expect(await live({ host: one, provider, records, lives, read: done })).toBe(undefined)
      const paid = answered(records)
      const [askedBefore, readBefore] = [[...one.asked], done.length]
      const resumed = await live({ host: one, provider, records, lives: Infinity, read: done })
      const where = `killed after ${lives} records`
      expect(resumed, where).toEqual({ ...expected, repeated: expect.any(Array) })
      expect(one.problems, where).toEqual([])
      // what ended successfully is never done again
      for (const place of paid) {
        if (place.includes('/tool/')) expect(done.slice(readBefore), where).not.toContain(place)
        else expect(one.asked[turnOf(place)], where).toBe(askedBefore[turnOf(place)])
      }
      // and what is done twice was in flight, and is listed
      const twice = [
        ...one.asked.flatMap((count, turn) => (count > 1 ? [`turn/${turn}#0`] : [])),
        ...done.filter((place, index) => done.indexOf(place) !== index),
      ]
      for (const place of twice)
        expect(
          resumed?.repeated.some((each) => each.endsWith(place)),
          where,
        ).toBe(true)
      expect(
        one.asked.every((count) => count === 1 || count === 2),
        where,
      ).toBe(true)
      again += twice.length
    }
    // each effect was in flight at one of all records
    expect(again).toBeGreaterThanOrEqual(core(2, turns + calls))
  })
})

it('a conversation that is killed repeatedly has the same result', async () => {
  const one = await startHost('responses', 12)
  const provider = await createProvider(one.choice, { env: {} })
  const records: JournalRecord[] = []
  const read: string[] = []
  let processes = 0
  let end: Awaited<ReturnType<typeof live>>
  // each process dies after five of its own records
  while (end === undefined && processes < 60) {
    processes += 1
    end = await live({ host: one, provider, records, lives: 5, read })
  }
  expect(end?.text).toBe('All files are read.')
  expect(processes).toBeGreaterThan(8)
  expect(one.problems).toEqual([])
  const places = [...answered(records)]
  expect(places).toHaveLength(one.turns.length + one.turns.reduce((sum, turn) => sum + turn.calls.length, 0))
  const ends = records.filter((record) => record.k === 'ended' && record.status === 'ok')
  expect(ends).toHaveLength(places.length)
})

const turns = core(20, 100)

describe.each(formats)(`a conversation of ${turns} turns over %s`, (format) => {
  it('makes a journal that grows linearly', async () => {
    const one = await startHost(format, turns)
    const records: JournalRecord[] = []
    const provider = await createProvider(one.choice, { env: {} })
    const end = await live({ host: one, provider, records, lives: Infinity, read: [] })
    expect([end?.text, one.problems]).toEqual(['All files are read.', []])
    const bytes = (from: number, to: number): number =>
      records.reduce((sum, record) => {
        const turn = 'p' in record ? turnOf(record.p) : -1
        return turn >= from && turn < to ? sum + JSON.stringify(record).length : sum
      }, 0)
    expect(bytes(turns / 2, turns) / bytes(0, turns / 2)).toBeLessThan(1.05)

    // all of it comes from the record
    const again = await live({ host: one, provider, records, lives: Infinity, read: [] })
    expect(again).toEqual(end)
    expect(one.asked).toEqual(Array(turns).fill(1))
  })
})
