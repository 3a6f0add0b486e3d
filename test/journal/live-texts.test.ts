import { describe, expect, it } from 'vitest'
import type { RunEvent } from '../../src/event/event.ts'
import { createLiveTexts, createTextTeller, createToldTexts, type ToldTexts } from '../../src/journal/live-texts.ts'

// What the process of a run tells its server about the texts in progress.

const event = (type: string, more: object = {}) =>
  ({ type, agent: 'task/0/ask', run_id: 'r', ts: '1970-01-01T00:00:05.000Z', ...more }) as unknown as RunEvent
const piece = (text: string) => event('item.delta', { item_id: 'i', text })

/** A process and its server; messages arrive when the test says so. */
function connected() {
  const texts = createLiveTexts()
  const sent: ToldTexts[] = []
  const teller = createTextTeller(texts, (told) => sent.push(told))
  const told = createToldTexts(teller.listen)
  const arrive = (): void => {
    for (const message of sent.splice(0)) told.add(message)
  }
  const shown = (): readonly string[] => told.all().map(({ text }) => text)
  return { texts, teller, told, sent, arrive, shown }
}

describe('the texts of the process of a run', () => {
  it('are told from their beginnings once somebody listens, and then what was added', () => {
    const { texts, teller, told, sent, arrive, shown } = connected()
    texts.add(event('item.started'))
    texts.add(piece('so '))
    teller.flush()
    expect(sent).toEqual([])
    told.listen(() => undefined)
    arrive()
    expect(shown()).toEqual(['so '])
    const [known] = told.all()
    texts.add(piece('it is'))
    teller.flush()
    expect(sent).toMatchObject([{ pieces: [{ at: 3, text: 'it is' }] }])
    arrive()
    // a client is sent what it lacks of the same object
    expect(told.all()).toEqual([known])
    expect(shown()).toEqual(['so it is'])
  })

  it('end with their calls, and start over if these are tried again', () => {
    const { texts, teller, told, arrive, shown } = connected()
    told.listen(() => undefined)
    texts.add(event('item.started'))
    texts.add(piece('wrong'))
    texts.add(event('retry', { item_id: 'i' }))
    texts.add(piece('right'))
    teller.flush()
    arrive()
    expect(shown()).toEqual(['right'])
    texts.add(event('item.completed'))
    teller.flush()
    arrive()
    expect(shown()).toEqual([])
  })

  it('are told again to one who listens after nobody did, whatever was on its way', () => {
    const { texts, teller, told, arrive, shown } = connected()
    const leave = told.listen(() => undefined)
    texts.add(event('item.started'))
    texts.add(piece('so '))
    teller.flush()
    arrive()
    texts.add(piece('it '))
    teller.flush()
    leave()
    told.listen(() => undefined)
    texts.add(piece('is'))
    teller.flush()
    arrive()
    expect(shown()).toEqual(['so it is'])
  })
})
