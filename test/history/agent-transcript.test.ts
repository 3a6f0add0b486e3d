import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/base/json.ts'
import { callPlace, parsePlace, type Place, placeText } from '../../src/event/place.ts'
import { agentConversation, agentIdAt } from '../../src/event/sub-agents.ts'
import { agentsIn, agentsOnly, type DelegatedAgent, readTranscript } from '../../src/history/agent-transcript.ts'
import { project, type RunView } from '../../src/history/run-view.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { effectOf, placeAt } from '../helpers/effects.ts'
import { createMemoryEffects, openMemoryRecords } from '../helpers/memory-journal.ts'

const call = 'task/0/ask/turn/0/tool/0:task'
const place = `${call}/agent/reader`
const reader: DelegatedAgent = { id: agentIdAt(placeAt(call)), name: 'reader', place }

function message(role: string, text: string): JsonObject {
  return { role, parts: [{ type: 'text', text }] }
}

/** The model call of a turn of the agent at a place. */
function turnOf(agent: string, number: number): Place {
  return placeAt(`${placeText(agentConversation(parsePlace(agent)))}/turn/${number}#0`)
}

/** Records in memory, and a model call of the conversation of the agent at a place. */
function recorder() {
  let time = 0
  const { records, ...effects } = createMemoryEffects({ now: () => new Date((time += 1000)) })
  return {
    effects,
    view: () => project(openMemoryRecords(records, noMask), agentsOnly),
    ask: async (agent: string, number: number, question: string, answer: string): Promise<void> => {
      const request = { messages: [message(number === 0 ? 'user' : 'tool', question)] }
      await effects.perform(turnOf(agent, number), effectOf({ kind: 'model', repeat: 'safe', request }), async () =>
        message('', answer),
      )
    },
  }
}

function shown(view: RunView, agent = reader) {
  return readTranscript(view, agent, 'r').map(({ type, message: said }) => [
    type,
    (said as { readonly parts: readonly { readonly text: string }[] }).parts.map(({ text }) => text).join(''),
  ])
}

describe('the conversation of an agent that a model has started', () => {
  it('contains what it received and said in each turn, in order, as one chain of messages', async () => {
    const { effects, view, ask } = recorder()
    await effects.boundary(
      placeAt(place),
      async () => {
        await ask(place, 0, 'read it', 'reading')
        await ask(place, 1, 'its text', 'it says a')
        return { text: 'it says a' }
      },
      { label: 'reader' },
    )
    expect(agentsIn(await view())).toEqual([reader])
    expect(shown(await view())).toEqual([
      ['user', 'read it'],
      ['assistant', 'reading'],
      ['tool', 'its text'],
      ['assistant', 'it says a'],
    ])
    const lines = readTranscript(await view(), reader, 'r')
    expect(lines.map((line) => line.parent_uuid)).toEqual([null, ...lines.slice(0, -1).map(({ uuid }) => uuid)])
    expect(lines[0]).toMatchObject({ agent_id: reader.id, agent_name: 'reader', run_id: 'r', is_sidechain: true })
    expect(readTranscript(await view(), reader, 'r')).toEqual(lines)
  })

  it('contains only what it received last if its process was killed before the answer', async () => {
    const { effects, view } = recorder()
    const request = { messages: [message('user', 'read it')] }
    void effects.perform(
      turnOf(place, 0),
      effectOf({ kind: 'model', repeat: 'safe', request }),
      () => new Promise<never>(() => {}),
    )
    await expect.poll(async () => shown(await view())).toEqual([['user', 'read it']])
  })

  it('is only the answer for a program, which has no conversation', async () => {
    const { effects, view } = recorder()
    await effects.boundary(placeAt(place), async () => ({ text: 'printed' }), { label: 'reader' })
    expect(shown(await view())).toEqual([['assistant', 'printed']])
  })

  it('of a member of a team continues from one piece of its work to the next', async () => {
    const { effects, view, ask } = recorder()
    const id = '6f9b5c1e-8f0a-4d2b-9c57-2b1f6f0f8a11'
    const spawning = placeAt('task/0/ask/turn/0/tool/0:spawn_agent')
    effects.observe(callPlace(spawning, 0), { name: 'spawn_agent', args: { role: 'worker' } }, () => ({ id }))
    const [member] = agentsIn(await view())
    const own = 'task/0/ask/turn/0/tool/0:spawn_agent/agent/worker'
    expect(member).toEqual({ id, name: 'worker', place: own })
    for (const [piece, text] of ['one', 'two'].entries()) {
      const at = `${own}/input/${piece}`
      await effects.boundary(placeAt(at), async () => {
        await ask(at, 0, text, `done ${text}`)
        return { text: '' }
      })
    }
    // a piece starts with everything that was said before, so the latest one has it all
    expect(shown(await view(), member)).toEqual([
      ['user', 'two'],
      ['assistant', 'done two'],
    ])
  })
})
