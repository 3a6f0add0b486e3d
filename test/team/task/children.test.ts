import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { processStatus } from '../../../src/base/process-group.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import { BatonError } from '../../../src/base/error.ts'
import { textOf } from '../../../src/event/message.ts'
import { commandAgent, program } from '../../helpers/command-world.ts'
import { core } from '../../helpers/series.ts'
import { tempTree } from '../../helpers/temp.ts'
import {
  type Answer,
  type Asked,
  type Call,
  type Life,
  taskWorld,
  type TaskWorld,
  wholeLife,
  answeredCalls,
} from '../../helpers/task-world.ts'

const find = (what: string, more: object = {}): Call => [
  'task',
  { description: `find ${what}`, prompt: what, subagent_type: 'finder', ...more },
]
const inBackground = { run_in_background: true }

/** Two agents in the background, each of which uses a tool; the caller has nothing else to do. */
function twoInBackground({ who, turn, told }: Asked): Answer {
  if (who !== 'parent') return turn === 0 ? [['todo', { todos: [] }]] : `${who} is at home`
  if (turn === 0) return [find('cat', inBackground), find('dog', inBackground)]
  return told.some((text) => text.includes('is done')) ? 'I know more.' : 'I wait.'
}

const noticeOf = (what: string): RegExp =>
  new RegExp(`agent a[0-9a-f]{8} \\(find ${what}\\) is done: ${what} is at home`, 'g')

/** What the model was told except tool results, as one text. */
function toldIn({ result }: Life): string {
  return result.messages.flatMap((message) => (message.role === 'user' ? [textOf(message)] : [])).join('\n')
}

/** The tool results, in order. */
function resultsIn({ result }: Life): readonly string[] {
  return result.calls.map(({ output }) => output)
}

describe('an agent that a model waits for', () => {
  it('gets its instructions and the prompt, and its answer is the result of the call', async () => {
    const seen: string[] = []
    const world = taskWorld({
      script: ({ who, turn, told, request }) => {
        if (who !== 'cat') return turn === 0 ? [find('cat')] : `It says: ${told.join()}`
        seen.push(...request.messages.map((message) => `${message.role}: ${textOf(message)}`))
        return 'On the roof.'
      },
    })
    const life = await wholeLife(world)
    // nothing of its caller's conversation (R12, R30)
    expect(seen).toEqual(['system: You find things.', 'user: cat'])
    expect(life.result.text).toMatch(
      /^It says: On the roof\.\n\n\[agent a[0-9a-f]{8}; resume = "a[0-9a-f]{8}" continues its conversation\]$/,
    )
    expect(world.asked).toEqual(['parent/0', 'cat/0', 'parent/1'])
  })

  it('reports its costs to its caller in events, and all of them are in the total', async () => {
    const world = taskWorld({
      script: ({ who, turn }) => (who === 'cat' ? 'Here.' : turn === 0 ? [find('cat')] : 'Good.'),
    })
    const { sent, result } = await wholeLife(world)
    const started = sent.find((one) => one.type === 'agent.started' && one.id !== undefined)
    expect(started).toMatchObject({ name: 'finder', kind: 'prompt', description: 'find cat', input: 'cat' })
    const ended = sent.find((one) => one.type === 'agent.completed' && one.id !== undefined)
    expect(ended).toMatchObject({ stop_reason: 'done', output: 'Here.', usage: { calls: 1, input: 10, output: 5 } })
    expect(ended?.agent).toBe('task/0/ask/turn/0/tool/0:task/agent/finder')
    // the caller's own usage does not include that of its agents
    expect(result.spent.usage.calls).toBe(2)
    expect(sent.findLast((one) => one.type === 'usage')).toMatchObject({ total: { calls: 3 } })
  })

  it('fails its call when its model fails, and is not asked again by a resumed run', async () => {
    const failure = new BatonError('MODEL_FAILED', 'the model is gone')
    const script = ({ who, turn, told }: Asked): Answer =>
      who === 'cat' ? { text: [], failure } : turn === 0 ? [find('cat')] : `Well: ${told.join()}`
    const records: JournalRecord[] = []
    const life = await wholeLife(taskWorld({ script }), records)
    expect(life.result.text).toMatch(/^Well: agent a[0-9a-f]{8} \(find cat\) failed: the model is gone$/)
    expect(life.result.calls).toMatchObject([{ name: 'task', is_error: true }])
    const again = taskWorld({ script })
    expect((await wholeLife(again, records)).result.text).toBe(life.result.text)
    expect(again.asked).toEqual([])
  })

  it.each([
    ['an agent that is not there', { subagent_type: 'ghost' }, 'Unknown agent type: ghost. Agents: finder'],
    [
      'to resume what was never started',
      { resume: 'a0000000f' },
      'there is no agent a0000000f in this conversation: none was started',
    ],
  ])('is an error with the reason for %s', async (_, more, message) => {
    const world = taskWorld({
      script: ({ who, turn }) => (who === 'parent' && turn === 0 ? [find('cat', more)] : 'Oh.'),
    })
    expect(resultsIn(await wholeLife(world))).toEqual([message])
  })

  it('has none of the tools that start agents, whatever it names', async () => {
    const offers: string[][] = []
    const world = taskWorld({
      frontMatter: 'tools = ["task", "todo", "task_output"]',
      script: ({ who, turn, request }) => {
        if (who === 'cat') offers.push((request.tools ?? []).map(({ name }) => name))
        return who === 'cat' ? 'Here.' : turn === 0 ? [find('cat')] : 'Good.'
      },
    })
    await wholeLife(world)
    expect(offers).toEqual([['todo']])
  })

  it('has no more rights than its caller', async () => {
    const offers: string[][] = []
    const world = taskWorld({
      tools: ['task', 'todo'],
      frontMatter: 'tools = ["todo", "read", "write"]\nwrite_mode = true',
      rights: { tools: { tools: ['task', 'todo'] }, write: false },
      script: ({ who, turn, request }) => {
        if (who === 'cat') offers.push((request.tools ?? []).map(({ name }) => name))
        return who === 'cat' ? 'Here.' : turn === 0 ? [find('cat')] : 'Good.'
      },
    })
    await wholeLife(world)
    expect(offers).toEqual([['todo']])
  })

  it('begins with the messages of its caller if its definition says so', async () => {
    const seen: string[] = []
    const offers: string[][] = []
    const world = taskWorld({
      offered: { forkContext: true },
      frontMatter: 'tools = ["*"]',
      tools: ['task', 'todo', 'read', 'enter_plan'],
      script: ({ told, turn, request }) => {
        const last = told.at(-1)
        if (last !== 'cat') return turn === 0 ? [find('cat')] : 'Good.'
        offers.push((request.tools ?? []).map(({ name }) => name).toSorted())
        seen.push(...request.messages.map((message) => `${message.role}: ${textOf(message)}`))
        return 'Here.'
      },
    })
    const { sent } = await wholeLife(world)
    expect(seen).toEqual(['system: You find things.', 'user: parent', 'user: cat'])
    // then its tools are filtered, and the executor of all agents runs it (R37)
    expect(offers).toEqual([['read', 'todo']])
    expect(sent.flatMap((one) => (one.type === 'agent.started' && one.id !== undefined ? [one.kind] : []))).toEqual([
      'prompt',
    ])
  })

  it('stops at the turn limit of its caller, and reports that', async () => {
    const world = taskWorld({
      script: ({ who, turn }) =>
        who === 'cat' ? [['todo', { todos: [] }]] : turn === 0 ? [find('cat', { max_turns: 2 })] : 'Good.',
    })
    const [said] = resultsIn(await wholeLife(world))
    expect(said).toContain('limit of model requests (max_turns)')
    expect(world.asked.filter((one) => one.startsWith('cat'))).toEqual(['cat/0', 'cat/1'])
  })
})

describe('an agent that has ended', () => {
  /** Resumes the first agent by the id in its result. */
  function resuming({ who, turn, told }: Asked): Answer {
    if (who === 'cat') return turn === 0 ? 'On the roof.' : `Still there, as I said after ${turn} answer.`
    if (turn === 0) return [find('cat')]
    const [, id = ''] = /resume = "(\w+)"/.exec(told.join()) ?? []
    return turn === 1 ? [find('it again', { resume: id })] : `Now: ${told.join()}`
  }

  it('is resumed with its whole conversation, in the same process and in a resumed run', async () => {
    const records: JournalRecord[] = []
    const life = await wholeLife(taskWorld({ script: resuming }), records)
    expect(life.result.text).toMatch(/^Now: Still there, as I said after 1 answer\./)
    const ids = life.sent.flatMap((one) => (one.type === 'agent.started' && one.id !== undefined ? [one.id] : []))
    expect(new Set(ids).size).toBe(2)
    // the process dies before the request to the second agent
    const world = taskWorld({ script: resuming })
    const first = records.findIndex((one) => one.k === 'ended' && one.p.includes('+turn+1+'))
    const before = records.slice(0, first)
    expect((await wholeLife(world, before)).result.text).toBe(life.result.text)
    expect(world.asked).toEqual(['cat/1', 'parent/2'])
  })
})

describe('agents in the background', () => {
  it('are waited for, and their caller is notified once when they have ended', async () => {
    const world = taskWorld({ script: twoInBackground })
    const life = await wholeLife(world)
    expect(life.result).toMatchObject({ end: 'done', text: 'I know more.' })
    const told = toldIn(life)
    expect([told.match(noticeOf('cat'))?.length, told.match(noticeOf('dog'))?.length]).toEqual([1, 1])
    expect(world.asked.filter((one) => !one.startsWith('parent')).toSorted()).toEqual([
      'cat/0',
      'cat/1',
      'dog/0',
      'dog/1',
    ])
  })

  it('number at most eight at once', async () => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const world = taskWorld({
      script: ({ who, turn }) => {
        if (who !== 'parent') return { text: ['Here.'], gate }
        if (turn === 0) return Array.from({ length: 9 }, (_, index) => find(`cat ${index}`, inBackground))
        open()
        return 'I wait.'
      },
    })
    const results = resultsIn(await wholeLife(world))
    expect(results.filter((text) => text.includes('is working in the background'))).toHaveLength(8)
    expect(results.at(-1)).toContain('limit reached: 8 agents are already working in the background')
  })

  it('are stopped by their caller, and are neither asked nor reported again', async () => {
    const never = new Promise<void>(() => {})
    const script = ({ who, turn, told }: Asked): Answer => {
      if (who === 'cat') return turn === 0 ? [['todo', { todos: [] }]] : { text: ['Never.'], gate: never }
      const [, id = ''] = /agent (a\w+)/.exec(told.join()) ?? []
      if (turn === 0) return [find('cat', inBackground)]
      return turn === 1 ? [['task_stop', { id }]] : `So: ${told.join()}`
    }
    const records: JournalRecord[] = []
    const life = await wholeLife(taskWorld({ script }), records)
    expect(life.result.text).toMatch(/^So: agent a\w+ \(find cat\) was stopped/)
    expect(toldIn(life)).toBe('parent')
    const again = taskWorld({ script })
    expect((await wholeLife(again, records)).result.text).toBe(life.result.text)
    expect(again.asked).toEqual([])
  })

  it('show their answers and costs so far, and an end that was shown is not reported again', async () => {
    const script = ({ who, turn, told }: Asked): Answer => {
      if (who === 'cat') return 'On the roof.'
      const [, id = ''] = /agent (a\w+)/.exec(told.join()) ?? []
      if (turn === 0) return [find('cat', inBackground)]
      return turn === 1 ? [['task_output', { id, wait_seconds: 60 }]] : 'Good.'
    }
    const life = await wholeLife(taskWorld({ script }))
    expect(resultsIn(life)[1]).toMatch(/is done: On the roof\.[^]*\[1 model call, 15 tokens, \$0\.0000\]$/)
    expect(toldIn(life)).toBe('parent')
  })

  it('are stopped when their caller reaches its limit, with a warning', async () => {
    const never = new Promise<void>(() => {})
    const world = taskWorld({
      maxRounds: 1,
      script: ({ who }) => (who === 'cat' ? { text: ['Never.'], gate: never } : [find('cat', inBackground)]),
    })
    // its calls are refused at the limit, so nothing was started
    expect((await wholeLife(world)).result.end).toBe('max_rounds')
    const second = taskWorld({
      maxRounds: 2,
      script: ({ who, turn }) =>
        who === 'cat' ? { text: ['Never.'], gate: never } : turn === 0 ? [find('cat', inBackground)] : 'Enough.',
    })
    const life = await wholeLife(second)
    expect(life.sent.find((one) => one.type === 'warning')).toMatchObject({
      message: expect.stringMatching(
        /^stopped background agents, because the conversation has ended: a\w+ \(find cat\)$/,
      ),
    })
    expect(life.sent.findLast((one) => one.type === 'agent.completed' && one.id !== undefined)).toMatchObject({
      stop_reason: 'stopped',
    })
  })

  it('have only tools that need no approval', async () => {
    const offers: string[][] = []
    const world = taskWorld({
      tools: ['task', 'todo', 'enter_plan', 'read', 'grep'],
      frontMatter: 'tools = ["*"]',
      script: ({ who, turn, request }) => {
        if (who === 'cat') offers.push((request.tools ?? []).map(({ name }) => name))
        return who === 'cat' ? 'Here.' : turn === 0 ? [find('cat', inBackground)] : 'Good.'
      },
    })
    await wholeLife(world)
    expect(offers[0]).toEqual(expect.arrayContaining(['todo', 'read', 'grep']))
    expect(offers[0]).not.toContain('enter_plan')
    expect(offers[0]).not.toContain('task')
  })
})

describe('a caller in code mode', () => {
  const program = (code: string): string => `\`\`\`js\n${code}\n\`\`\``

  it('starts agents by a function, and is notified of agents in the background before each program', async () => {
    const records: JournalRecord[] = []
    const script = ({ who, turn, told }: Asked): Answer => {
      if (who === 'cat' || who === 'dog') return `${who} is at home`
      if (turn > 0)
        return program(`output(${JSON.stringify(told.some((text) => text.includes('dog is at home')))}); done()`)
      const call = (what: string, more: object = {}): string =>
        JSON.stringify({ description: `find ${what}`, prompt: what, subagent_type: 'finder', ...more })
      return program(`await task(${call('dog', inBackground)}); output(await task(${call('cat')})); done()`)
    }
    const world = taskWorld({ mode: 'code', script })
    const life = await wholeLife(world, records)
    expect(life.result.text).toMatch(
      /^cat is at home\n\n\[agent a\w+; resume = "a\w+" continues its conversation\]\n\ntrue$/,
    )
    expect(toldIn(life).match(noticeOf('dog'))).toHaveLength(1)
    // a program that has ended makes its calls again in a resumed run, and no agent is called again
    const again = taskWorld({ mode: 'code', script })
    for (let lives = 1; lives < records.length; lives += core(21, 1)) {
      const own: JournalRecord[] = []
      expect(await again.live(own, lives)).toBe(undefined)
      const paid = answeredCalls(own)
      const before = again.asked.length
      expect((await wholeLife(again, own)).result.text, `killed after ${lives} records`).toBe(life.result.text)
      expect(answeredCalls(own).size - paid.size).toBe(again.asked.length - before)
    }
  })
})

describe('a caller in plan mode', () => {
  it('has agents that only read', async () => {
    const offers: string[][] = []
    const world = taskWorld({
      tools: ['task', 'enter_plan', 'read', 'grep', 'edit', 'write', 'todo'],
      frontMatter: 'tools = ["*"]\nwrite_mode = true',
      script: ({ who, turn, request }) => {
        if (who === 'cat') offers.push((request.tools ?? []).map(({ name }) => name))
        if (who === 'cat') return 'Here.'
        return turn === 0 ? [['enter_plan', {}]] : turn === 1 ? [find('cat')] : 'Good.'
      },
    })
    await wholeLife(world)
    expect(offers).toEqual([['read', 'grep', 'todo']])
  })
})

it('a caller that stops an agent and is killed at any record never restarts it once it has ended', async () => {
  const never = new Promise<void>(() => {})
  const script = ({ who, turn, told }: Asked): Answer => {
    if (who === 'cat') return turn === 0 ? [['todo', { todos: [] }]] : { text: ['Never.'], gate: never }
    const [, id = ''] = /agent (a\w+)/.exec(told.join()) ?? []
    if (turn === 0) return [find('cat', inBackground)]
    return turn === 1
      ? [['task_output', { id, wait_seconds: 0.1 }]]
      : turn === 2
        ? [['task_stop', { id }]]
        : `So: ${told.join()}`
  }
  const whole: JournalRecord[] = []
  const expected = await wholeLife(taskWorld({ script }), whole)
  expect(expected.result.text).toMatch(/^So: agent a\w+ \(find cat\) was stopped/)
  const world = taskWorld({ script })
  for (let lives = core(1, 0); lives < whole.length; lives += core(9, 1)) {
    const records: JournalRecord[] = []
    expect(await world.live(records, lives)).toBe(undefined)
    const hasEnded = records.some((one) => one.k === 'done' && one.p.endsWith('/agent/finder'))
    const before = world.asked.length
    const life = await wholeLife(world, records)
    expect(life.result.text, `killed after ${lives} records`).toMatch(/^So: agent a\w+ \(find cat\) was stopped/)
    if (hasEnded) expect(world.asked.slice(before).filter((one) => one.startsWith('cat'))).toEqual([])
  }
})

it('a caller with two agents in the background that is killed at any record pays for nothing twice, and gets each result once', async () => {
  const whole: JournalRecord[] = []
  await wholeLife(taskWorld({ script: twoInBackground }), whole)
  expect(whole.length).toBeGreaterThan(20)
  const world = taskWorld({ script: twoInBackground })
  let again = 0
  for (let lives = core(1, 0); lives < whole.length; lives += core(9, 1)) {
    const records: JournalRecord[] = []
    const where = `killed after ${lives} records`
    expect(await world.live(records, lives), where).toBe(undefined)
    const paid = answeredCalls(records)
    const before = world.asked.length
    const life = await wholeLife(world, records)
    expect(life.result, where).toMatchObject({ end: 'done', text: 'I know more.' })
    const told = toldIn(life)
    expect([told.match(noticeOf('cat'))?.length, told.match(noticeOf('dog'))?.length], where).toEqual([1, 1])
    // each request of the second process has an answer that the first one has not recorded
    expect(answeredCalls(records).size - paid.size, where).toBe(world.asked.length - before)
    again += life.repeated.length
  }
  expect(again).toBeGreaterThan(core(1, 3))
})

describe('a program that a model starts as an agent', () => {
  const open = { mode: 'danger-full-access' } as const

  it('answers the call, or the notice of its end', async () => {
    for (const more of [{}, inBackground]) {
      const world = taskWorld({
        offered: { agent: commandAgent(['said'], open) },
        script: ({ turn, told }) =>
          turn === 0 ? [find('cat', more)] : told.join(' ').includes('CAT') ? 'Good.' : 'I wait.',
      })
      const { result } = await wholeLife(world)
      expect(result.text).toBe('Good.')
    }
  })

  /** Asks twice more, each time the agent that answered last. */
  function askingOn({ turn, told }: Asked): Answer {
    const id = /resume = "(\w+)"/.exec(told.join())?.[1]
    const prompts = ['cats', 'dogs', 'birds']
    const prompt = prompts[turn]
    return prompt === undefined ? told.join() : [find(prompt, turn === 0 ? {} : { resume: id })]
  }

  it('is resumed in its own conversation, in the same process and in a resumed run', async () => {
    const told = ['cats', 'cats, then dogs', 'cats, then dogs, then birds']
    const worldIn = (folder: string): TaskWorld => {
      const play = join(tempTree({}), 'play')
      const quoted = [process.execPath, program, 'remembers', folder].map((word) => `'${word}'`).join(' ')
      writeFileSync(play, `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 })
      const agent = commandAgent([], { preset: 'claude', command: play, args: [] })
      return taskWorld({ offered: { agent }, script: askingOn })
    }
    const folder = tempTree({})
    const records: JournalRecord[] = []
    const life = await wholeLife(worldIn(folder), records)
    expect(resultsIn(life).map((text) => text.split('\n')[0])).toEqual(told.map((all) => `I heard ${all}.`))
    expect(readdirSync(folder)).toEqual(['s1', 's2', 's3'])
    // the process dies when the second agent has ended, and when its caller has requested the third
    const ends = records.flatMap((one, index) => (one.k === 'done' && one.p.endsWith('/agent/finder') ? [index] : []))
    expect(ends).toHaveLength(3)
    for (const end of ends.slice(0, 2)) {
      const own = records.slice(0, end + 1)
      const left = tempTree({
        s1: readFileSync(join(folder, 's1'), 'utf8'),
        s2: readFileSync(join(folder, 's2'), 'utf8'),
      })
      const again = await wholeLife(worldIn(left), own)
      expect(resultsIn(again).at(-1)).toContain(`I heard ${told.at(-1)}.`)
    }
  })

  it('is not resumed if it has no conversations', async () => {
    const world = taskWorld({
      offered: { agent: commandAgent(['said'], open) },
      script: ({ turn, told }) =>
        turn === 0
          ? [find('cat')]
          : turn === 1
            ? [find('dog', { resume: /agent (a[0-9a-f]{8})/.exec(told.join())?.[1] })]
            : 'Good.',
    })
    const [first = '', second] = resultsIn(await wholeLife(world))
    expect(first).not.toContain('resume =')
    expect(second).toMatch(/cannot be resumed: its conversation was not kept/)
  })

  it('is stopped with its child processes by task_stop', async () => {
    const file = join(tempTree({}), 'pids')
    const pids = (): readonly number[] => JSON.parse(readFileSync(file, 'utf8')) as readonly number[]
    const runs = (pid: number): boolean => ![undefined, 'Z'].includes(processStatus(pid)?.state)
    let before: readonly number[] = []
    const world = taskWorld({
      offered: { agent: commandAgent(['family', file], open) },
      script({ turn, told }) {
        if (turn === 0) return [find('cat', inBackground)]
        if (turn > 1) return 'Good.'
        const id = /agent (a[0-9a-f]{8})/.exec(told.join(' '))?.[1]
        const gate = vi.waitFor(() => void (before = pids().filter(runs)), { timeout: 20_000 })
        return { text: [], toolCalls: ['task_stop'], toolInput: [JSON.stringify({ id })], finish: 'tool_calls', gate }
      },
    })
    expect(resultsIn(await wholeLife(world)).at(-1)).toContain('stopped')
    expect(before).toHaveLength(2)
    await expect.poll(() => before.filter(runs)).toEqual([])
  })
})
