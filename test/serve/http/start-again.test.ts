import { expect, it } from 'vitest'
import type { RunView } from '../../../src/history/run-view.ts'
import { startAgain } from '../../../src/serve/http/start-again.ts'

const invocation = {
  file: 'a.md',
  cwd: '/nowhere',
  inputs: ['x'],
  onFiles: [],
  overrides: ['mode="classic"', 'budget.usd=0.5', 'mode="code"', 'iterate.condition="5"', 'temperature=0.1'],
  vars: ['tone=dry=er'],
  patienceMs: 0,
  env: {},
}

const again = (changed: object) => {
  const record = { k: 'run.start', facts: { invocation: { ...invocation, ...changed } } }
  const view = { start: 0, source: { at: () => record, value: (value: unknown) => value } }
  return startAgain(view as unknown as RunView, { cwd: '/nowhere' })
}

it('a run is described by the request that starts the same: the last setting of a key counts', () => {
  expect(again({})).toEqual({
    file: 'a.md',
    inputs: ['x'],
    vars: { tone: 'dry=er' },
    mode: 'code',
    iter: '5',
    max_cost: 0.5,
  })
  expect(again({ text: 'Hi', inputs: [], vars: [], overrides: [], model: 'm', dry: 'req' })).toEqual({
    text: 'Hi',
    model: 'm',
    dry: 'req',
  })
})

it('a message of a chat, and a run of which that was not recorded, cannot be started again', () => {
  expect(again({ chat: { id: 'c' } })).toBeNull()
  expect(again({ conversation: true })).toBeNull()
  expect(startAgain({ start: undefined } as RunView, { cwd: '/' })).toBeNull()
})
