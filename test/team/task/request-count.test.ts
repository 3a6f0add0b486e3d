import { describe, expect, it } from 'vitest'
import type { Effects } from '../../../src/event/effects.ts'
import { countRequests } from '../../../src/team/core/order.ts'
import { effectOf, placeAt } from '../../helpers/effects.ts'

const request = (kind: 'model' | 'command') => effectOf({ kind, request: {}, repeat: 'safe' })

/** Effects that do what they are asked, or nothing if they are stopped before. */
function effects(isStopped = false): { readonly all: Effects; readonly asked: string[] } {
  const asked: string[] = []
  const perform = async (_: unknown, { kind }: { readonly kind: string }, act: () => unknown): Promise<unknown> => {
    asked.push(kind)
    if (isStopped) throw new Error('stopped before')
    return act()
  }
  const all = { perform, under: () => all } as unknown as Effects
  return { all, asked }
}

const done = async (): Promise<string> => 'done'

describe('requests of an agent', () => {
  it('count once for each turn, whatever repeats them', async () => {
    const count = countRequests(undefined)
    const counted = count.counted(effects().all)
    for (let turn = 0; turn < 2; turn += 1) {
      count.turn()
      for (const kind of ['model', 'model', 'command'] as const) {
        await counted.perform(placeAt('a'), request(kind), done as never)
      }
    }
    expect(count.begun()).toBe(2)
  })

  it('count each if there are no turns', async () => {
    const count = countRequests(undefined)
    for (const kind of ['command', 'model'] as const) {
      await count.counted(effects().all).perform(placeAt('a'), request(kind), done as never)
    }
    expect(count.begun()).toBe(2)
  })

  it('that were never started do not count, and are not repeated', async () => {
    const count = countRequests(undefined)
    count.turn()
    await expect(
      count.counted(effects(true).all).perform(placeAt('a'), request('model'), done as never),
    ).rejects.toThrow()
    expect(count.begun()).toBe(0)
    const again = countRequests(0)
    expect(() => again.turn()).toThrow('stopped')
    const { all, asked } = effects()
    await expect(
      countRequests(0)
        .counted(all)
        .perform(placeAt('a'), request('command'), done as never),
    ).rejects.toThrow('stopped')
    expect(asked).toEqual([])
  })
})
