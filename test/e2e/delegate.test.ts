import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { baton, type BatonOptions, jsonLines } from '../helpers/baton.ts'
import { type ModelReply, startModelServer } from '../helpers/model-server.ts'
import { core } from '../helpers/series.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools } from '../helpers/tool-model.ts'

interface Asked {
  /** `leader`, or the name of a worker. */
  readonly who: string
  readonly turn: number
  /** Everything since the last answer: tool results and messages. */
  readonly told: string
}

/** A server, a workspace with a team, and the command. */
async function teamWorld(reply: (asked: Asked) => ModelReply | Promise<ModelReply>, table = '') {
  const server = await startModelServer(({ body }) => {
    const messages = body?.messages ?? []
    const texts = messages.map(({ content }) => content)
    const who = /You are the worker ([\w-]+)\./.exec(texts.join('\n'))?.[1] ?? 'leader'
    const last = messages.findLastIndex(({ role }) => role === 'assistant')
    const turn = messages.filter(({ role }) => role === 'assistant').length
    return reply({ who, turn, told: texts.slice(last + 1).join('\n') })
  })
  onTestFinished(() => server.close())
  const home = tempTree({})
  const cwd = tempTree({
    '.git/HEAD': 'ref: refs/heads/main\n',
    'team.md': `+++\nmodel = "m"\n[delegate]\nteam = "auth"\nworkers = [{ name = "Code", agent = "coder" }]\n${table}\n[agents.coder]\ndescription = "Writes code."\ninstructions = "You code."\ntools = ["todo"]\n+++\nDo it all.\n`,
  })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: home }
  return {
    server,
    cwd,
    run: (args: readonly string[], options: Partial<BatonOptions> = {}) => baton(args, { cwd, env, ...options }),
    /** A file of the team, in the folder of the only run. */
    teamFile: (name: string): string => {
      const found = readdirSync(home, { recursive: true, encoding: 'utf8' })
      const path = found.find((one) => one.endsWith(join('team', name)))
      return join(home, path ?? name)
    },
  }
}

const spawnCode = ['spawn_agent', { message: 'Work on the list.', role: 'Code' }] as const

/** Claims and completes tasks until none is left. */
function work({ turn, told }: Asked): ModelReply {
  if (turn === 0) return callsTools(['task_claim', {}])
  const claimed = /claimed #(\d+)/.exec(told)?.[1]
  if (claimed !== undefined) return callsTools(['task_complete', { id: claimed, note: 'done' }])
  return told.includes('completed #') ? callsTools(['task_claim', {}]) : { text: 'Nothing is left for me.' }
}

it('a team is shown as a timeline and by its messages, each worker under its own name', async () => {
  const { run } = await teamWorld((asked) => {
    if (asked.who !== 'leader') {
      if (asked.turn === 0)
        return callsTools(['send_message', { to: 'leader', message: 'I begin.' }], ['task_claim', {}])
      return work(asked)
    }
    switch (asked.turn) {
      case 0:
        return callsTools(['task_create', { items: [{ subject: 'Design' }] }])
      case 1:
        return callsTools(spawnCode, ['spawn_agent', { prompt: 'Work too.', role: 'Code' }])
      case 2:
        return callsTools(['wait', { ids: ['Code-1'] }], ['wait', { thread_ids: ['Code-2'] }])
      case 3:
        return callsTools(['leave_delegate', {}])
      default:
        return { text: 'All is done.' }
    }
  })
  expect((await run(['run', 'team.md'])).code).toBe(0)
  const timeline = (await run(['runs', 'show', 'last', '--timeline'])).stdout
  expect(timeline).toMatch(/^leader .*completed/m)
  expect(timeline).toMatch(/^ {2}Code-1 .*█.*completed/m)
  expect(timeline).toMatch(/^ {2}Code-2 .*█.*completed/m)
  const messages = (await run(['runs', 'show', 'last', '--messages'])).stdout
  for (const line of [
    'leader → Code-1  starts: Work on the list.',
    'leader → Code-2  starts: Work too.',
    'Code-2 → leader  sends: I begin.',
    'waits for Code-1',
    'waits for Code-2',
    'Code-1 → leader  completed: Nothing is left for me.',
  ]) {
    expect(messages).toContain(line)
  }
})

it('works on a list: the leader creates it, workers complete it, the report is the answer (R122, R123, R126, R143)', async () => {
  const told: string[] = []
  const { run, server, teamFile } = await teamWorld((asked) => {
    if (asked.who !== 'leader') return work(asked)
    told.push(asked.told)
    switch (asked.turn) {
      case 0:
        return callsTools(['task_create', { items: [{ subject: 'Design' }, { subject: 'Build', blocked_by: ['1'] }] }])
      case 1:
        return callsTools(['leave_delegate', {}], spawnCode)
      case 2:
        return { text: 'They are at work.' }
      case 3:
        return callsTools(['leave_delegate', {}])
      default:
        return { text: 'All is done.' }
    }
  })
  const result = await run(['run', 'team.md', '--json'])
  expect(result.stderr).toBe('')
  const events = jsonLines(result.stdout)
  expect(events.filter(({ type }) => String(type).startsWith('delegate.')).map(({ type }) => type)).toEqual([
    'delegate.entered',
    ...Array.from({ length: 7 }, () => 'delegate.item'),
    'delegate.exited',
  ])
  expect(events.find(({ type }) => type === 'delegate.exited')).toMatchObject({ completed_tasks: 2, total_tasks: 2 })
  expect(events.at(-1)).toMatchObject({ result: 'All is done.' })
  expect(told[0]).toContain('Delegate mode is active for team "auth".')
  expect(told[2]).toContain('0 of 2 items are completed.')
  expect(told.at(-1)).toContain('Delegate mode has ended. All team tasks should be complete.')
  expect(readFileSync(teamFile('tasks.md'), 'utf8')).toBe(
    '# Tasks of team auth\n\n- [x] #1 Design (@Code-1)\n- [x] #2 Build (@Code-1)\n',
  )
  expect(result.code).toBe(0)
  // the leader only leads, and a worker cannot start others (R122, R137)
  const offered = server.requests.map(({ body }) =>
    ((body as unknown as Offering).tools ?? []).map(({ function: tool }) => tool.name).toSorted(),
  )
  const [ofLeader = [], ofWorker = []] = [offered.at(0), offered.find((names) => names.includes('task_claim'))]
  expect(ofLeader.join(' ')).toBe(
    'close_agent leave_delegate read_messages send_input send_message spawn_agent task_create task_list task_update wait',
  )
  expect(ofWorker.join(' ')).toBe('read_messages send_message task_claim task_complete task_list todo')
})

interface Offering {
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

it('tells the leader and every worker where the list is, and delivers unread messages, before its next request (R124, R125, R127, R142)', async () => {
  const told = new Map<string, string>()
  let send = (): void => {}
  const isSent = new Promise<void>((resolve) => (send = resolve))
  const { run, teamFile } = await teamWorld(async (asked) => {
    const { who, turn } = asked
    told.set(who, `${told.get(who) ?? ''}${asked.told}`)
    if (who !== 'leader') {
      if (turn === 0) await isSent
      return work(asked)
    }
    if (turn === 0) return callsTools(['task_create', { items: [{ subject: 'Design' }, { subject: 'Build' }] }])
    if (turn === 1) return callsTools(spawnCode, spawnCode)
    if (turn === 2) return callsTools(['send_message', { to: 'all', message: 'Be careful.' }])
    send()
    return { text: 'They are at work.' }
  })
  const result = await run(['run', 'team.md', '--json'])
  expect(result.code, result.stderr).toBe(0)
  const list = teamFile('tasks.md')
  expect(jsonLines(result.stdout).find(({ type }) => type === 'delegate.entered')).toMatchObject({
    team_name: 'auth',
    task_list_path: list,
  })
  expect([...told.keys()].toSorted()).toEqual(['Code-1', 'Code-2', 'leader'])
  for (const [who, text] of told) {
    expect(text.split(`Delegate mode is active for team "auth".\n\nTask list location: ${list}\n`), who).toHaveLength(2)
    const isTold = text.includes('- teammate: 1 unread message(s)\n- self: 0 unread message(s)')
    expect([who, isTold]).toEqual([who, who !== 'leader'])
  }
})

it('fails with the open items when the leader ends after a warning about them', async () => {
  const told: string[] = []
  const { run } = await teamWorld((asked) => {
    told.push(asked.told)
    return asked.turn === 0 ? callsTools(['task_create', { items: [{ subject: 'Design' }] }]) : { text: 'I give up.' }
  })
  const result = await run(['run', 'team.md'])
  expect(result.code).toBe(1)
  expect(result.stderr).toContain('team "auth" has ended, and 1 of 1 items are open: [ ] #1 Design')
  expect(told.filter((text) => text.includes('No worker is running, and items are still open'))).toHaveLength(1)
})

it('refuses a sixth worker, and an end with open items, unless forced (TV36)', async () => {
  const told: string[] = []
  let release = (): void => {}
  const gate = new Promise<void>((resolve) => (release = resolve))
  onTestFinished(() => release())
  const { run, teamFile } = await teamWorld((asked) => {
    if (asked.who !== 'leader') return { text: 'Late.', gate }
    told.push(asked.told)
    if (asked.turn === 0) return callsTools(['task_create', { items: [{ subject: 'Design' }] }])
    if (asked.turn === 1) return callsTools(...Array.from({ length: 6 }, () => spawnCode))
    return asked.turn === 2 ? callsTools(['leave_delegate', { force: true }]) : { text: 'Later.' }
  }, 'task_format = "json"')
  const result = await run(['run', 'team.md', '--json'])
  expect(told[2]?.match(/"name":"Code-\d"/g)).toHaveLength(5)
  expect(told[2]).toContain('worker limit reached (max 5): wait until one has ended, or close one')
  expect(jsonLines(result.stdout)).toContainEqual(
    expect.objectContaining({ type: 'delegate.exited', completed_tasks: 0, total_tasks: 1 }),
  )
  expect(told.filter((text) => text.includes('Delegate mode has ended.'))).toHaveLength(1)
  expect(JSON.parse(readFileSync(teamFile('tasks.json'), 'utf8'))).toEqual([
    { id: '1', subject: 'Design', status: 'pending', owner: null, blocked_by: [] },
  ])
  expect(result.code).toBe(0)
})

it.each([true, false])('sends messages, and reports unread ones: notifications = %s (R140, R144)', async (notifies) => {
  const told: string[] = []
  const { run } = await teamWorld((asked) => {
    if (asked.who !== 'leader') {
      return asked.turn === 0 ? callsTools(['send_message', { to: 'leader', message: 'Hello.' }]) : { text: 'Sent.' }
    }
    told.push(asked.told)
    if (asked.turn === 0) return callsTools(spawnCode)
    return asked.turn === 2 ? callsTools(['read_messages', {}]) : { text: 'All is said.' }
  }, `notifications = ${notifies}`)
  const result = await run(['run', 'team.md', '--json'])
  expect(jsonLines(result.stdout)).toContainEqual(
    expect.objectContaining({ type: 'delegate.message', from: 'Code-1', to: 'leader', message: 'Hello.' }),
  )
  expect(told.join('\n')).toContain('from Code-1: Hello.')
  expect(told.join('\n').includes('- teammate: 1 unread message(s)\n- self: 0 unread message(s)')).toBe(notifies)
  expect(result.code).toBe(0)
})

it('loses and repeats no item when workers are closed, the process is killed and a person edits the list', async () => {
  const items = core(12, 40)
  let completed = 0
  let onCompleted = (_count: number): void => {}
  let enough = (): void => {}
  const someDone = new Promise<void>((resolve) => (enough = resolve))
  const { run, teamFile } = await teamWorld(async (asked) => {
    if (asked.who !== 'leader') {
      const reply = work(asked)
      if (asked.told.includes('completed #')) onCompleted((completed += 1))
      return { ...reply, delayMs: 5 }
    }
    const { turn, told } = asked
    if (turn === 0) {
      const subjects = Array.from({ length: items }, (_, index) => ({ subject: `Part ${index + 1}` }))
      return callsTools(['task_create', { items: subjects }])
    }
    if (turn === 1) return callsTools(...Array.from({ length: 5 }, () => spawnCode))
    if (turn === 2) {
      await someDone
      return callsTools(['close_agent', { id: 'Code-1' }], ['close_agent', { id: 'Code-2' }])
    }
    return told.includes('items are open') ? callsTools(spawnCode) : { text: 'The report.' }
  })

  let isEdited = false
  let kill = (): void => {}
  onCompleted = (count) => {
    if (count >= items / 4) enough()
    if (count >= items / 3 && !isEdited) {
      isEdited = true
      const file = teamFile('tasks.md')
      const text = readFileSync(file, 'utf8').replace(`Part ${items}`, 'The last part')
      writeFileSync(file, `${text}\nA remark of a person.\n- [ ] One more\n`)
    }
    if (count >= items / 2) kill()
  }
  const killed = await run(['run', 'team.md', '--json'], {
    process: 'own',
    onOutput: (_, end) => void (kill = () => end('SIGKILL')),
  })
  expect(killed.code).not.toBe(0)
  onCompleted = () => {}
  const resumed = await run(['resume', '--last', '--json'])
  expect(resumed.stderr).toBe('')
  expect(resumed.code).toBe(0)

  const list = readFileSync(teamFile('tasks.md'), 'utf8')
  expect(list.match(/^- \[x\] #\d+ /gm)).toHaveLength(items + 1)
  expect(list).toContain(`#${items} The last part (@`)
  expect(list).toContain('A remark of a person.\n- [x] #')
  const state = JSON.parse(readFileSync(teamFile('items.json'), 'utf8')) as {
    done: Record<string, { result: unknown }>
  }
  const done = Object.values(state.done).flatMap(
    ({ result }) => /"completed #(\d+)/.exec(JSON.stringify(result))?.[1] ?? [],
  )
  expect(done.toSorted((left, right) => Number(left) - Number(right))).toEqual(
    Array.from({ length: items + 1 }, (_, index) => String(index + 1)),
  )
})

it('more work, a wait and a close for a worker in one answer are executed in order', async () => {
  const told: string[] = []
  const more = 'And the rest.'
  const { run } = await teamWorld(({ who, turn, told: heard }) => {
    if (who !== 'leader') return { text: heard.includes(more) ? 'The rest is done.' : 'It is done.' }
    told.push(heard)
    switch (turn) {
      case 0:
        return callsTools(spawnCode)
      case 1:
        return callsTools(['wait', { ids: ['Code-1'] }])
      case 2:
        return callsTools(
          ['send_input', { id: 'Code-1', message: more }],
          ['wait', { ids: ['Code-1'] }],
          ['close_agent', { id: 'Code-1' }],
        )
      case 3:
        return callsTools(['leave_delegate', { force: true }])
      default:
        return { text: 'Done.' }
    }
  })
  const events = jsonLines((await run(['run', 'team.md', '--json'])).stdout)
  const of = (type: string): readonly Record<string, unknown>[] => events.filter((event) => event['type'] === type)
  expect(told[2]).toContain('{"status":{"Code-1":{"completed":"It is done."}},"timed_out":false}')
  expect(told[3]).toContain('{"status":{"Code-1":{"completed":"The rest is done."}},"timed_out":false}')
  expect(told[3]).toContain('{"status":{"completed":"The rest is done."}}')

  // events and views name both workers by the ids that the leader was told
  const [first, second] = of('collab.spawn_end').map(({ thread_id: id }) => String(id))
  expect(told[1]).toContain(JSON.stringify({ agent_id: first, name: 'Code-1' }))
  for (const kind of ['spawn', 'interaction', 'waiting', 'close']) {
    const calls = (when: string): readonly unknown[] => of(`collab.${kind}_${when}`).map(({ call_id: call }) => call)
    expect(calls('end'), kind).toEqual(calls('begin'))
    expect(calls('end').length, kind).toBeGreaterThan(0)
  }
  for (const [id, text] of [
    [first, 'It is done.'],
    [second, 'The rest is done.'],
  ]) {
    const statuses = of('collab.status').filter(({ thread_id: thread }) => thread === id)
    expect(statuses.map(({ status }) => status)).toEqual(['pending_init', 'running', { completed: text }, 'shutdown'])
  }
  expect(of('agent.started').flatMap(({ id }) => id ?? [])).toEqual([first, second])
  const timeline = JSON.parse((await run(['runs', 'show', 'last', '--timeline', '--json'])).stdout) as Timeline
  expect(timeline.teams.flatMap(({ members }) => members.map(({ id, name, text }) => [id, name, text]))).toEqual([
    ['root', 'leader', ''],
    [first, 'Code-1', 'It is done.'],
    [second, 'Code-2', 'The rest is done.'],
  ])
  const ofSecond = (await run(['runs', 'show', 'last', '--agent', String(second)])).stdout
  expect(ofSecond).toContain(more)
  expect(ofSecond).toContain('The rest is done.')
})

interface Timeline {
  readonly teams: readonly {
    readonly members: readonly { readonly id: string; readonly name: string; readonly text: string }[]
  }[]
}

it('reports items that block each other and repeated calls, to the person and to the leader', async () => {
  const told: string[] = []
  const { run } = await teamWorld((asked) => {
    if (asked.who !== 'leader') return asked.turn < 3 ? callsTools(['task_list', {}]) : { text: 'Nothing for me.' }
    told.push(asked.told)
    if (asked.turn === 0) {
      const items = [
        { subject: 'Design', blocked_by: ['2'] },
        { subject: 'Build', blocked_by: ['1'] },
      ]
      return callsTools(['task_create', { items }])
    }
    return asked.turn === 1 ? callsTools(spawnCode) : { text: 'I cannot help it.' }
  })
  const result = await run(['run', 'team.md', '--json'])
  const round = 'items wait for each other, so nobody can start them: #1 waits for #2, #2 waits for #1'
  const repeats = 'Code-1 has called task_list 3 times in a row with the same input and the same result'
  expect(jsonLines(result.stdout).filter(({ type }) => type === 'collab.stalled')).toMatchObject([
    { kind: 'cycle', message: round },
    { kind: 'repeats', agents: ['Code-1'], message: repeats },
  ])
  expect(told.join('\n').split(`The team is stalled: ${round}`)).toHaveLength(2)
  expect(told.join('\n').split(`The team is stalled: ${repeats}`)).toHaveLength(2)
  expect(result.code).toBe(1)
})

it('releases the item of a worker that is idle for the time of its lease, and reports that nobody makes progress', async () => {
  const told: string[] = []
  let release = (): void => {}
  const gate = new Promise<void>((resolve) => (release = resolve))
  onTestFinished(() => release())
  const { run } = await teamWorld((asked) => {
    if (asked.who === 'Code-1') return asked.turn === 0 ? callsTools(['task_claim', {}]) : { text: 'Late.', gate }
    if (asked.who !== 'leader') return work(asked)
    told.push(asked.told)
    if (asked.turn === 0) return callsTools(['task_create', { items: [{ subject: 'Design' }] }], spawnCode)
    if (asked.told.includes('others can claim')) return callsTools(spawnCode)
    return asked.told.includes('Nothing is left for me.') ? callsTools(['leave_delegate', {}]) : { text: 'I wait.' }
  }, 'lease = "400ms"\nstall_after = "200ms"')
  const result = await run(['run', 'team.md', '--json'])
  const lines = jsonLines(result.stdout)
  expect(told.join('\n')).toContain('Code-1 has done nothing for a long time: others can claim #1 again.')
  expect(lines).toContainEqual(
    expect.objectContaining({ type: 'collab.stalled', kind: 'no_progress', agents: ['Code-1'] }),
  )
  expect(lines.filter(({ type }) => type === 'delegate.item')).toMatchObject([
    { status: 'pending' },
    { status: 'in_progress', owner: 'Code-1' },
    { status: 'pending' },
    { status: 'in_progress', owner: 'Code-2' },
    { status: 'completed', owner: 'Code-2' },
  ])
})

it('releases the item of a worker whose model fails, and tells the leader', async () => {
  const told: string[] = []
  const { run } = await teamWorld((asked) => {
    if (asked.who === 'Code-1' && asked.turn > 0) return { status: 400, body: '{"error":{"message":"no such thing"}}' }
    if (asked.who !== 'leader') return work(asked)
    told.push(asked.told)
    if (asked.turn === 0) return callsTools(['task_create', { items: [{ subject: 'Design' }] }], spawnCode)
    return asked.told.includes('no such thing') ? callsTools(spawnCode) : { text: 'Go on.' }
  })
  const result = await run(['run', 'team.md', '--json'])
  expect(told.join('\n')).toContain('no such thing')
  expect(jsonLines(result.stdout).findLast(({ type }) => type === 'delegate.item')).toMatchObject({
    status: 'completed',
    owner: 'Code-2',
  })
  expect(result.code).toBe(0)
})

it('keeps its list in the workspace if the file says so, and adopts existing items', async () => {
  const { run, cwd } = await teamWorld((asked) => {
    if (asked.who !== 'leader') return work(asked)
    return asked.turn === 0 ? callsTools(spawnCode) : { text: 'All is done.' }
  }, 'task_list = "./plan/tasks.md"')
  mkdirSync(join(cwd, 'plan'))
  writeFileSync(join(cwd, 'plan/tasks.md'), '# Ours\n\n- [ ] #1 Design\n- [x] #2 Look\n')
  expect((await run(['run', 'team.md'])).stderr).toContain('is in the workspace, where nothing may be written')
  const result = await run(['run', 'team.md', '-c', 'write_mode=true'])
  expect(result.code).toBe(0)
  const list = readFileSync(join(cwd, 'plan/tasks.md'), 'utf8')
  expect(list).toMatch(/^# Ours\n/)
  expect(list).toMatch(/- \[x\] #1 Design/)
  expect(list).toMatch(/- \[x\] #2 Look/)
})
