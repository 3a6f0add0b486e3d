import { describe, expect, it } from 'vitest'
import { runCommandAgent } from '../../../src/agent/command/run.ts'
import type { JsonObject } from '../../../src/base/json.ts'
import type { CommandAgent, PromptResult } from '../../../src/event/agent.ts'
import { loadPrices } from '../../../src/model/prices.ts'
import { type CommandWorld, commandAgent, commandWorld, playing, stream } from '../../helpers/command-world.ts'

const parts = { prices: () => loadPrices(), limitsCost: () => false }

function run(
  agent: CommandAgent,
  texts: readonly string[],
  { context }: Pick<CommandWorld, 'context'>,
  options: JsonObject = {},
): Promise<PromptResult> {
  const inputs = texts.map((text) => ({
    value: text,
    text,
    variables: { values: {}, others: 'ignored' as const },
  }))
  return runCommandAgent({ kind: 'prompt', agent, inputs, options }, context, parts)
}

describe('a command line as an agent', () => {
  it('answers each input by its own run, in order', async () => {
    const world = commandWorld()
    const result = await run(commandAgent(['said']), ['one', 'two', 'three'], world)
    expect(result).toMatchObject({ end: 'done', text: 'ONE\n\nTWO\n\nTHREE', outputs: ['ONE', 'TWO', 'THREE'] })
    const places = world.context.records.flatMap((record) => (record.k === 'started' ? [record.p] : []))
    expect(places.toSorted()).toEqual(['task/0/ask/task/0#0', 'task/0/ask/task/1#0', 'task/0/ask/task/2#0'])
  })

  it('runs them concurrently', async () => {
    const world = commandWorld()
    // each of the two ends only when both have started
    const result = await run(commandAgent(['meet', world.folder]), ['left', 'right'], world)
    expect(result).toMatchObject({ outputs: ['left met right', 'right met left'] })
  })

  it('reports its usage', async () => {
    const agent = commandAgent([], { preset: 'claude', args: [], command: playing(stream('claude')) })
    const { spent } = await run(agent, ['Look.', 'Look again.'], commandWorld())
    expect(spent).toMatchObject({ model: 'claude::claude-opus-4-8', usage: { calls: 4, input: 800 } })
    expect(spent.costUsd).toBeCloseTo(0.00496, 7)
  })

  it('uses the model and timeout of its caller, and other keys that are not settings of models', async () => {
    const world = commandWorld()
    const options = { model: 'anthropic::big-1', temperature: 0, model_aliases: { x: 'y' } }
    const named = commandAgent(['given', '{model}'], { model: 'small' })
    expect((await run(named, ['Look.'], world, options)).end).toBe('done')
    expect(world.context.records).toContainEqual(
      expect.objectContaining({ k: 'started', request: expect.objectContaining({ model: 'big-1' }) as unknown }),
    )
    await expect(run(named, ['Look.'], world, { timeout: 'soon' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(run(named, ['Look.'], world, { modle: 'x' })).rejects.toMatchObject({
      message: 'options of "helper": unknown key "modle"',
      hint: 'Did you mean "model"?',
    })
  })

  it('is not started with an empty prompt', async () => {
    const agent = commandAgent([], { preset: 'claude', args: [], command: playing(stream('claude')) })
    await expect(run(agent, [' '], commandWorld())).rejects.toMatchObject({
      message: 'agent "helper" has nothing to do: its prompt is empty',
    })
  })

  it('is skipped in a dry run that asks no model, and in any dry run in which it could change files', async () => {
    const skipped = { end: 'skipped', reason: 'a dry run does not start it' }
    expect(await run(commandAgent(['said']), ['x'], commandWorld({ scope: { dry: 'req' } }))).toMatchObject(skipped)
    expect(await run(commandAgent(['said']), ['x'], commandWorld({ scope: { dry: 'res' } }))).toMatchObject(skipped)
    const known = commandAgent([], { preset: 'claude', args: [], command: playing(stream('claude')) })
    expect(await run(known, ['x'], commandWorld({ scope: { dry: 'res' } }))).toMatchObject({ end: 'done' })
  })
})
