import { appendFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createChatReader, listChats, listFork, listMessage, listRewind } from '../../src/chat/chat-list.ts'
import { tempTree } from '../helpers/temp.ts'

function openWorld() {
  const runs = tempTree()
  const say = (chat: string, run: string): void => {
    mkdirSync(join(runs, run))
    listMessage(runs, chat, { kind: 'message', run, at: 0, text: `text of ${run}` })
  }
  const reader = createChatReader(runs)
  const read = (): readonly (readonly [string, string])[] => {
    const chats = reader.list()
    expect(chats).toEqual(listChats(runs))
    return chats.map(({ id, messages }) => [id, messages.map(({ run }) => run).join(' ')])
  }
  return { runs, say, reader, read }
}

it('a process that keeps the list of chats sees new messages, forks, rewinds and removed runs like one that reads it anew', () => {
  const { runs, say, reader, read } = openWorld()
  expect(read()).toEqual([])
  say('a', 'a1')
  say('b', 'b1')
  say('a', 'a2')
  expect(read()).toEqual([
    ['a', 'a1 a2'],
    ['b', 'b1'],
  ])
  listFork(runs, 'c', reader.list()[0]?.messages ?? [])
  say('c', 'c3')
  listRewind(runs, 'a', 'a1')
  appendFileSync(join(runs, 'chats.jsonl'), 'no JSON\n')
  say('b', 'b2')
  expect(read()).toEqual([
    ['b', 'b1 b2'],
    ['c', 'a1 a2 c3'],
    ['a', 'a1'],
  ])
  rmSync(join(runs, 'b1'), { recursive: true })
  rmSync(join(runs, 'a1'), { recursive: true })
  expect(read()).toEqual([
    ['b', 'b2'],
    ['c', 'a2 c3'],
  ])
})

it('a run is shown with its chat, whose name is its first message that still exists, until the chat goes back before it', async () => {
  const { runs, say, reader } = openWorld()
  say('a', 'a1')
  say('a', 'a2')
  expect(reader.chatOf('a2')).toEqual({ id: 'a', message: 'text of a2', first: 'text of a1' })
  expect(reader.chatOf('other')).toBeUndefined()
  rmSync(join(runs, 'a1'), { recursive: true })
  expect(reader.chatOf('a2')).toMatchObject({ first: 'text of a2' })
  listRewind(runs, 'a', undefined)
  await expect.poll(() => reader.chatOf('a2')).toBeUndefined()
})
