import { expect, it } from 'vitest'
import { type Action, actionText } from '../../src/event/permission.ts'

const caller = 'aip.web.get'
const file = { path: '/w/a.txt', named: '/w/a.txt' }
const phrases: readonly (readonly [Action, string])[] = [
  [{ kind: 'read', ...file }, 'reading /w/a.txt'],
  [{ kind: 'write', ...file, shown: 'a.txt' }, 'writing a.txt'],
  [{ kind: 'delete', ...file, shown: 'a.txt' }, 'deleting a.txt'],
  [{ kind: 'command', program: 'make', caller }, 'running make'],
  [{ kind: 'connect', url: 'https://example.com/', caller }, 'connecting to https://example.com/'],
  [{ kind: 'model', model: 'm', label: 'gateway::m' }, 'calling gateway::m'],
  [{ kind: 'mcp', server: 'notes', what: 'add', caller }, 'using add of the MCP server notes'],
  [{ kind: 'tool', tool: 'todo', input: {} }, 'using todo'],
]

it.each(phrases)('an action is a phrase that can follow a verb: %j', (action, phrase) => {
  expect(actionText(action)).toBe(phrase)
})
