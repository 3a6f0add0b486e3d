import { expect, it } from 'vitest'
import type { Tool } from '../../src/event/agent.ts'
import { textMessage } from '../../src/event/message.ts'
import { viewPlace } from '../../src/history/node-view.ts'
import { compareRuns } from '../../src/history/run-diff.ts'
import { everything, findNode, project, withView } from '../../src/history/run-view.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { openFileRecords } from '../../src/journal/source.ts'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { sessionWorld } from '../helpers/session-world.ts'
import { makeRun } from './fixtures.ts'

const look: readonly Tool[] = [
  { name: 'look', description: 'Looks.', parameters: { type: 'object' }, run: async () => ({ text: 'a red door' }) },
]

/** A run with a conversation of three turns, whose first answer calls a tool. */
async function talk(color: string): Promise<string> {
  const run = await makeRun()
  const provider = createFakeProvider([
    { text: [`I look for ${color}.`], toolCalls: ['look'], finish: 'tool_calls' },
    { text: ['It is red.'] },
    { text: ['Yes.'] },
  ])
  const world = await sessionWorld({ provider, journal: run.journal })
  const session = await world.open({ kind: 'llm', name: 'helper', settings: { model: 'small' }, tools: look })
  for (const text of ['What is it?', 'Sure?']) {
    await session.answer(await session.send([textMessage('user', text)]))
  }
  await session.close()
  await run.end()
  return run.folder
}

it('shows what is new in each turn, and how much came before', async () => {
  const source = openFileRecords(await talk('red'), { mask: noMask })
  const { root, breaks, gaps } = await project(source, { most: 10, keepsCalls: true })
  const part = findNode(root, 'task/0')
  const details = part === undefined ? [] : viewPlace(part, { source, breaks, gaps }).details
  source.close()
  const turns = [0, 1, 2].map((turn) => `task/0/agent/ask/turn/${turn}#0`)
  expect(details.map(({ place, title }) => [place, title])).toEqual(
    turns.flatMap((place) => [
      [place, 'prompt'],
      [place, 'answer'],
    ]),
  )
  const prompts = details.filter(({ title }) => title === 'prompt').map(({ text }) => text.split('\n\n[parameters]')[0])
  expect(prompts).toEqual([
    '[model]\nfake::small\n\n[user]\nWhat is it?',
    '[model]\nfake::small\n\n(2 earlier messages: see the previous turns)\n\n[tool]\n(result of call_0)\na red door',
    '[model]\nfake::small\n\n(4 earlier messages: see the previous turns)\n\n[user]\nSure?',
  ])
  expect(details.some(({ text }) => text.includes('hash'))).toBe(false)
})

it('reports each difference between two conversations once: later turns with the same new messages are equal', async () => {
  const [red, blue] = [await talk('red'), await talk('blue')]
  const found = await withView(red, everything, (one) =>
    withView(blue, everything, (other) => [...compareRuns(one, other)]),
  )
  expect(found.map(({ kind, place }) => [kind, place])).toEqual([['answer', 'task/0/agent/ask/turn/0#0']])
})
