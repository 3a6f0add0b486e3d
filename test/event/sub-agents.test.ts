import { expect, it } from 'vitest'
import { agentOf } from '../../src/event/sub-agents.ts'

it('names the innermost sub-agent that a place belongs to', () => {
  const own = 'task/0/agent/ask+turn+0+tool+0:task+agent+reader+ask/turn/1/tool/0:bash'
  expect(agentOf(own)).toMatch(/^reader a[0-9a-f]{8}$/)
  expect(agentOf('task/0/ask/turn/0/tool/0:task/agent/reader')).toBe(agentOf(own))
  expect(agentOf('task/0/agent/ask/turn/1/tool/0:task')).toBeUndefined()
  expect(agentOf('pre/0:reader.aip')).toBeUndefined()
})
