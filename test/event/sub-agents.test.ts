import { expect, it } from 'vitest'
import { agentOf, askerText, isOfTeam, startedAgentAround, startedAgentAt } from '../../src/event/sub-agents.ts'

it('names the innermost sub-agent that a place belongs to', () => {
  const own = 'task/0/agent/ask+turn+0+tool+0:task+agent+reader+ask/turn/1/tool/0:bash'
  expect(agentOf(own)).toMatch(/^reader a[0-9a-f]{8}$/)
  expect(agentOf('task/0/ask/turn/0/tool/0:task/agent/reader')).toBe(agentOf(own))
  expect(agentOf('task/0/agent/ask/turn/1/tool/0:task')).toBeUndefined()
  expect(agentOf('pre/0:reader.aip')).toBeUndefined()
})

it('says in plain words who works at a place', () => {
  const words = {
    'task/0/agent/ask/turn/1/tool/0:bash': '',
    'task/2/agent/ask/turn/1/tool/0:bash': 'task 3',
    'task/1/step/review/agent/ask/turn/0#1': 'task 2, step review',
    'task/0/member/critic': 'member critic',
    'agent/pre+0:check.lua+data/turn/0/tool/0:bash': 'check.lua',
    'task/1/agent/pre_task+0:check.lua+data/turn/0': 'task 2, check.lua',
  }
  expect(Object.fromEntries(Object.keys(words).map((place) => [place, askerText(place)]))).toEqual(words)
  expect(askerText('task/0/ask/turn/0/tool/0:task/agent/reader')).toMatch(/^reader a[0-9a-f]{8}$/)
})

it('finds the agent that a model started at a place, around it, and for a team', () => {
  const reader = 'task/0/ask/turn/0/tool/0:task/agent/reader'
  const worker = 'task/0/ask/turn/0/tool/1:spawn_agent/agent/worker'
  const inner = `${worker}/input/1/ask/turn/2/tool/0:send_input/agent/checker`
  expect(startedAgentAt(reader)).toEqual({ agent: reader, input: 0 })
  expect(startedAgentAt(`${worker}/input/1`)).toEqual({ agent: worker, input: 1 })
  expect(startedAgentAt(`${worker}/input/1/ask`)).toBeUndefined()
  expect(startedAgentAt('pre/0:reader/agent/x')).toBeUndefined()
  expect(startedAgentAround(`${worker}/input/1/ask/turn/2`)).toBe(worker)
  expect(startedAgentAround(`${inner}#1`)).toBe(inner)
  expect(startedAgentAround('task/0/ask')).toBeUndefined()
  expect([reader, worker, `${worker}/input/0`, inner, 'task/0'].map(isOfTeam)).toEqual([false, true, true, true, false])
})
