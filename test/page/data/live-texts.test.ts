import { expect, it } from 'vitest'
import { createLiveTextStore, liveBlocks } from '../../../src/page/data/live-texts.ts'
import type { Row } from '../../../src/page/data/row.ts'

const place = (turn: number) => `task/0/agent/ask/turn/${turn}#0`
const piece = (turn: number, at: number, text: string) => ({ place: place(turn), kind: 'text', at, text }) as const

it('a text grows by pieces, starts over, and makes room for that of the next call', () => {
  const store = createLiveTextStore()
  store.add(piece(0, 0, 'so '))
  store.add(piece(0, 3, 'it is'))
  store.add({ ...piece(0, 8, 'hm'), kind: 'reasoning' })
  expect([...store.texts]).toEqual([[place(0), 'so it is']])
  store.add(piece(0, 0, 'no'))
  expect([...store.texts]).toEqual([[place(0), 'no']])
  store.add(piece(1, 0, 'then'))
  expect([...store.texts]).toEqual([[place(1), 'then']])
})

it('a text stays until the answer of its task was fetched', () => {
  const store = createLiveTextStore()
  store.add(piece(0, 0, 'so'))
  store.fetched()
  store.rows([{ kind: 'task', place: 'task/0', state: 'done' } as Row])
  expect([...store.texts.values()]).toEqual(['so'])
  store.fetched()
  expect([...store.texts]).toEqual([])
})

it('a growing text is divided at blank lines outside of code, and nothing of it is lost', () => {
  const paragraph = `${'word '.repeat(800)}\n\n`
  const code = `\`\`\`ts\n${'line\n\n'.repeat(1_000)}\`\`\`\n\n`
  const text = `${paragraph}${code}${paragraph}end`
  const blocks = liveBlocks(text)
  expect(blocks.join('\n')).toBe(text)
  expect(blocks).toHaveLength(4)
  expect(blocks[1]).toContain('```ts')
  expect(blocks[1]?.trimEnd()).toMatch(/```$/)
})
