import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { RunEvent } from '../../src/event/event.ts'
import { createTextReaders, publishTexts } from '../../src/journal/text-relay.ts'
import { tempTree } from '../helpers/temp.ts'

const event = (type: string, more: object = {}) =>
  ({ type, agent: 'task/0/ask', run_id: 'r', ts: '1970-01-01T00:00:05.000Z', ...more }) as unknown as RunEvent
const piece = (text: string) => event('item.delta', { item_id: 'i', text })

it('what a model writes in another process is read with its beginning, and nothing is left in the folder', async () => {
  const folder = tempTree()
  const published = publishTexts(folder)
  onTestFinished(published.close)
  published.add(event('item.started'))
  published.add(piece('The beginning, ü, '))
  expect(readdirSync(folder)).toEqual([])
  const { of } = createTextReaders()
  const shown = (): readonly string[] =>
    of(folder)
      .all()
      .map(({ text }) => text)
  const leave = of(folder).listen(() => undefined)
  await vi.waitFor(() => expect(shown()).toEqual(['The beginning, ü, ']), 5_000)
  published.add(piece('and more.'))
  await vi.waitFor(() => expect(shown()).toEqual(['The beginning, ü, and more.']), 5_000)
  // a later listener gets all of it
  const again = of(folder).listen(() => undefined)
  leave()
  expect(shown()).toEqual(['The beginning, ü, and more.'])
  again()
  const late = of(folder).listen(() => undefined)
  await vi.waitFor(() => expect(shown()).toEqual(['The beginning, ü, and more.']), 5_000)
  published.add(event('item.completed'))
  await vi.waitFor(() => expect(shown()).toEqual([]), 5_000)
  published.close()
  late()
  expect(readdirSync(folder)).toEqual([])
})

it('a file that can be neither written nor removed any more is no error of the run', async () => {
  const folder = tempTree()
  const file = join(folder, 'texts.jsonl')
  writeFileSync(join(folder, 'reader'), '')
  const published = publishTexts(folder)
  published.add(event('item.started'))
  published.add(piece('The beginning'))
  await vi.waitFor(() => expect(existsSync(file)).toBe(true), 5_000)
  rmSync(file)
  mkdirSync(file)
  published.add(piece(' and more.'))
  published.add(event('item.completed'))
  published.close()
  expect(readdirSync(folder)).toEqual(['texts.jsonl'])
})
