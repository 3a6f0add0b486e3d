import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { BatonError } from '../../../src/base/error.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import { commandAgent } from '../../helpers/command-world.ts'
import { type Answer, type Asked, type Call, type Life, taskWorld, wholeLife } from '../../helpers/task-world.ts'
import { tempTree } from '../../helpers/temp.ts'

const find = (what: string, more: object = {}): Call => [
  'task',
  { description: `find ${what}`, prompt: what, subagent_type: 'finder', ...more },
]
const inBackground = { run_in_background: true }

function resultsIn({ result }: Life): readonly string[] {
  return result.calls.map(({ output }) => output)
}

/** The id of an agent, as its caller received it. */
function idIn(told: readonly string[]): string | undefined {
  return /agent (a[0-9a-f]{8})/.exec(told.join(' '))?.[1]
}

it('a conversation can start 100 agents, and is refused any more', async () => {
  const world = taskWorld({
    script: ({ who, turn }) =>
      who !== 'parent' ? 'Here.' : turn < 11 ? Array.from({ length: 10 }, (_, at) => find(`${turn}.${at}`)) : 'Good.',
  })
  const results = resultsIn(await wholeLife(world))
  const refused = results.filter((text) => text.startsWith('limit reached: this conversation has started 100 agents'))
  expect([results.length, refused.length]).toEqual([110, 10])
  expect(world.asked.filter((one) => !one.startsWith('parent'))).toHaveLength(100)
})

it('an agent that waits for a person is stopped for good, and its replay stops at the same place', async () => {
  const script = ({ who, turn, told }: Asked): Answer => {
    if (who === 'cat')
      return turn === 0
        ? [['todo', { todos: [] }]]
        : turn === 1
          ? [['read', { path: 'agents/finder.md' }]]
          : `Read: ${told.join()}`
    if (turn === 0) return [find('cat', inBackground)]
    const id = idIn(told)
    if (turn === 1) return [['task_output', { id, wait_seconds: 60 }]]
    return turn === 2 ? [['task_stop', { id }]] : `So: ${told.join()}`
  }
  const options = {
    script,
    frontMatter: 'tools = ["todo", "read"]\npermission.read = "ask"',
    tools: ['task', 'task_output', 'task_stop', 'todo', 'read'],
    approver: async () => {
      throw new BatonError('WAITING_FOR_APPROVAL', 'waiting for a person')
    },
  } as const
  const records: JournalRecord[] = []
  const life = await wholeLife(taskWorld(options), records)
  expect(resultsIn(life)[1]).toContain('is waiting for the user: 2 model calls')
  expect(life.result.text).toMatch(/^So: agent a\w+ \(find cat\) was stopped/)
  expect(life.sent.findLast((one) => one.type === 'agent.completed' && one.id !== undefined)).toMatchObject({
    stop_reason: 'stopped',
    usage: { calls: 2 },
  })
  const again = taskWorld(options)
  const resumed = await wholeLife(again, [...records])
  expect([resumed.result.text, again.asked]).toEqual([life.result.text, []])
  // what was paid for it is also known in the resumed run
  const end = resumed.sent.findLast((one) => one.type === 'agent.completed' && one.id !== undefined)
  expect(end).toMatchObject({ stop_reason: 'stopped', usage: { calls: 2 } })
  expect(await taskWorld(options).replay(records)).toBe(undefined)
})

it.each([
  ['a model', {}],
  ['a program', { agent: commandAgent(['said'], { mode: 'danger-full-access' }) }],
])('%s that is stopped before its request is recorded is replayed', async (_, offered) => {
  // ids are derived from places
  const id = 'a61b0366a'
  const script = ({ who, turn, told }: Asked): Answer =>
    who === 'cat' ? 'Here.' : turn === 0 ? [find('cat', inBackground), ['task_stop', { id }]] : `So: ${told.join()}`
  const records: JournalRecord[] = []
  const world = taskWorld({ script, offered })
  expect((await wholeLife(world, records)).result.text).toContain(`agent ${id} (find cat) was stopped`)
  expect(world.asked).toEqual(['parent/0', 'parent/1'])
  expect(await taskWorld({ script, offered }).replay(records)).toBe(undefined)
})

it('a program that failed, or was stopped, is resumed in the conversation that it reported', async () => {
  const folder = tempTree({})
  const play = join(folder, 'play')
  const events = (result: string): string =>
    [`{"type":"system","subtype":"init","session_id":"s1"}`, result].map((line) => `echo '${line}'`).join('\n')
  const bad = events('{"type":"result","subtype":"error","is_error":true,"result":"no more"}')
  const good = events('{"type":"result","subtype":"success","result":"I know more."}')
  writeFileSync(
    play,
    `#!/bin/sh\necho "$@" >> '${folder}/calls'\ncase "$*" in *--resume*) ${good};; *) ${bad}\nexit 1;; esac\n`,
    { mode: 0o755 },
  )
  const agent = commandAgent([], { preset: 'claude', command: play, args: [] })
  const script = ({ turn, told }: Asked): Answer =>
    turn === 0 ? [find('cats')] : turn === 1 ? [find('dogs', { resume: idIn(told) })] : `So: ${told.join()}`
  const records: JournalRecord[] = []
  const life = await wholeLife(taskWorld({ offered: { agent }, script }), records)
  expect(resultsIn(life)[0]).toMatch(/^agent a\w+ \(find cats\) failed:/)
  expect(life.result.text).toMatch(/^So: I know more\./)
  expect(await taskWorld({ offered: { agent }, script }).replay(records)).toBe(undefined)
})
