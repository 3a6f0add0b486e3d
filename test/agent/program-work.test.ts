import { expect, it } from 'vitest'
import { createProgramWork, type ProgramWork } from '../../src/agent/program-work.ts'
import { BatonError } from '../../src/base/error.ts'
import type { Tool } from '../../src/event/agent.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { sessionWorld } from '../helpers/session-world.ts'

interface Life {
  readonly work: ProgramWork
  readonly records: readonly JournalRecord[]
}

/** A program at one place, in its own process. `waits`: names of tools that wait for approval. */
async function life(before: readonly JournalRecord[] | undefined, waits: readonly string[] = []): Promise<Life> {
  const provider = createFakeProvider([])
  const world = await sessionWorld({ provider, ...(before === undefined ? {} : { before }) })
  const tool = (name: string): Tool => ({
    name,
    description: '',
    parameters: {},
    async run(input, { scope, services }) {
      if (waits.includes(name)) throw new BatonError('WAITING_FOR_APPROVAL', name)
      return services.effects.call(scope.at, { name, args: input }, async () => {
        await new Promise((resolve) => setTimeout(resolve, 10))
        done.push(name)
        return { text: `${name} ${done.length}` }
      })
    },
  })
  const tools = ['a', 'b', 'c'].map(tool)
  const work = createProgramWork({
    context: world.context,
    opener: world.context,
    id: 'p',
    name: 'code.execute',
    tools,
    isApproved: false,
  })
  return { work, records: world.records }
}

/** What was really done, in all processes. */
const done: string[] = []

it('answers calls from the record by their number; a different tool or input is a divergence, and is not called', async () => {
  const first = await life(undefined)
  const seed = first.work.seed()
  const { text, now } = await first.work.call('a', { x: 1 })
  const [before] = [done.length]
  const again = await life(first.records)
  expect([again.work.seed(), await again.work.call('a', { x: 1 })]).toEqual([seed, { text, now }])
  const [otherInput, otherTool] = [await life(first.records), await life(first.records)]
  await expect(otherInput.work.call('a', { x: 2 })).rejects.toMatchObject({
    code: 'DIVERGED',
    message: expect.stringContaining('it calls a') as string,
  })
  await expect(otherTool.work.call('b', { x: 1 })).rejects.toMatchObject({
    code: 'DIVERGED',
    message: expect.stringContaining('program.calls') as string,
  })
  expect(done.length).toBe(before)
})

it('a call that waits for a person lets the others finish first, and all questions are asked', async () => {
  const { work } = await life(undefined, ['a', 'c'])
  const begun = done.length
  const ends = await Promise.allSettled([work.call('a', {}), work.call('b', {}), work.call('c', {})])
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected'])
  expect(done.slice(begun)).toEqual(['b'])
})

it('a finished program is not run again', async () => {
  const first = await life(undefined)
  expect(await first.work.once({ code: '1' }, async () => 'x')).toBe('x')
  const again = await life(first.records)
  expect(await again.work.once({ code: '1' }, () => Promise.reject(new Error('run again')))).toBe('x')
})
