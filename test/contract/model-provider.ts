import { describe, expect, it } from 'vitest'
import type { ModelEvent, ModelProvider, ModelRequest } from '../../src/model/provider.ts'

export interface ProviderUnderTest {
  readonly provider: ModelProvider
  /** A request that the provider answers with some text in several pieces. */
  readonly request: ModelRequest
}

/** Every event of a stream. */
export async function collectModelEvents(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const collected: ModelEvent[] = []
  for await (const event of events) collected.push(event)
  return collected
}

/** The text of an answer. */
export function textOf(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('')
}

/** What every model provider must do (src/model/provider.ts). `open` is called once for each test. */
export function describeModelProvider(name: string, open: () => Promise<ProviderUnderTest>): void {
  const never = new AbortController().signal

  describe(`${name} as a model provider`, () => {
    it('answers with text, then one usage, then its finish as the last event', async () => {
      const { provider, request } = await open()
      const events = await collectModelEvents(provider.stream(request, never))
      const types = events.map(({ type }) => type)
      expect(textOf(events)).not.toBe('')
      expect(types.slice(-2)).toEqual(['usage', 'finish'])
      expect(types.filter((type) => type === 'usage' || type === 'finish')).toHaveLength(2)
    })

    it('counts one call', async () => {
      const { provider, request } = await open()
      const events = await collectModelEvents(provider.stream(request, never))
      expect(events.at(-2)).toMatchObject({ type: 'usage', usage: { calls: 1 } })
    })

    it('answers several requests at once without mixing them', async () => {
      const { provider, request } = await open()
      const answers = await Promise.all(
        [1, 2, 3].map(async () => textOf(await collectModelEvents(provider.stream(request, never)))),
      )
      expect(new Set(answers).size).toBe(1)
    })

    it('rejects with the reason of a signal that is aborted before the call', async () => {
      const { provider, request } = await open()
      const reason = new Error('stopped before')
      const stream = provider.stream(request, AbortSignal.abort(reason))
      await expect(collectModelEvents(stream)).rejects.toBe(reason)
    })

    it('rejects with the reason of a signal that is aborted during the answer', async () => {
      const { provider, request } = await open()
      const controller = new AbortController()
      const reason = new Error('stopped in the middle')
      const seen: ModelEvent[] = []
      const consume = async (): Promise<void> => {
        for await (const event of provider.stream(request, controller.signal)) {
          seen.push(event)
          controller.abort(reason)
        }
      }
      await expect(consume()).rejects.toBe(reason)
      expect(seen.map(({ type }) => type)).not.toContain('finish')
    })

    it('can be abandoned during the answer', async () => {
      const { provider, request } = await open()
      for await (const event of provider.stream(request, never)) {
        if (event.type === 'start') continue
        expect(event.type).toBe('text')
        break
      }
    })
  })
}
