import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../../src/base/error.ts'
import { readWorkflow } from '../../../src/settings/strategies/workflow.ts'
import { type Graph, graphOf, runInOrder } from '../../../src/strategies/workflow/graph.ts'
import { createRandom, type Random } from '../../helpers/random.ts'

/** Up to 30 steps that need some of the earlier ones, written in any order. */
function anyGraph(random: Random): Graph {
  const count = 1 + Math.floor(random() * 30)
  const steps = Array.from({ length: count }, (_, index) => ({
    id: `s${index}`,
    agent: 'a.lua',
    needs: Array.from({ length: index }, (_unused, other) => `s${other}`).filter(() => random() < 3 / count),
  }))
  const written = steps.map((step) => ({ step, key: random() })).toSorted((left, right) => left.key - right.key)
  return graphOf(readWorkflow({ step: written.map(({ step }) => step) }))
}

const { signal } = new AbortController()

describe('steps', () => {
  it('begin when all that they need have ended, and never exceed the limit', async () => {
    const random = createRandom(3)
    for (let round = 0; round < 60; round += 1) {
      const graph = anyGraph(random)
      const limit = 1 + Math.floor(random() * 5)
      const ended = new Set<string>()
      let open = 0
      await runInOrder(graph, { limit, signal }, async ({ step }) => {
        expect(step.needs.filter((id) => !ended.has(id))).toEqual([])
        open += 1
        expect(open).toBeLessThanOrEqual(limit)
        if (random() < 0.5) await wait(random() * 3)
        open -= 1
        ended.add(step.id)
      })
      expect(ended.size).toBe(graph.nodes.length)
    }
  })

  it('are stopped by the first failure, which is thrown once all started ones have ended', async () => {
    const graph = graphOf(readWorkflow({ step: ['a', 'b', 'c', 'd'].map((id) => ({ id, agent: 'x' })) }))
    const ended: string[] = []
    const running = runInOrder(graph, { limit: 2, signal }, async ({ step: { id } }, inner) => {
      if (id === 'b') throw new Error('b failed')
      await new Promise<void>((resolve) => inner.addEventListener('abort', () => resolve()))
      ended.push(id)
    })
    await expect(running).rejects.toThrow('b failed')
    expect(ended).toEqual(['a'])
  })

  it('that wait for a person stop only steps that need them', async () => {
    const step = [
      { id: 'waits', agent: 'x' },
      { id: 'other', agent: 'x' },
      { id: 'after', agent: 'x', needs: ['other'] },
      { id: 'never', agent: 'x', needs: ['waits', 'after'] },
    ]
    const begun: string[] = []
    const running = runInOrder(graphOf(readWorkflow({ step })), { limit: 1, signal }, async (node) => {
      begun.push(node.step.id)
      if (node.step.id === 'waits') throw new BatonError('SUSPENDED', 'waiting')
    })
    await expect(running).rejects.toMatchObject({ code: 'SUSPENDED' })
    expect(begun).toEqual(['waits', 'other', 'after'])
  })

  it('end with the reason of the signal', async () => {
    const stop = new AbortController()
    const graph = graphOf(readWorkflow({ step: ['a', 'b'].map((id) => ({ id, agent: 'x' })) }))
    const begun: string[] = []
    const running = runInOrder(graph, { limit: 1, signal: stop.signal }, async ({ step: { id } }) => {
      begun.push(id)
      stop.abort(new Error('Ctrl-C'))
    })
    await expect(running).rejects.toThrow('Ctrl-C')
    expect(begun).toEqual(['a'])
  })
})
