import { expect, it, onTestFinished } from 'vitest'
import { baton, type BatonResult, jsonLines } from '../helpers/baton.ts'
import { type ModelReply, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools } from '../helpers/tool-model.ts'

interface Asked {
  /** The first message of the conversation: for an agent, the message it was spawned with. */
  readonly who: string
  readonly turn: number
  /** All messages it got from users and agents. */
  readonly told: string
  /** Results of its tools, in order. */
  readonly results: readonly string[]
}

interface World {
  readonly server: ModelServer
  /** Who was asked for which turn, in order. */
  readonly asked: readonly string[]
  readonly run: (...args: readonly string[]) => Promise<BatonResult>
  /** The same, until its output says that it should be killed. */
  readonly runUntil: (isTime: (printed: string) => boolean, ...args: readonly string[]) => Promise<BatonResult>
}

type Files = { readonly [path: string]: string }

async function world(
  files: Files,
  reply: (asked: Asked) => ModelReply | Promise<ModelReply>,
  config = '',
): Promise<World> {
  const asked: string[] = []
  const server = await startModelServer(({ body }) => {
    const messages = body?.messages ?? []
    const told = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
    const turn = messages.filter(({ role }) => role === 'assistant').length
    const who = told[0]?.trim() ?? ''
    asked.push(`${/^Analyse (\w+) code$/.exec(who)?.[1] ?? 'lead'}/${turn}`)
    return reply({ who, turn, told: told.join('\n'), results })
  })
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', ...files })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree({ 'config/config.toml': config }) }
  return {
    server,
    asked,
    run: (...args) => baton(args, { cwd, env }),
    runUntil: (isTime, ...args) =>
      baton(args, {
        cwd,
        env,
        process: 'own',
        onOutput: (text, kill) => void (isTime(text) && kill('SIGKILL')),
      }),
  }
}

const lead = `+++
model = "large"
tools = ["read", "grep"]
[collab]
min_wait = "100ms"
[collab.roles.worker]
model = "small"
tools = ["read"]
instructions = "You analyse one part."
+++
Analyse auth, API and database code, then merge the findings.
`

const parts = ['auth', 'api', 'db'] as const
const spawn = (part: string) => ['spawn_agent', { message: `Analyse ${part} code`, role: 'worker' }] as const

/** The ids that `spawn_agent` returned, in the order of the calls. */
function idsIn(results: readonly string[]): string[] {
  return results.flatMap((text) => /"agent_id":"([0-9a-f-]{36})"/.exec(text)?.[1] ?? [])
}

interface SentBody {
  readonly model: string
  readonly messages: readonly unknown[]
  readonly tools: readonly { readonly function: { readonly name: string } }[]
}

it('a leader spawns three workers, waits, sends a message to the one that still runs, waits again, closes all and merges their results (R3, R111 to R119)', async () => {
  let followedUp = (): void => {}
  const isFollowedUp = new Promise<void>((resolve) => void (followedUp = resolve))
  const one = await world({ 'lead.md': lead, 'auth.ts': 'let a' }, async ({ who, turn, told, results }) => {
    const part = /^Analyse (\w+) code$/.exec(who)?.[1]
    if (part === 'api' && turn === 0) await isFollowedUp
    if (part === 'auth' && turn === 0) return callsTools(['read', { path: 'auth.ts' }])
    if (part !== undefined) return { text: `${part} is fine${told.includes('in short') ? ', in short' : ''}` }
    const ids = idsIn(results)
    if (turn === 0) return callsTools(...parts.map(spawn))
    if (turn === 1) return callsTools(['wait', { ids, timeout_seconds: 3 }])
    if (turn === 2) return callsTools(['send_input', { id: ids[1] ?? '', message: 'Answer in short.' }])
    if (turn === 3) {
      followedUp()
      return callsTools(['wait', { ids: ids.slice(1, 2) }])
    }
    if (turn === 4) return callsTools(...ids.map((id) => ['close_agent', { id }] as const))
    const found = [results[3] ?? '', results[5] ?? ''].flatMap((text) => [...text.matchAll(/"completed":"([^"]*)"/g)])
    return { text: found.map(([, text]) => text).join('; ') }
  })
  const run = await one.run('lead.md', '--json')
  expect(run.code, run.stderr).toBe(0)
  const events = jsonLines(run.stdout)
  expect(events.at(-1)).toMatchObject({ result: 'auth is fine; db is fine; api is fine, in short' })

  const team = events.filter(({ type }) => String(type).startsWith('collab.'))
  const of = (type: string): readonly Record<string, unknown>[] =>
    team.filter((event) => event['type'] === `collab.${type}`)
  const ids = of('spawn_end').map(({ thread_id: id }) => String(id))
  expect(ids).toHaveLength(3)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  // each end has the call of its start (R115 to R118)
  for (const kind of ['spawn', 'interaction', 'waiting', 'close']) {
    const calls = (when: string): readonly unknown[] => of(`${kind}_${when}`).map(({ call_id: call }) => call)
    expect(calls('end').toSorted(), kind).toEqual(calls('begin').toSorted())
    expect(new Set(calls('begin')).size).toBe(calls('begin').length)
  }
  expect(of('spawn_begin').map(({ prompt, role }) => [prompt, role])).toEqual(
    parts.map((part) => [`Analyse ${part} code`, 'worker']),
  )
  const [auth = '', api = '', db = ''] = ids
  const fine = (text: string) => ({ completed: text })
  expect(of('waiting_begin').map(({ thread_ids: waited }) => waited)).toEqual([ids, [api]])
  expect(of('waiting_end').map(({ statuses, timed_out: isLate }) => [statuses, isLate])).toEqual([
    [{ [auth]: fine('auth is fine'), [api]: 'running', [db]: fine('db is fine') }, true],
    [{ [api]: fine('api is fine, in short') }, false],
  ])
  expect(of('interaction_begin')).toMatchObject([{ thread_id: api, prompt: 'Answer in short.' }])
  expect(of('interaction_end')).toMatchObject([{ thread_id: api, status: 'running' }])
  expect(of('close_begin').map(({ thread_id: id }) => id)).toEqual(ids)
  expect(of('close_end').map(({ thread_id: id, status }) => [id, status])).toEqual([
    [auth, fine('auth is fine')],
    [api, fine('api is fine, in short')],
    [db, fine('db is fine')],
  ])
  const statuses = of('status')
    .filter(({ thread_id: id }) => id === auth)
    .map(({ status }) => status)
  expect(statuses).toEqual(['pending_init', 'running', fine('auth is fine'), 'shutdown'])

  // an agent has the model and tools of its role, and cannot start agents; it sees nothing of the leader (R119)
  const bodies = one.server.requests.map(({ body }) => body as unknown as SentBody)
  const toolsOf = ({ tools }: SentBody): readonly string[] => tools.map(({ function: tool }) => tool.name).toSorted()
  const leaders = bodies.filter(({ model }) => model === 'large')
  const workers = bodies.filter(({ model }) => model === 'small')
  expect([leaders.length, workers.length]).toEqual([6, 5])
  expect(toolsOf(leaders[0] as SentBody)).toEqual(['close_agent', 'grep', 'read', 'send_input', 'spawn_agent', 'wait'])
  for (const body of workers) {
    expect(toolsOf(body)).toEqual(['read'])
    expect(body.messages[0]).toMatchObject({
      role: 'system',
      content: expect.stringContaining('You analyse one part.'),
    })
    expect(JSON.stringify(body.messages)).not.toContain('merge the findings')
  }
})

it('--collab lets the model of any prompt lead a team, also of a text, and an .aip agent has the option collab', async () => {
  const aip = '# Options\n\n```toml\nmodel = "large"\n[collab.roles.worker]\nmodel = "small"\n```\n\n# User\n\nLead.\n'
  const one = await world(
    { 'lead.aip': aip, 'plain.md': '+++\nmodel = "large"\n+++\nLead.\n' },
    ({ who, turn, results }) => {
      if (who !== 'Lead.') return { text: 'two' }
      if (turn === 0) return callsTools(['spawn_agent', { message: 'One and one?', role: 'worker' }])
      if (turn === 1) return callsTools(['wait', { ids: idsIn(results) }])
      if (turn === 2) return callsTools(['close_agent', { id: idsIn(results)[0] ?? '' }])
      return { text: results[1] ?? '' }
    },
  )
  for (const args of [['plain.md', '--collab'], ['-p', 'Lead.', '-m', 'large', '--collab'], ['lead.aip']]) {
    const run = await one.run(...args)
    expect(run.stdout, run.stderr).toContain('{"completed":"two"}')
    expect(run.code).toBe(0)
  }
  expect(one.server.requests.map(({ body }) => body?.model).filter((model) => model === 'small')).toHaveLength(1)
})

/** The PART if the message is `Analyse PART code`. */
function partOf({ who }: Asked): string | undefined {
  return /^Analyse (\w+) code$/.exec(who)?.[1]
}

function spawnedIn(events: readonly Record<string, unknown>[]): readonly unknown[] {
  return events.flatMap(({ type, thread_id: id }) => (type === 'collab.spawn_end' ? [id] : []))
}

it('a run that is killed while an agent is asked is resumed with the same agents, repeats only that request, delivers nothing twice, and is replayed without a model', async () => {
  let isKilled = false
  const one = await world({ 'lead.md': lead }, (asked) => {
    const { turn, told, results } = asked
    const part = partOf(asked)
    // the first process never receives the end of it
    if (part === 'db' && !isKilled) return { chunks: ['db', ' is'], stallAfter: 1 }
    if (part !== undefined) return { text: `${part} is fine${told.includes('in short') ? ', in short' : ''}` }
    const ids = idsIn(results)
    const [auth = '', api = ''] = ids
    const turns: readonly ModelReply[] = [
      callsTools(...parts.map(spawn)),
      callsTools(['wait', { ids: [auth, api] }]),
      callsTools(['send_input', { id: auth, message: 'Answer in short.' }], ['wait', { ids: [auth] }]),
      callsTools(['wait', { ids }]),
      // nobody closes the others
      callsTools(['close_agent', { id: auth }]),
    ]
    const found = [...(results[6] ?? '').matchAll(/"completed":"([^"]*)"/g)].map(([, text]) => text)
    return turns[turn] ?? { text: found.join('; ') }
  })
  const killed = await one.runUntil(
    (printed) => (isKilled ||= printed.split('"collab.waiting_begin"').length > 3),
    'lead.md',
    '--json',
  )
  expect([killed.code, isKilled], killed.stderr).toEqual([null, true])
  const before = [...one.asked]
  expect(before.toSorted()).toEqual(['api/0', 'auth/0', 'auth/1', 'db/0', 'lead/0', 'lead/1', 'lead/2', 'lead/3'])

  const resumed = await one.run('resume', '--last', '--json')
  const events = jsonLines(resumed.stdout)
  const result = 'auth is fine, in short; api is fine; db is fine'
  expect(events.at(-1), resumed.stderr).toMatchObject({ exit_code: 0, result })
  expect(one.asked.slice(before.length)).toEqual(['db/0', 'lead/4', 'lead/5'])
  const ids = spawnedIn(jsonLines(killed.stdout.slice(0, killed.stdout.lastIndexOf('\n'))))
  expect(spawnedIn(events)).toEqual(ids)
  const last = JSON.stringify(one.server.requests.map(({ body }) => body?.messages).at(before.indexOf('auth/1')))
  expect(last.match(/Answer in short/g)).toHaveLength(1)

  await one.server.close()
  const replayed = await one.run('lead.md', '--replay', 'last')
  expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: `${result}\n` })
})

const asking = '[permission]\ntodo = "ask"\n'
const leadAsking = lead.replaceAll('["read"', '["todo", "read"')

it('an agent that waits for an approval suspends the run when the others have ended, and continues once it is approved, killed or not', async () => {
  let isKilled = false
  const one = await world(
    { 'lead.md': leadAsking },
    (asked) => {
      const { turn, results } = asked
      const part = partOf(asked)
      if (part === 'api' && turn === 0) return callsTools(['todo', { todos: [] }])
      if (part === 'api' && !isKilled) return { chunks: ['api', ' is'], stallAfter: 1 }
      if (part !== undefined) return { text: `${part} is fine` }
      const ids = idsIn(results)
      if (turn === 0) return callsTools(...parts.map(spawn))
      if (turn === 1) return callsTools(['wait', { ids }])
      if (turn === 2) return callsTools(...ids.map((id) => ['close_agent', { id }] as const))
      return { text: [...(results[3] ?? '').matchAll(/"completed":"([^"]*)"/g)].map(([, text]) => text).join('; ') }
    },
    asking,
  )
  const waits = await one.run('lead.md', '--on-ask', 'suspend')
  expect([waits.code, waits.stdout], waits.stderr).toEqual([5, ''])
  expect(waits.stderr).toMatch(/waiting for approval: 1 call\n\d+ {2}todo {2}of worker/)
  const before = [...one.asked]
  expect(before.toSorted()).toEqual(['api/0', 'auth/0', 'db/0', 'lead/0', 'lead/1'])

  const killed = await one.runUntil((printed) => (isKilled ||= printed.includes('"api"')), 'approve', '--json')
  expect([killed.code, isKilled], killed.stderr).toEqual([null, true])
  expect(one.asked.slice(before.length)).toEqual(['api/1'])
  const resumed = await one.run('resume', '--last')
  expect(resumed, resumed.stderr).toMatchObject({ code: 0, stdout: 'auth is fine; api is fine; db is fine\n' })
  expect(one.asked.slice(before.length)).toEqual(['api/1', 'api/1', 'lead/2', 'lead/3'])
})

it('a program of a model in code mode leads a team as calls do', async () => {
  const program = `const { agent_id } = spawnAgent({ message: 'Analyse db code', role: 'worker' })
    const { status } = wait({ ids: [agent_id] })
    closeAgent({ id: agent_id })
    output(status[agent_id].completed)
    done()`
  const one = await world({ 'lead.md': lead.replace('tools', 'mode = "code"\ntools') }, (asked) =>
    partOf(asked) === undefined ? { text: `\`\`\`js\n${program}\n\`\`\`` } : { text: 'db is fine' },
  )
  const run = await one.run('lead.md')
  expect(run, run.stderr).toMatchObject({ code: 0, stdout: 'db is fine\n' })
})
