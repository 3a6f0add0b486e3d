import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../src/event/event.ts'
import {
  createLiveTexts,
  createTextSender,
  createReceivedTexts,
  type TextUpdate,
} from '../../src/journal/live-texts.ts'

// What the process of a run tells its server about the texts in progress.

const event = (type: string, more: object = {}) =>
  ({ type, agent: 'task/0/ask', run_id: 'r', ts: '1970-01-01T00:00:05.000Z', ...more }) as unknown as RunEvent
const piece = (text: string) => event('item.delta', { item_id: 'i', text })

/** A process and its server; messages arrive when the test says so. */
function connected() {
  const texts = createLiveTexts()
  const sent: TextUpdate[] = []
  const sender = createTextSender(texts, (update) => sent.push(update))
  const received = createReceivedTexts(sender.listen)
  const arrive = (): void => {
    for (const message of sent.splice(0)) received.add(message)
  }
  const shown = (): readonly string[] => received.all().map(({ text }) => text)
  return { texts, sender, received, sent, arrive, shown }
}

describe('the texts of the process of a run', () => {
  it('are sent from their beginnings once somebody listens, and then what was added', () => {
    const { texts, sender, received, sent, arrive, shown } = connected()
    texts.add(event('item.started'))
    texts.add(piece('so '))
    sender.flush()
    expect(sent).toEqual([])
    received.listen(() => undefined)
    arrive()
    expect(shown()).toEqual(['so '])
    const [known] = received.all()
    texts.add(piece('it is'))
    sender.flush()
    expect(sent).toMatchObject([{ pieces: [{ at: 3, text: 'it is' }] }])
    arrive()
    // a client is sent what it lacks of the same object
    expect(received.all()).toEqual([known])
    expect(shown()).toEqual(['so it is'])
  })

  it('end with their calls, and start over if these are tried again', () => {
    const { texts, sender, received, arrive, shown } = connected()
    received.listen(() => undefined)
    texts.add(event('item.started'))
    texts.add(piece('wrong'))
    texts.add(event('retry', { item_id: 'i' }))
    texts.add(piece('right'))
    sender.flush()
    arrive()
    expect(shown()).toEqual(['right'])
    texts.add(event('item.completed'))
    sender.flush()
    arrive()
    expect(shown()).toEqual([])
  })

  it('are sent again to one who listens after nobody did, whatever was on its way', () => {
    const { texts, sender, received, arrive, shown } = connected()
    const leave = received.listen(() => undefined)
    texts.add(event('item.started'))
    texts.add(piece('so '))
    sender.flush()
    arrive()
    texts.add(piece('it '))
    sender.flush()
    leave()
    received.listen(() => undefined)
    texts.add(piece('is'))
    sender.flush()
    arrive()
    expect(shown()).toEqual(['so it is'])
  })
})
