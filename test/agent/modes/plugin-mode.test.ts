import { expect, it } from 'vitest'
import type { ExecutionMode, ModeLoop, PromptExecutor } from '../../../src/agent/modes/mode.ts'
import { createPluginExecutor } from '../../../src/agent/modes/plugin-mode.ts'
import { callOf, fakeTurns } from '../../helpers/fake-turns.ts'

function executorOf(loop: ModeLoop, scripted: ReturnType<typeof fakeTurns>): PromptExecutor {
  const mode: ExecutionMode = { id: 'm', name: 'm', createExecutor: ({ services }) => services.executor(loop) }
  return createPluginExecutor(mode, scripted.prompt, scripted.turns, { userId: 'ada' })
}

it('a loop of a plug-in controls requests and calls, and its prompt has the resulting outputs', async () => {
  const scripted = fakeTurns([{ text: 'I look.', calls: [callOf('look')] }, { text: 'Yes.' }])
  const executor = executorOf(async (work) => {
    await work.runTools((await work.ask()).calls)
    work.timeline.addText((await work.ask()).text)
    return 'done'
  }, scripted)
  expect(executor.state).toBe('running')
  expect(await executor.run()).toMatchObject({ state: 'completed', output: [{ type: 'text', text: 'Yes.' }] })
  expect(scripted.done).toEqual(['ask', 'call look', 'ask'])
  expect(scripted.prompt.end()).toBe('done')
})

it('it sees the messages of its prompt without requesting the context', async () => {
  const executor = executorOf(async (work) => {
    work.say(String(work.messages().length))
    return 'done'
  }, fakeTurns([]))
  expect(await executor.run()).toMatchObject({ output: [{ type: 'text', text: '1' }] })
})

it('it cannot exceed the limit of turns', async () => {
  const executor = executorOf(
    async (work) => {
      for (;;) await work.ask()
    },
    fakeTurns([{ isLast: true }]),
  )
  await expect(executor.run()).rejects.toThrow(expect.objectContaining({ code: 'LIMIT', hint: 'Raise max_turns.' }))
  expect(executor.state).toBe('failed')
})
