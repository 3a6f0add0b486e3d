import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { figure } from './rounds.mjs'

const count = 100

/**
 * How a journal grows during a conversation of 100 turns that each call a tool: the bytes that the second half of the
 * turns adds against those of the first half, and the total against recording the whole conversation with every
 * request. These are bytes, so one round is enough.
 */
export async function turns({ library, folder }) {
  const { createAgentExecutor } = await import(`${library}/agent/executor.js`)
  const { createPool } = await import(`${library}/base/concurrency.js`)
  const { systemClock } = await import(`${library}/base/clock.js`)
  const { defaultRetryPolicy } = await import(`${library}/base/retry.js`)
  const { parsePlace } = await import(`${library}/event/place.js`)
  const { createEffects } = await import(`${library}/journal/effects.js`)
  const { openRun } = await import(`${library}/journal/store.js`)
  const { createCoolDown } = await import(`${library}/model/cool-down.js`)

  const run = join(folder, 'run')
  /** The bytes of the journal when a turn is requested, by its number, and the bytes of its messages. */
  const sizes = []
  let whole = 0
  let index = 0
  const provider = {
    async *stream({ messages }) {
      sizes[index] = bytesIn(run)
      whole += JSON.stringify(messages).length
      const isLast = index === count - 1
      yield {
        type: 'text',
        block: 0,
        text: isLast ? 'All files are read.' : `I read file ${index} next. ${'x'.repeat(200)}`,
      }
      if (!isLast) yield { type: 'tool_call', block: 1, id: `call_${index}`, name: 'read', input: `{"file":${index}}` }
      yield { type: 'usage', usage: { input: 0, output: 0, cached: 0, reasoning: 0, calls: 1 } }
      yield { type: 'finish', reason: isLast ? 'stop' : 'tool_calls' }
      index += 1
    },
  }
  const journal = await openRun({ folder: run, now: () => new Date() })
  const signal = new AbortController().signal
  const permission = { check: () => ({ kind: 'allow' }) }
  const agents = createAgentExecutor({
    agentRunsBefore: 0,
    chooseModel: async (model) => ({
      provider,
      model,
      label: model,
      priced: { provider: 'fake', model, isFree: true },
    }),
    modelPool: createPool(1),
    retry: { policy: defaultRetryPolicy, patienceMs: 0, outageMs: 0, clock: systemClock },
    coolDown: createCoolDown({ clock: systemClock }),
    limitsCost: () => false,
    prices: async () => ({ windowOf: () => undefined }),
  })
  const context = {
    scope: {
      at: parsePlace('task/0/ask'),
      rights: { write: false, rules: [], packs: [], protections: [] },
      folders: { workspace: folder },
    },
    services: {
      effects: createEffects({ journal, signal, permission, onSpent: () => undefined }),
      agents,
      events: () => undefined,
      signal,
      now: () => new Date(),
    },
  }
  const tool = {
    name: 'read',
    description: 'Reads a file.',
    parameters: { type: 'object' },
    run: async () => ({ text: `text of a file\n${'line of it\n'.repeat(80)}` }),
  }
  const message = { role: 'user', parts: [{ type: 'text', text: 'Read all files.' }] }
  const agent = { kind: 'llm', name: 'reader', settings: { model: 'fake' }, tools: [tool], maxRounds: count + 1 }
  const { text } = await agents.run({ kind: 'model', agent, messages: [message] }, context)
  await journal.close()
  if (text !== 'All files are read.' || sizes.length !== count) throw new Error(`${sizes.length} turns: ${text}`)

  const [start, middle, end] = [sizes[0], sizes[count / 2], bytesIn(run)]
  return [
    figure('bytes of the journal for turns 51 to 100', {
      of: 'turns 1 to 50',
      ratios: [(end - middle) / (middle - start)],
      aim: { atMost: 1.1 },
    }),
    figure('bytes of the journal of 100 turns', {
      of: 'the whole conversation with each request',
      ratios: [end / whole],
      aim: { atMost: 0.1 },
    }),
  ]
}

function bytesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath ?? entry.path, entry.name)).size, 0)
}
