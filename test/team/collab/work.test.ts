import { expect, it } from 'vitest'
import { BatonError } from '../../../src/base/error.ts'
import type { AgentDefinition, AgentExecutor } from '../../../src/event/agent.ts'
import { type Collab, leaderId } from '../../../src/event/collab.ts'
import { type Message, textMessage, textOf } from '../../../src/event/message.ts'
import { openCollab } from '../../../src/team/collab/open.ts'
import { spawnAgent } from '../../../src/team/collab/work.ts'
import { testContext } from '../../helpers/context.ts'
import { teamSettings } from '../../helpers/team-world.ts'
import { placeAt } from '../../helpers/effects.ts'
import { usualDefinition } from '../../helpers/task-world.ts'
import { agentId, mailOf } from '../../helpers/team.ts'

const id = agentId(1)
const never = new AbortController().signal

/** An agent whose model answers each conversation with `<last message>`, or fails. */
function world(maxDepth: number, fails: (text: string) => boolean = () => false) {
  const asked: (readonly string[])[] = []
  const unused = (): never => expect.unreachable()
  const agents: AgentExecutor = {
    run: unused,
    open: unused,
    async converse({ messages }) {
      const given: readonly Message[] = messages('You work.')
      asked.push(given.map((message) => textOf(message)))
      const last = textOf(given.at(-1) ?? { parts: [] })
      if (fails(last)) throw new BatonError('MODEL_FAILED', 'no answer')
      const text = `<${last}>`
      return { end: 'done', text, messages: [...given, textMessage('assistant', text)], changes: [], planned: [] }
    },
  }
  const settings = { ...teamSettings, maxDepth, roles: new Map<string, AgentDefinition>() }
  const context = openCollab(settings, testContext({ agents }))
  const collab = context.services.collab as Collab
  const offered: AgentDefinition = {
    name: 'worker',
    description: 'works',
    origin: 'built-in',
    from: 'built-in',
    agent: { kind: 'prompt', name: 'worker', file: '/worker.md', text: 'You work.' },
    ...usualDefinition,
    instructions: 'You work.',
  }
  spawnAgent(
    {
      id,
      role: 'worker',
      description: 'some work',
      message: mailOf('spawn/1', leaderId, { text: 'count' }),
      place: placeAt('task/0/ask/turn/0/tool/0:spawn_agent'),
      inherited: {},
      baseDir: '/nowhere',
      named: { tools: [] },
      onlyReads: false,
    },
    offered,
    { collab, context },
  )
  const { team } = collab
  return {
    asked,
    team,
    ended: async () => {
      const end = await team.wait(leaderId, [id], { ms: 30_000, returnWhen: 'all' }, never)
      return 'status' in end ? end.status[id] : end
    },
  }
}

it('an agent of a team continues with its whole conversation in the next piece of its work', async () => {
  const { asked, team, ended } = world(1)
  expect(team.members()).toMatchObject([{ id, parent: leaderId, depth: 1, role: 'worker' }])
  expect(await ended()).toEqual({ completed: '<count>' })
  team.send(id, mailOf('m1', leaderId, { text: 'go on' }))
  expect(await ended()).toEqual({ completed: '<go on>' })
  expect(asked).toEqual([
    ['You work.', 'count'],
    ['You work.', 'count', '<count>', 'go on'],
  ])
})

it('it is told the task of a piece that failed before its conversation began', async () => {
  const { asked, team, ended } = world(1, (text) => text === 'count')
  expect(await ended()).toEqual({ errored: 'no answer' })
  team.send(id, mailOf('m1', leaderId, { text: 'again' }))
  expect(await ended()).toEqual({ completed: '<count\n\nagain>' })
  expect(asked.at(-1)).toEqual(['You work.', 'count\n\nagain'])
})

it('it is told its own id and that of its spawner only if it may start agents', async () => {
  const { asked, ended } = world(2)
  await ended()
  expect(asked[0]?.at(-1)).toBe(
    `count\n\n[You are agent ${id}. You got this work from the leader, ${leaderId}; use send_input to reach it.]`,
  )
})
