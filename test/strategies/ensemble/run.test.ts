import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../../src/base/error.ts'
import type { JsonObject } from '../../../src/base/json.ts'
import { withServices } from '../../../src/event/context.ts'
import type { EventBody, RunEvent } from '../../../src/event/event.ts'
import type { ModelRequest } from '../../../src/model/provider.ts'
import { failureOf } from '../../../src/run/answer.ts'
import { runPrompt } from '../../../src/run/prompt-run.ts'
import { agentWorld, loadPromptFile } from '../../helpers/agents.ts'
import { createFakeProvider, type FakeTurn } from '../../helpers/fake-model.ts'
import { textIn } from '../../helpers/messages.ts'
import { strategies } from '../../../src/strategies/strategies.ts'
import type { TaskOutcome } from '../../../src/run/strategy.ts'

type Answer = (model: string, text: string, request: ModelRequest) => FakeTurn

interface Given {
  readonly files?: { readonly [path: string]: string }
  readonly answer?: Answer
  readonly prompt?: string
  readonly onEvent?: (event: EventBody, folder: string) => void
}

const says: Answer = (model) => ({ text: [`${model} says so`] })
const never = (): FakeTurn => ({ text: [], gate: new Promise<void>(() => {}) })
const failing = (message: string): FakeTurn => ({ text: [], failure: new BatonError('MODEL_FAILED', message) })

/** The user gives programs the user's own rights. */
const open = { '.state/config/config.toml': '[sandbox]\nmode = "danger-full-access"\n' }

/** Runs a file with this front matter; the answers of models depend on their names. */
async function run(frontMatter: string, { files = {}, answer = says, prompt = 'What is it?', onEvent }: Given = {}) {
  const provider = createFakeProvider((request) => answer(request.model, lastOf(request), request))
  const text = `+++\nmodel = "main"\n${frontMatter}\n+++\n${prompt}\n`
  const { folder, context: plain } = agentWorld({ '.git/HEAD': 'x', 'SPEC-1.md': text, ...files }, { provider })
  const events: typeof plain.services.events = (at, event) => {
    plain.services.events(at, event)
    onEvent?.(event, folder)
  }
  const context = withServices(plain, { events })
  const target = await loadPromptFile('SPEC-1.md', folder)
  const tasks: TaskOutcome[] = []
  const keep = (task: TaskOutcome): void => void tasks.push(task)
  const thrown: unknown = await runPrompt(
    { strategies, target, inputs: [], onOutcome: keep, onFailure: keep },
    context,
  ).then(
    () => undefined,
    (error: unknown) => failureOf(error).error,
  )
  return { folder, task: tasks[0], thrown, asked: provider.requests, sent: context.sent }
}

function lastOf({ messages }: ModelRequest): string {
  const last = messages.at(-1)
  return last === undefined ? '' : textIn(last)
}

function contentOf(task: TaskOutcome | undefined): string {
  return task?.status === 'done' ? task.content : `${task?.status}`
}

function ofType<T extends RunEvent['type']>(sent: readonly RunEvent[], type: T) {
  return sent.filter((event): event is Extract<RunEvent, { type: T }> => event.type === type)
}

const models = (...names: readonly string[]): string =>
  names.map((name) => `[[ensemble.agents]]\nname = "${name}"\nmodel = "${name}"\n`).join('')

const seen = '[[sub_agents]]\nname = "seen.lua"\nstage = "post_task"\n'
/** Records what a `post_task` agent sees. */
const seenFile = { 'seen.lua': 'aip.file.save("seen.json", aip.json.stringify(input.ai_response))\nreturn nil\n' }

function seenIn(folder: string): JsonObject {
  return JSON.parse(readFileSync(join(folder, 'seen.json'), 'utf8')) as JsonObject
}

describe('an ensemble of models', () => {
  it('asks all members the same at once, and a model that combines their answers', async () => {
    const { task, asked, sent } = await run(`[ensemble]\n${models('a', 'b', 'c')}`)
    expect(contentOf(task)).toBe('main says so')
    expect(asked.map(({ model }) => model).toSorted()).toEqual(['a', 'b', 'c', 'main'])
    expect(new Set(asked.slice(0, 3).map(lastOf))).toEqual(new Set(['What is it?']))
    const synthesis = lastOf(asked.at(-1) as ModelRequest)
    expect(synthesis).toMatch(
      /^What is it\?\n\nSeveral agents have answered the request above independently \(3 answered\)/,
    )
    expect(synthesis).toContain('<answer member="b" lines="1">\nb says so\n</answer>')
    expect(ofType(sent, 'ensemble.started')[0]?.members).toEqual([
      { id: 'SPEC-1-ensemble-a', name: 'a', kind: 'model' },
      { id: 'SPEC-1-ensemble-b', name: 'b', kind: 'model' },
      { id: 'SPEC-1-ensemble-c', name: 'c', kind: 'model' },
    ])
    const ids = ['SPEC-1-ensemble-a', 'SPEC-1-ensemble-b', 'SPEC-1-ensemble-c']
    const end = { ids, answered: ['a', 'b', 'c'], missing: [], degraded: false }
    expect(ofType(sent, 'ensemble.completed')[0]).toMatchObject(end)
  })

  it('post_task agents see the members in the order of the file', async () => {
    const answer: Answer = (model) => (model === 'b' ? failing('no such luck') : says(model, '', undefined as never))
    const { folder } = await run(`${seen}[ensemble]\n${models('a', 'b', 'c')}`, { files: seenFile, answer })
    const { members, degraded, content } = seenIn(folder)
    expect({ content, degraded }).toEqual({ content: 'main says so', degraded: true })
    expect(members).toMatchObject([
      { name: 'a', id: 'SPEC-1-ensemble-a', status: 'answered', content: 'a says so', model: 'a' },
      { name: 'b', id: 'SPEC-1-ensemble-b', status: 'failed', error: { message: 'no such luck' } },
      { name: 'c', status: 'answered', content: 'c says so' },
    ])
  })

  it('two of three are enough, and the missing one is reported', async () => {
    const answer: Answer = (model) => (model === 'c' ? never() : says(model, '', undefined as never))
    const { task, sent, asked } = await run(`[ensemble]\ntimeout = "1s"\n${models('a', 'b', 'c')}`, { answer })
    expect(contentOf(task)).toBe('main says so')
    expect(ofType(sent, 'ensemble.completed')[0]).toMatchObject({ missing: ['c'], degraded: true })
    expect(ofType(sent, 'member.timed_out')[0]).toMatchObject({
      name: 'c',
      error: { code: 'LIMIT', message: 'it took longer than its timeout, 1 s' },
    })
    expect(lastOf(asked.at(-1) as ModelRequest)).toContain('<no_answer member="c" status="timed_out">')
    expect(ofType(sent, 'warning')[0]?.message).toBe(
      '1 of 3 members of the ensemble gave no answer: "c": it took longer than its timeout, 1 s',
    )
  })

  it('fewer are an error that names the missing ones and the reasons', async () => {
    const answer: Answer = (model) => (model === 'a' ? says(model, '', undefined as never) : never())
    const { thrown, asked } = await run(`[ensemble]\ndeadline = "1s"\n${models('a', 'b', 'c')}`, { answer })
    expect(thrown).toMatchObject({
      code: 'LIMIT',
      reason: 'INSUFFICIENT_AGENTS',
      message:
        'only 1 of 3 members of the ensemble answered, and 2 are needed: "b": it took longer than the deadline of the ensemble, 1 s; "c": it took longer than the deadline of the ensemble, 1 s',
    })
    expect(asked.map(({ model }) => model)).not.toContain('main')
  })

  it('a failed member retries up to its limit', async () => {
    const tries = new Map<string, number>()
    const answer: Answer = (model) => {
      tries.set(model, (tries.get(model) ?? 0) + 1)
      if (model === 'b' && tries.get('b') === 1) return failing('once')
      return model === 'c' ? failing('always') : says(model, '', undefined as never)
    }
    const { sent } = await run(`[retry]\nmax_attempts = 1\n[ensemble]\nretries = 1\n${models('a', 'b', 'c')}`, {
      answer,
    })
    expect(Object.fromEntries(tries)).toEqual({ a: 1, b: 2, c: 2, main: 1 })
    expect(ofType(sent, 'ensemble.completed')[0]).toMatchObject({ answered: ['a', 'b'], missing: ['c'] })
  })
})

const form = '[output.schema]\ntype = "object"\nproperties.n.type = "number"\nrequired = ["n"]\n'

describe('the synthesis', () => {
  it('must fit [output]: members answer freely', async () => {
    const answer: Answer = (model) => ({ text: [model === 'main' ? '{"n": 5}' : `${model} says five`] })
    const { task, asked } = await run(`${form}[ensemble]\n${models('a', 'b')}`, { answer })
    expect(task).toMatchObject({ status: 'done', value: { n: 5 } })
    expect(asked.map(({ model, output }) => [model, output !== undefined])).toEqual(
      expect.arrayContaining([
        ['a', false],
        ['b', false],
        ['main', true],
      ]),
    )
  })

  it('changes files with write_mode, but no member does', async () => {
    const answer: Answer = (model) => ({
      text: [`By ${model}.\n\n<FILE_CHANGES>\n<FILE_NEW file_path="${model}.txt">\nx\n</FILE_NEW>\n</FILE_CHANGES>`],
    })
    const { folder, task } = await run(`write_mode = true\n[ensemble]\n${models('a', 'b')}`, { answer })
    expect(task).toMatchObject({ status: 'done' })
    expect(['a', 'b', 'main'].map((name) => existsSync(join(folder, `${name}.txt`)))).toEqual([false, false, true])
  })
})

describe('a vote', () => {
  it('the most frequent value wins, whatever its formatting, and the votes are shown', async () => {
    const answer: Answer = (model) => ({ text: [model === 'a' ? '{"n": 1}' : '{ "n" : 2.0 }'] })
    const front = `${seen}${form}[ensemble]\naggregate = "vote"\n${models('a', 'b', 'c')}`
    const { task, sent, folder } = await run(front, { answer, files: seenFile })
    expect(task).toMatchObject({ status: 'done', value: { n: 2 } })
    const votes = [
      { value: { n: 2 }, members: ['b', 'c'] },
      { value: { n: 1 }, members: ['a'] },
    ]
    expect(ofType(sent, 'ensemble.completed')[0]?.votes).toEqual(votes)
    expect(seenIn(folder)['votes']).toEqual(votes)
  })

  it('among equally frequent values, the first in the file wins', async () => {
    const answer: Answer = (model) => ({ text: [`{"n": ${model === 'a' ? 1 : 2}}`] })
    const { task } = await run(`${form}[ensemble]\naggregate = "vote"\n${models('b', 'a')}`, { answer })
    expect(task).toMatchObject({ value: { n: 2 } })
  })

  it('needs [output]', async () => {
    await expect(run(`[ensemble]\naggregate = "vote"\n${models('a', 'b')}`)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'aggregate = "vote" needs [output]: only structured values can be counted',
      place: { line: 4 },
    })
  })
})

describe('the first answer', () => {
  it('is used, and the other members are stopped', async () => {
    const answer: Answer = (model) => (model === 'b' ? says(model, '', undefined as never) : never())
    const { task, sent } = await run(`[ensemble]\naggregate = "first"\n${models('a', 'b', 'c')}`, { answer })
    expect(contentOf(task)).toBe('b says so')
    const end = { winner: 'b', answered: ['b'], missing: [], degraded: false }
    expect(ofType(sent, 'ensemble.completed')[0]).toMatchObject(end)
    expect(ofType(sent, 'member.stopped').map(({ name }) => name)).toEqual(['a', 'c'])
  })

  it('that passes the check is used', async () => {
    const answer: Answer = (model) => ({ text: [model === 'b' ? 'good' : 'bad'] })
    const { task, sent } = await run(`[ensemble]\ncheck = "grep -q good"\n${models('a', 'b')}`, { answer })
    expect(contentOf(task)).toBe('good')
    expect(ofType(sent, 'ensemble.completed')[0]).toMatchObject({ winner: 'b' })
  })

  it('without a member that passes is an error with each exit code', async () => {
    const answer: Answer = (model) => (model === 'b' ? failing('no such luck') : { text: ['7'] })
    const { thrown } = await run(`[ensemble]\ncheck = 'exit "$(cat)"'\n${models('a', 'b')}`, { answer })
    expect(thrown).toMatchObject({
      code: 'AGENT_FAILED',
      message: `no answer passes ${JSON.stringify('exit "$(cat)"')}: "a" exit code 7, "b": no such luck`,
    })
  })
})

describe('agents', () => {
  const merge =
    'local names = {}\nfor _, m in ipairs(input.members) do names[#names + 1] = m.name .. "=" .. m.content end\nreturn table.concat(names, " ")\n'

  it('a Lua function combines all answers', async () => {
    const { task } = await run(`[ensemble]\naggregator = "merge.lua"\n${models('a', 'b')}`, {
      files: { 'merge.lua': merge },
    })
    expect(contentOf(task)).toBe('a=a says so b=b says so')
  })

  it('a prompt file gets the answers as text, and as a variable', async () => {
    const plain = '+++\nmodel = "judge"\n+++\nMerge.\n'
    const { asked, task } = await run(`[ensemble]\naggregator = "merge.md"\n${models('a', 'b')}`, {
      files: { 'merge.md': plain },
    })
    expect(contentOf(task)).toBe('judge says so')
    const shown =
      asked
        .at(-1)
        ?.messages.map((message) => textIn(message))
        .join('\n') ?? ''
    expect(shown).toContain('<answer member="a" lines="1">\na says so\n</answer>')
    const own =
      '+++\nmodel = "judge"\n[input.members]\ntype = "list"\n+++\n{{#each input.members}}[{{name}}: {{content}}]{{/each}}\n'
    const filled = await run(`[ensemble]\naggregator = "merge.md"\n${models('a', 'b')}`, { files: { 'merge.md': own } })
    expect(lastOf(filled.asked.at(-1) as ModelRequest)).toBe('[a: a says so][b: b says so]')
  })

  it('a program gets the answers as text', async () => {
    const join = `[agents.join]\ncommand = "sh"\nargs = ["-c", "grep -c 'answer member'; exit 0"]\nsandbox.mode = "danger-full-access"\n`
    const front = `[ensemble]\naggregator = "join"\n${models('a', 'b')}`
    const { task } = await run(front, { files: { '.state/config/config.toml': join } })
    expect(contentOf(task)).toBe('2')
  })

  it('can be members: a prompt file, a Lua file and a command-line agent', async () => {
    const members = [
      'agent = "ask.md"',
      'agent = "ask.lua"',
      'name = "c"\ncommand = "sh"\nargs = ["-c", "echo it read $(wc -c)"]\nsandbox.mode = "danger-full-access"',
    ]
    const front = `[ensemble]\naggregator = "merge.lua"\n${members.map((one) => `[[ensemble.agents]]\n${one}\n`).join('')}`
    const files = {
      ...open,
      'merge.lua': merge,
      'ask.md': '+++\nmodel = "own"\n+++\nAnswer.\n',
      'ask.lua': 'return "lua: " .. input.instruction\n',
    }
    const { task, sent } = await run(front, { files })
    expect(contentOf(task)).toBe('ask=own says so ask-2=lua: What is it? c=it read 11')
    expect(ofType(sent, 'ensemble.started')[0]?.members.map(({ kind }) => kind)).toEqual(['agent', 'agent', 'command'])
  })
})

describe('members that are programs (TV40)', () => {
  const program = (name: string, script: string): string =>
    `[[ensemble.agents]]\nname = "${name}"\ncommand = "sh"\nargs = ["-c", ${JSON.stringify(script)}]\nsandbox.mode = "danger-full-access"\n`
  const merged = { ...open, 'merge.lua': 'return "merged"\n' }
  const head = `${seen}[ensemble]\naggregator = "merge.lua"\n`

  it('in an untrusted file are started only if the user allows programs to do anything', async () => {
    await expect(run(`[ensemble]\n${program('a', 'touch started')}`)).rejects.toMatchObject({
      code: 'UNTRUSTED',
      message: expect.stringContaining(
        '"ensemble.agents[0].sandbox.mode" may not be "danger-full-access" in SPEC-1.md',
      ),
    })
    const named = '[[ensemble.agents]]\npreset = "claude"\ncommand = "./claude"\n'
    await expect(run(`[ensemble]\n${named}`)).rejects.toMatchObject({
      message: expect.stringContaining('"ensemble.agents[0].command" may not be "./claude" in SPEC-1.md'),
    })
  })

  it('one crashes and one cannot be started: only these are missing', async () => {
    const missing =
      '[[ensemble.agents]]\nname = "d"\ncommand = "no-such-program"\nsandbox.mode = "danger-full-access"\n'
    const front = `${head}${program('a', 'echo a')}${program('b', 'echo b')}${program('c', 'exit 7')}${missing}`
    const { folder, task } = await run(front, { files: { ...merged, ...seenFile } })
    expect(contentOf(task)).toBe('merged')
    const { members, degraded } = seenIn(folder)
    expect(degraded).toBe(true)
    expect(members).toMatchObject([
      { status: 'answered', content: 'a' },
      { status: 'answered', content: 'b' },
      { status: 'failed', error: { reason: 'AGENT_CRASHED', message: expect.stringContaining('7') } },
      {
        status: 'failed',
        error: { reason: 'AGENT_SPAWN_FAILED', message: expect.stringContaining('no-such-program') },
      },
    ])
  })

  it('run concurrently, and each answer counts when it arrives (R270, R274)', async () => {
    // each ends only when all have started, and one after the other
    const waits = (...names: readonly string[]): string =>
      names.map((name) => `until [ -s ${name} ]; do sleep 0.02; done`).join('; ')
    const all = waits('a.pid', 'b.pid', 'c.pid')
    const front = [
      program('a', `echo $$ > a.pid; ${all}; ${waits('c.completed')}; echo a`),
      program('b', `echo $$ > b.pid; ${all}; echo b`),
      program('c', `echo $$ > c.pid; ${all}; ${waits('b.completed')}; echo c`),
    ]
    const { folder, sent } = await run(`${head}timeout = "60s"\n${front.join('')}`, {
      files: { ...merged, ...seenFile },
      onEvent(event, workspace) {
        if (event.type === 'member.completed') writeFileSync(join(workspace, `${event.name}.completed`), 'x')
      },
    })
    expect(seenIn(folder)).toMatchObject({
      degraded: false,
      members: [{ content: 'a' }, { content: 'b' }, { content: 'c' }],
    })
    expect(ofType(sent, 'member.completed').map(({ name }) => name)).toEqual(['b', 'c', 'a'])
  })

  it('are killed with their child processes if they hang, and one answer is too few', async () => {
    const hang = (name: string): string => program(name, `echo $$ > ${name}.pid; (sleep 60; touch ${name}.late) & wait`)
    const { folder, thrown } = await run(`${head}timeout = "5s"\n${program('a', 'echo a')}${hang('b')}${hang('c')}`, {
      files: { ...merged, ...seenFile },
    })
    expect(thrown).toMatchObject({
      code: 'LIMIT',
      message: expect.stringContaining('only 1 of 3 members of the ensemble answered, and 2 are needed'),
    })
    for (const name of ['b', 'c']) {
      const leader = Number(readFileSync(join(folder, `${name}.pid`), 'utf8'))
      expect(leader).toBeGreaterThan(1)
      expect(membersOfGroup(leader)).toEqual([])
    }
  })

  it('receive a prompt of 2,000 bytes', async () => {
    const prompt = `${'é'.repeat(996)} what?!!`
    expect(Buffer.byteLength(prompt)).toBe(2000)
    const argument = `[[ensemble.agents]]\nname = "b"\ncommand = "sh"\nargs = ["-c", "cat; echo \\"$#\\"", "sh", "{prompt}"]\nsandbox.mode = "danger-full-access"\n`
    const { folder } = await run(`${head}${program('a', 'wc -c')}${argument}`, {
      files: { ...merged, ...seenFile },
      prompt,
    })
    const [first, second] = seenIn(folder)['members'] as readonly JsonObject[]
    expect(Number(first?.['content'])).toBe(2000)
    // too long for an argument
    expect(second?.['content']).toBe(`${prompt}0`)
  })
})

/** The running processes of a group, including those whose leader has ended. A killed one may wait for its parent. */
function membersOfGroup(group: number): readonly string[] {
  const all = execFileSync('ps', ['-A', '-o', 'pgid=,stat=,args='], { encoding: 'utf8' }).split('\n')
  return all.filter((line) => {
    const [pgid, state = ''] = line.trim().split(/\s+/)
    return Number(pgid) === group && !state.startsWith('Z')
  })
}
