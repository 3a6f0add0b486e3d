import { describe, expect, it } from 'vitest'
import type { AgentParts } from '../../src/agent/parts.ts'
import { sample } from '../../src/agent/sampling.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createPool } from '../../src/base/concurrency.ts'
import { BatonError } from '../../src/base/error.ts'
import type { JsonObject } from '../../src/base/json.ts'
import { defaultRetryPolicy } from '../../src/base/retry.ts'
import { withScope } from '../../src/event/context.ts'
import { createCoolDown } from '../../src/model/cool-down.ts'
import { loadPrices } from '../../src/model/prices.ts'
import { testContext } from '../helpers/context.ts'
import { placeAt } from '../helpers/effects.ts'
import { createFakeProvider, type FakeTurn } from '../helpers/fake-model.ts'

const hello = { role: 'user', content: { type: 'text', text: 'Hello?' } }

function world(turn: FakeTurn = { text: ['Well', '.'] }) {
  const provider = createFakeProvider(() => turn)
  const asked: (string | undefined)[] = []
  const parts: Pick<AgentParts, 'chooseModel' | 'modelPool' | 'retry' | 'coolDown' | 'prices' | 'limitsCost'> = {
    async chooseModel(name) {
      asked.push(name)
      if (name === 'nokey') throw new BatonError('KEY_MISSING', 'no key')
      const model = name ?? 'default'
      return {
        provider,
        model,
        label: `fake::${model}`,
        taken: { image: model !== 'blind', document: false },
        priced: { provider: 'fake', baseUrl: undefined, model, isFree: true },
      }
    },
    modelPool: createPool(1),
    retry: { policy: defaultRetryPolicy, patienceMs: 0, outageMs: 0, clock: systemClock },
    coolDown: createCoolDown({ clock: systemClock }),
    prices: loadPrices,
    limitsCost: () => false,
  }
  const context = testContext()
  return {
    provider,
    context,
    ask: (params: JsonObject, options: JsonObject = {}) =>
      sample(
        { params: { messages: [hello], maxTokens: 50, ...params }, options },
        parts as AgentParts,
        withScope(context, { at: placeAt('main/sampling/0') }),
      ),
  }
}

describe('a model answer for an MCP server', () => {
  it('is requested with the content from the server, and counted', async () => {
    const { provider, context, ask } = world({
      text: ['Well.'],
      usage: { input: 3, output: 2, cached: 0, reasoning: 0 },
    })
    const messages = [hello, { role: 'assistant', content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] }]
    const params = { messages, systemPrompt: 'Be brief.', temperature: 0.5, maxTokens: 7 }
    expect(await ask(params, { model: 'own' })).toEqual({
      role: 'assistant',
      content: { type: 'text', text: 'Well.' },
      model: 'fake::own',
      stopReason: 'endTurn',
    })
    expect(provider.requests).toMatchObject([
      {
        model: 'own',
        max_tokens: 7,
        temperature: 0.5,
        messages: [
          { role: 'system', parts: [{ text: 'Be brief.' }] },
          { role: 'user', parts: [{ text: 'Hello?' }] },
          { role: 'assistant', parts: [{ type: 'file', mediaType: 'image/png', data: 'AAAA' }] },
        ],
      },
    ])
    expect(context.services.meter.total().usage).toMatchObject({ calls: 1, input: 3, output: 2 })
    const started = context.records.find(({ k }) => k === 'started')
    expect(started).toMatchObject({ p: 'main/sampling/0#0', kind: 'model', repeat: 'safe' })
  })

  it('contains the reason why it ended', async () => {
    expect(await world({ text: ['We'], finish: 'length' }).ask({})).toMatchObject({ stopReason: 'maxTokens' })
    const { ask } = world({ text: ['one END two'] })
    expect(await ask({ stopSequences: ['none', 'END'] })).toMatchObject({
      content: { text: 'one ' },
      stopReason: 'stopSequence',
    })
  })

  it.each<[JsonObject, readonly string[], string]>([
    [{}, ['own'], 'default'],
    [{ model: 'own' }, ['gpt-99'], 'own'],
    [{ model: 'own' }, ['gpt-99', 'fast'], 'fast'],
    [{ model: 'own', model_aliases: { cheap: 'small' } }, ['cheap'], 'small'],
    [{ model: 'own', model_aliases: { cheap: 'nokey' } }, ['cheap'], 'own'],
    [{ model: 'own', fallback_models: ['other'] }, ['other'], 'other'],
    [{ model: 'own' }, ['constructor'], 'own'],
  ])('with the settings %j and the hints %j is that of %s', async (options, names, model) => {
    const { ask } = world()
    const hints = names.map((name) => ({ name }))
    expect(await ask({ modelPreferences: { hints } }, options)).toMatchObject({ model: `fake::${model}` })
  })

  it('is refused for content that cannot be sent', async () => {
    const { ask, provider } = world()
    const image = { role: 'user', content: { type: 'image', data: 'AAAA', mimeType: 'image/png' } }
    await expect(ask({ messages: [image] }, { model: 'blind' })).rejects.toThrow('fake::blind accepts none')
    const audio = { role: 'user', content: { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' } }
    for (const messages of [[], [audio], ['text'], [{ ...hello, role: 'system' }]]) {
      await expect(ask({ messages })).rejects.toMatchObject({ code: 'MCP_FAILED' })
    }
    await expect(ask({ tools: [{ name: 'x' }] })).rejects.toThrow('to use tools')
    expect(provider.requests).toEqual([])
  })
})
