import { describe, expect, it } from 'vitest'
import { joinInboxes, recordedInbox } from '../../src/team/core/inboxes.ts'
import { BatonError } from '../../src/base/error.ts'
import type { Inbox, InboxMessage } from '../../src/event/inbox.ts'
import { textMessage } from '../../src/event/message.ts'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { sessionWorld } from '../helpers/session-world.ts'

const never = (): Promise<boolean> => new Promise(() => {})
const { signal } = new AbortController()

/** An inbox that holds these messages until they are marked as known. */
function holding(messages: readonly InboxMessage[], next: Inbox['next'] = async () => false): Inbox {
  const left = new Map(messages.map((message) => [message.id, message]))
  return {
    isOpen: () => messages.length > 0,
    waiting: () => [...left.values()],
    know: (ids) => ids.forEach((id) => left.delete(id)),
    next: (until) => (left.size > 0 ? Promise.resolve(true) : next(until)),
  }
}

describe('several inboxes of one conversation', () => {
  it('act as one: messages of all, open while one is, and each knows which were delivered', () => {
    const [one, other] = [holding([{ id: 'a', text: 'A' }]), holding([])]
    const joined = joinInboxes([one, other])
    expect([joined.isOpen(), joined.waiting()]).toEqual([true, [{ id: 'a', text: 'A' }]])
    joined.know(['a'])
    expect([one.waiting(), joined.waiting()]).toEqual([[], []])
  })

  const suspended = async (): Promise<boolean> => {
    throw new BatonError('WAITING_FOR_APPROVAL', 'somebody has to say yes')
  }
  const broken = async (): Promise<boolean> => {
    throw new BatonError('JOURNAL_FAILED', 'the disk is full')
  }

  it.each([
    ['the first message of any', [never, async () => true], true],
    ['all of them when none comes', [async () => false, async () => false], false],
    ['those that still work when another waits for a person', [suspended, async () => true], true],
  ])('wait for %s', async (_, nexts, expected) => {
    expect(await joinInboxes(nexts.map((next) => holding([], next))).next(signal)).toBe(expected)
  })

  it.each([
    ['suspends the run when nothing else goes on', [suspended, async () => false], 'somebody has to say yes'],
    ['fails at once with what ends the run', [never, broken], 'the disk is full'],
  ])('%s', async (_, nexts, message) => {
    await expect(joinInboxes(nexts.map((next) => holding([], next))).next(signal)).rejects.toThrow(message)
  })

  it('stop waiting when the conversation is stopped', async () => {
    const stop = new AbortController()
    const waits = joinInboxes([holding([], never)]).next(stop.signal)
    stop.abort(new Error('stopped'))
    await expect(waits).rejects.toThrow('stopped')
  })
})

describe('an inbox whose decisions are recorded', () => {
  const provider = createFakeProvider(() => ({ text: ['unused'] }))

  it('continues with the same messages in a resumed run, even before they were sent again, and delivers each once', async () => {
    const first = await sessionWorld({ provider })
    const one = recordedInbox(holding([{ id: 'a', text: 'A' }]), first.context)
    expect(await one.next(signal)).toBe(true)
    const second = await sessionWorld({ provider, before: first.records })
    const again = recordedInbox(holding([], never), second.context)
    expect(await again.next(signal)).toBe(true)
    expect(again.waiting()).toEqual([{ id: 'a', text: 'A' }])
    again.know(['a'])
    expect(again.waiting()).toEqual([])
  })

  it('records nothing when all possible senders wait for a person, so that a resumed run waits again', async () => {
    const suspended = new BatonError('WAITING_FOR_APPROVAL', 'somebody has to say yes')
    const first = await sessionWorld({ provider })
    const waits = recordedInbox(
      holding([], () => Promise.reject(suspended)),
      first.context,
    ).next(signal)
    await expect(waits).rejects.toThrow('somebody has to say yes')
    expect(first.records).toEqual([])
  })

  it('lets a conversation with nothing else to do continue', async () => {
    const told: unknown[] = []
    const model = createFakeProvider(({ messages }) => {
      told.push(messages.length)
      return { text: [messages.length === 1 ? 'I wait.' : 'I know.'] }
    })
    const { context, open } = await sessionWorld({ provider: model })
    const mail = [{ id: 'a', text: 'it is done' }]
    let sent = 0
    const late: Inbox = {
      isOpen: () => true,
      waiting: () => mail.slice(0, sent),
      know: (ids) => void (ids.length > 0 && mail.splice(0)),
      next: async () => mail.length > 0 && Boolean((sent += 1)),
    }
    const inbox = recordedInbox(late, context)
    const session = await open({ kind: 'llm', name: 'main', settings: { model: 'm' }, inbox })
    const result = await session.answer(await session.send([textMessage('user', 'go')]))
    await session.close()
    expect([result.text, told]).toEqual(['I know.', [1, 3]])
  })
})
