import { readdirSync } from 'node:fs'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { RunEvent } from '../../src/event/event.ts'
import { createTextReaders, tellTexts } from '../../src/journal/told-texts.ts'
import { tempTree } from '../helpers/temp.ts'

const event = (type: string, more: object = {}) =>
  ({ type, agent: 'task/0/ask', run_id: 'r', ts: '1970-01-01T00:00:05.000Z', ...more }) as unknown as RunEvent
const piece = (text: string) => event('item.delta', { item_id: 'i', text })

it('what a model writes in another process is read with its beginning, and nothing is left in the folder', async () => {
  const folder = tempTree()
  const telling = tellTexts(folder)
  onTestFinished(telling.close)
  telling.add(event('item.started'))
  telling.add(piece('The beginning, ü, '))
  expect(readdirSync(folder)).toEqual([])
  const { of } = createTextReaders()
  const shown = (): readonly string[] =>
    of(folder)
      .all()
      .map(({ text }) => text)
  const leave = of(folder).listen(() => undefined)
  await vi.waitFor(() => expect(shown()).toEqual(['The beginning, ü, ']), 5_000)
  telling.add(piece('and more.'))
  await vi.waitFor(() => expect(shown()).toEqual(['The beginning, ü, and more.']), 5_000)
  // a later listener gets all of it
  const again = of(folder).listen(() => undefined)
  leave()
  expect(shown()).toEqual(['The beginning, ü, and more.'])
  again()
  const late = of(folder).listen(() => undefined)
  await vi.waitFor(() => expect(shown()).toEqual(['The beginning, ü, and more.']), 5_000)
  telling.add(event('item.completed'))
  await vi.waitFor(() => expect(shown()).toEqual([]), 5_000)
  telling.close()
  late()
  expect(readdirSync(folder)).toEqual([])
})
