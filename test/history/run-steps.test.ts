import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { stepsIn, stepsOnly } from '../../src/history/run-steps.ts'
import { withView } from '../../src/history/run-view.ts'
import { effectOf, placeAt } from '../helpers/effects.ts'
import { makeRun } from './fixtures.ts'

const user = { role: 'user', parts: [{ type: 'text', text: 'Fix it.' }] }
const result = (id: string, text: string, isError = false) => ({
  role: 'tool',
  parts: [{ type: 'tool_result', id, parts: [{ type: 'text', text }], ...(isError && { is_error: true }) }],
})
const call = (id: string, name: string, input: unknown) => ({ type: 'tool_call', id, name, input })
const text = (said: string) => ({ type: 'text', text: said })

/** Turns of conversations: the place of the call, its new messages, and the parts of the answer. */
async function stepsOf(
  ...turns: readonly (readonly [place: string, messages: readonly object[], parts: readonly object[]])[]
) {
  const run = await makeRun()
  for (const [place, messages, parts] of turns) {
    const request = { provider: 'm', messages } as unknown as JsonObject
    await run.effects.perform(placeAt(place), effectOf({ kind: 'model', repeat: 'safe', request }), async () => ({
      parts,
    }))
  }
  await run.end()
  return withView(run.folder, stepsOnly, stepsIn)
}

describe('the steps of a run', () => {
  it('are what its model said and called before its answer, with the results that it got', async () => {
    const { steps } = await stepsOf(
      [
        'task/0/agent/ask/turn/0#0',
        [user],
        [text('I look.'), call('a', 'read', '{"path":"x.ts"}'), call('b', 'grep', 'no JSON')],
      ],
      [
        'task/0/agent/ask/turn/1#0',
        [result('a', 'all of it'), result('b', 'no such tool', true)],
        [call('a', 'edit', { path: 'x.ts' })],
      ],
      ['task/0/agent/ask/turn/2#0', [result('a', 'edited')], [text('Done.')]],
    )
    const place = (turn: number) => `task/0/agent/ask/turn/${turn}#0`
    expect(steps).toEqual([
      { kind: 'said', place: place(0), text: 'I look.' },
      { kind: 'tool', place: place(0), name: 'read', input: { path: 'x.ts' }, state: 'done', result: 'all of it' },
      { kind: 'tool', place: place(0), name: 'grep', input: 'no JSON', state: 'failed', result: 'no such tool' },
      { kind: 'tool', place: place(1), name: 'edit', input: { path: 'x.ts' }, state: 'done', result: 'edited' },
    ])
  })

  it('leave out agents that tools have started, and a call without a result is only called', async () => {
    const { steps } = await stepsOf(
      ['task/0/agent/ask/turn/0#0', [user], [call('a', 'task', { prompt: 'x'.repeat(1_000) })]],
      ['task/0/agent/ask/turn/0/tool/0:task/agent/a/turn/0#0', [user], [call('z', 'read', {})]],
    )
    expect(steps).toMatchObject([{ name: 'task', state: 'called', result: '' }])
    expect(JSON.stringify(steps).length).toBeLessThan(600)
  })

  it('of several agents are in the order of their calls, each with the result of the next call of its agent', async () => {
    const place = (task: number, turn: number) => `task/${task}/agent/ask/turn/${turn}#0`
    const { steps } = await stepsOf(
      [place(0, 0), [user], [call('a', 'read', { path: 'x.ts' })]],
      [place(1, 0), [user], [text('I look.'), call('a', 'read', { path: 'y.ts' })]],
      [place(0, 1), [result('a', 'text of x')], [text('Done.')]],
      [place(1, 1), [result('a', 'text of y')], [text('Done.')]],
    )
    expect(steps).toMatchObject([
      { place: place(0, 0), result: 'text of x' },
      { place: place(1, 0), text: 'I look.' },
      { place: place(1, 0), result: 'text of y' },
    ])
  })
})
