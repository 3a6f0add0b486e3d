import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { baton, type BatonResult, jsonLines, root } from '../helpers/baton.ts'
import { serveTree } from '../helpers/http-served.ts'
import type { ModelScript } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { hasTmux, inTmux } from '../helpers/tmux.ts'
import { callsTools, startToolModel, type ToolModel } from '../helpers/tool-model.ts'

interface World {
  readonly model: ToolModel
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Sends lines to a chat through a pipe. */
  readonly chat: (lines: readonly string[], ...args: readonly string[]) => Promise<BatonResult>
  /** What the model got in its nth request: role and text of each message except the system message. */
  readonly told: (request: number) => readonly string[]
}

async function world(replies: ModelScript, files: Readonly<Record<string, string>> = {}): Promise<World> {
  const model = await startToolModel(replies)
  const cwd = tempTree({ 'baton.toml': 'model = "m"\n', ...files })
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: tempTree() }
  return {
    model,
    cwd,
    env,
    chat: (lines, ...args) => baton(['chat', ...args], { cwd, env, input: lines.map((line) => `${line}\n`).join('') }),
    told: (request) =>
      (model.requests.at(request)?.body?.messages ?? [])
        .filter(({ role }) => role !== 'system')
        .map(({ role, content }) => `${role}: ${content ?? ''}`),
  }
}

it('includes earlier messages in each request, with calls and results of tools, also through a pipe (R191, R192)', async () => {
  const replies = [
    callsTools(['read', { path: 'a.txt' }]),
    { text: 'It says hi.' },
    { text: 'Yes, hi.' },
    { text: 'Third.' },
  ]
  const { chat, told, model } = await world(replies, { 'a.txt': 'hi\n' })
  const { stdout, code } = await chat(['What is in a.txt?', 'Are you \\', 'sure?', 'And {{this}}?'])
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'It says hi.\nYes, hi.\nThird.\n' })
  expect(told(3)).toEqual([
    'user: What is in a.txt?',
    'assistant: ',
    'tool: 1\thi',
    'assistant: It says hi.',
    'user: Are you \nsure?',
    'assistant: Yes, hi.',
    'user: And {{this}}?',
  ])
  expect(model.offered()).toContain('read')
})

it('is continued by another process, listed, and each message is a run that records only the new messages', async () => {
  const { chat, told, cwd, env } = await world([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }])
  await chat(['First'])
  await chat(['Second'], '--continue')
  const list = await baton(['chat', '--list', '--json'], { cwd, env })
  const [{ id, messages } = {}] = jsonLines(list.stdout)
  expect(messages).toBe(2)
  const last = await chat(['Third'], '--resume', String(id))
  expect(last.stdout).toBe('Three.\n')
  expect(told(2)).toEqual(['user: First', 'assistant: One.', 'user: Second', 'assistant: Two.', 'user: Third'])
  const tree = await baton(['runs', 'show', 'last'], { cwd, env })
  expect(tree.stdout).toContain('task/0  Third')
  const shown = await baton(['runs', 'show', 'last', '--place', 'task/0/agent/ask/turn/0#0'], { cwd, env })
  expect(shown.stdout).toContain('(4 earlier messages: see the previous turns)')
  expect(shown.stdout).not.toContain('First')
})

it('"always" in a chat applies to its next messages', async () => {
  const todo = callsTools(['todo', { todos: [] }])
  const replies = [todo, { text: 'One.' }, todo, { text: 'Two.' }, todo]
  const { chat, cwd, env } = await world(replies)
  const asks = ['-c', 'permission.todo=ask', '--on-ask', 'suspend']
  const waits = await chat(['First'], ...asks)
  expect([waits.code, waits.stdout], waits.stderr).toEqual([5, ''])
  const approved = await baton(['approve', '--always'], { cwd, env })
  expect(approved, approved.stderr).toMatchObject({ code: 0, stdout: 'One.\n' })
  const next = await chat(['Second'], '--continue', ...asks)
  expect(next, next.stderr).toMatchObject({ code: 0, stdout: 'Two.\n' })
  // another chat asks again
  const other = await chat(['Third'], ...asks)
  expect(other.code, other.stderr).toBe(5)
})

it('a message may be as long as a document', async () => {
  const { chat, told } = await world([{ text: 'One.' }, { text: 'Two.' }])
  const long = 'word '.repeat(100_000).trim()
  await chat([long, '/mode classic'])
  await chat(['And?'], '--continue')
  expect(told(1)).toEqual([`user: ${long}`, 'assistant: One.', 'user: And?'])
})

it('/iter iterates on a prompt, and reports how many of its iterations succeeded (R4, R88, TV13)', async () => {
  const texts = ['Hello.', 'Round one.', 'Round two.', 'Bye.', 'Round three.']
  const { chat, told } = await world(texts.map((text) => ({ text })))
  const { stderr, code } = await chat(['Hi', '/iter 2 "Improve it"', 'And?', '/iter --with-chat 1 "Go on"'])
  expect(code).toBe(0)
  // iterations are on their own, unless the user wants it otherwise
  expect(told(1)).toEqual([expect.stringMatching(/\nImprove it$/)])
  expect(told(2)).toEqual([expect.stringMatching(/\nImprove it/)])
  expect(told(4).slice(0, 2)).toEqual(['user: Hi', 'assistant: Hello.'])
  expect(stderr).toContain('Iterations: 2/2 succeeded (0 failed)\n')
  expect(stderr).toContain('Completed: 2/2 iterations\n')
  expect(told(3)).toEqual(['user: Hi', 'assistant: Hello.', 'user: Improve it', 'assistant: Round two.', 'user: And?'])
})

it('/iter --background prints its id before its first answer, and the chat continues meanwhile (R5, R87, TV13)', async () => {
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  // which of the two asks first is undetermined
  const { chat, cwd, env } = await world(({ body }) =>
    JSON.stringify(body?.messages).includes('Take your time') ? { text: 'Slow.', gate } : { text: 'Quick.' },
  )
  await chat(['Hi'])
  const ended = baton(['chat', '--continue'], {
    cwd,
    env,
    input: '/iter --background 1 "Take your time"\n/tasks\nStill there?\n',
    onOutput: (stdout) => void (stdout.includes('Quick.') && open()),
  })
  const { stdout, stderr } = await ended
  expect(stdout).toBe('Quick.\n')
  const [, id = ''] = /^Started iterative task: (\S+)$/m.exec(stderr) ?? []
  expect(stderr).toContain(`${id}  running, 0 iterations  Take your time`)
  expect(stderr).toContain(`background ${id} done, 1/1 iterations succeeded: Take your time`)
})

it('a message that was killed is resumed by --continue, and no answer is paid again', async () => {
  const { chat, cwd, env, model, told } = await world(
    [
      { text: 'One.' },
      callsTools(['read', { path: 'a.txt' }]),
      { text: 'Never seen', stallAfter: 1 },
      { text: 'It says hi.' },
      { text: 'Bye.' },
    ],
    { 'a.txt': 'hi\n' },
  )
  await chat(['First'])
  await baton(['chat', '--continue', '--json'], {
    cwd,
    env,
    input: 'Read a.txt\n',
    onOutput: (stdout, kill) => void (stdout.includes('"item.delta"') && kill('SIGKILL')),
  })
  const { stdout, stderr } = await chat(['Bye'], '--continue')
  expect(stderr).toContain('the last message was interrupted; resuming it')
  expect(stdout).toBe('It says hi.\nBye.\n')
  expect(model.requests).toHaveLength(5)
  expect(told(4)).toEqual([
    'user: First',
    'assistant: One.',
    'user: Read a.txt',
    'assistant: ',
    'tool: 1\thi',
    'assistant: It says hi.',
    'user: Bye',
  ])
})

const chained = (chain: string): string => `+++
model = "m"
sub_agents = [{ name = "shout.lua", stages = ["pre"] }]

[chat]
chain = "${chain}"
+++
Review it.
`
const shout = `return { coder_prompts = { string.upper(CTX ~= nil and input.coder_prompts[1] or input.coder_prompts[1]) } }\n`

it.each([
  ['each', 'user: AND NOW'],
  ['once', 'user: And now'],
] as const)('begins with a prompt file, whose chain processes %s message', async (chain, last) => {
  const { chat, told } = await world([{ text: 'Done.' }, { text: 'More.' }], {
    'review.md': chained(chain),
    'shout.lua': shout,
  })
  const { stdout } = await chat(['And now'], 'review.md')
  expect(stdout).toBe('Done.\nMore.\n')
  expect(told(1)).toEqual(['user: REVIEW IT.', 'assistant: Done.', last])
})

it('is summarized when it has become long, and the earlier messages stay recorded', async () => {
  const usage = { prompt_tokens: 5000, completion_tokens: 10, total_tokens: 5010 }
  const { chat, told, model } = await world([
    { text: 'Long.', usage },
    { text: 'We spoke of A.' },
    { text: 'B it is.' },
  ])
  const { stdout, stderr } = await chat(['Tell me of A', 'And B?'], '-c', 'chat.compact_at=4000')
  expect(stderr).toContain('the chat has become long: summarizing it')
  expect(stdout).toBe('Long.\nWe spoke of A.\nB it is.\n')
  expect(told(1).slice(0, 2)).toEqual(['user: Tell me of A', 'assistant: Long.'])
  expect(told(2)).toEqual(['user: This is a summary of our conversation so far:\n\nWe spoke of A.', 'user: And B?'])
  expect(model.requests[1]?.body?.['tools']).toBeUndefined()
})

it('is summarized by the model that answers, also if the prompt file names it', async () => {
  const usage = { prompt_tokens: 5000, completion_tokens: 10, total_tokens: 5010 }
  const replies = [{ text: 'Long.', usage }, { text: 'We spoke of A.' }, { text: 'B it is.' }]
  const { chat, model } = await world(replies, {
    'own.md': '+++\nmodel = "own"\n[chat]\ncompact_at = 4000\n+++\nTell me of A.\n',
    'baton.toml': '',
  })
  const { stdout } = await chat(['And B?'], 'own.md')
  expect(stdout).toBe('Long.\nWe spoke of A.\nB it is.\n')
  expect(model.requests.map(({ body }) => body?.model)).toEqual(['own', 'own', 'own'])
})

it('/mode, /model and /collab apply to the messages that follow, also when the chat is continued (R6, R209, R213)', async () => {
  const { chat, model } = await world([{ text: 'a' }, { text: 'b' }, { text: 'c' }])
  await chat(['One', '/mode code', '/model other', '/collab on', 'Two'])
  await chat(['Three'], '--continue')
  const [one, two, three] = model.requests.map(({ body }) => body)
  expect(one?.model).toBe('m')
  expect([two?.model, three?.model]).toEqual(['other', 'other'])
  expect(JSON.stringify(one)).not.toContain('spawn_agent')
  expect(JSON.stringify(two)).toContain('spawn_agent')
  expect(JSON.stringify(three?.messages[0])).toBe(JSON.stringify(two?.messages[0]))
  expect(JSON.stringify(one?.messages[0])).not.toBe(JSON.stringify(two?.messages[0]))
})

it('/mode refuses an unknown mode at once, and the mode does not change', async () => {
  const { chat, model } = await world([{ text: 'a' }, { text: 'b' }])
  const { stdout, stderr, code } = await chat(['One', '/mode coed', '/mode', 'Two'])
  expect({ stdout, code }).toEqual({ stdout: 'a\nb\n', code: 0 })
  expect(stderr).toContain('error: Unknown execution mode: "coed"')
  expect(stderr).toContain('hint: Did you mean "code"?')
  expect(stderr).toContain('mode: from the settings (default: classic)')
  expect(model.requests).toHaveLength(2)
  expect((await chat(['/mode nope'])).code).toBe(2)
})

it('stdout contains the outputs of programs in code mode, each once, but not the programs', async () => {
  const programs = [
    'output("hello"); output("from here\\n")',
    'output("again"); done()',
    ...Array.from({ length: 2 }, () => 'log(1)'),
  ]
  const { chat } = await world(programs.map((text) => ({ text })))
  const { stdout, code } = await chat(['One', 'Two'], '--mode', 'code', '-c', 'max_rounds=2')
  expect({ stdout, code }).toEqual({
    // a pipe ends with the exit code of its last message, which was stopped by its limit
    code: 4,
    stdout: 'hello\n\nfrom here\n\n\nagain\n(Reached maximum iterations without done() being called)\n',
  })
})

it('/undo reverts the changes of the last message, and the model is told; /save writes a prompt file', async () => {
  const write = callsTools(['write', { path: 'new.txt', content: 'x\n' }])
  const { chat, cwd, told } = await world([write, { text: 'Made.' }, { text: 'Understood.' }])
  const { stdout } = await chat(['Make new.txt', '/undo', 'Now?', '/save talk'], '-y')
  expect(existsSync(join(cwd, 'new.txt'))).toBe(false)
  expect(stdout).toContain('removed new.txt\n')
  expect(told(2).at(-1)).toBe('user: [I have undone the file changes of an earlier answer (all of them).]\n\nNow?')
  expect(readFileSync(join(cwd, 'talk.md'), 'utf8')).toContain('Make new.txt')
  expect(readFileSync(join(cwd, 'talk.md'), 'utf8')).toMatch(/\n====\n\nUnderstood\.\n$/)
})

describe('going back', () => {
  const write = (path: string, content: string) => callsTools(['write', { path, content }])
  const begun = [
    { text: 'Hello.' },
    write('a.txt', 'one\n'),
    { text: 'Made.' },
    callsTools(
      ['edit', { path: 'a.txt', old_text: 'one', new_text: 'two' }],
      ['write', { path: 'b.txt', content: 'b\n' }],
    ),
    { text: 'Changed.' },
  ]
  const untilMade = [
    'user: Hi',
    'assistant: Hello.',
    'user: Make a',
    'assistant: ',
    expect.any(String),
    'assistant: Made.',
  ]

  it('/rewind N restores the files of the runs after it, and no later message knows them, in whichever process', async () => {
    const { chat, cwd, told } = await world([...begun, { text: 'Next.' }, { text: 'More.' }])
    const lines = ['Hi', 'Make a', 'Change a', '/rewind', '/rewind 7', '/rewind 2', 'Next?']
    const { stderr, code } = await chat(lines, '-y')
    expect({ code, stderr }, stderr).toMatchObject({ code: 0 })
    expect(stderr).toContain('1  Hi\n2  Make a  1 file changed\n3  Change a  2 files changed\n/rewind N goes back')
    expect(stderr).toContain('error: "7" is not the number of a message (0 to 3)')
    expect(stderr).toContain('restored a.txt, b.txt\nwent back to message 2: Make a\n')
    expect([readFileSync(join(cwd, 'a.txt'), 'utf8'), existsSync(join(cwd, 'b.txt'))]).toEqual(['one\n', false])
    expect(told(5)).toEqual([...untilMade, 'user: Next?'])
    await chat(['More?'], '--continue')
    expect(told(6)).toEqual([...untilMade, 'user: Next?', 'assistant: Next.', 'user: More?'])
  })

  it('/rewind changes nothing if a file has changed since, unless all files are to stay as they are', async () => {
    const made = callsTools(
      ['write', { path: 'a.txt', content: 'one\n' }],
      ['write', { path: 'c.txt', content: 'c\n' }],
    )
    const { chat, cwd, told } = await world([...begun.with(1, made), { text: 'Next.' }])
    await chat(['Hi', 'Make a', 'Change a'], '-y')
    // the newer run could be undone, the older one cannot
    writeFileSync(join(cwd, 'c.txt'), 'mine\n')
    const refused = await chat(['/rewind 1'], '--continue')
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain(
      'nothing was changed, because files cannot be restored: c.txt (it has changed since',
    )
    expect(refused.stderr).toContain('hint: /rewind N --keep-files goes back')
    const files = ['a.txt', 'b.txt', 'c.txt'].map((name) => readFileSync(join(cwd, name), 'utf8'))
    expect(files).toEqual(['two\n', 'b\n', 'mine\n'])
    const { stdout } = await chat(['/rewind 2 --keep-files', 'Next?'], '--continue')
    expect(stdout).toBe('Next.\n')
    expect(['a.txt', 'b.txt', 'c.txt'].map((name) => readFileSync(join(cwd, name), 'utf8'))).toEqual(files)
    expect(told(5).at(-2)).toBe('assistant: Made.')
    expect(told(5).at(-1)).toContain('[We went back to this point of our conversation')
  })

  it('/fork N and --fork continue in a copy, and the original stays as it is', async () => {
    const texts = ['One.', 'Two.', 'Three.', 'Four.', 'Five.']
    const { chat, cwd, env, told } = await world(texts.map((text) => ({ text })))
    await chat(['First', 'Second', '/fork 1', 'Third'])
    expect(told(2)).toEqual(['user: First', 'assistant: One.', 'user: Third'])
    const list = jsonLines((await baton(['chat', '--list', '--json'], { cwd, env })).stdout)
    expect(list).toMatchObject([
      { messages: 2, text: 'First' },
      { messages: 2, text: 'First' },
    ])
    await chat(['Fourth'], '--resume', String(list[1]?.['id']))
    expect(told(3)).toEqual(['user: First', 'assistant: One.', 'user: Second', 'assistant: Two.', 'user: Fourth'])
    await chat(['Fifth'], '--resume', String(list[0]?.['id']), '--fork')
    expect(told(4)).toEqual(['user: First', 'assistant: One.', 'user: Third', 'assistant: Three.', 'user: Fifth'])
    const counts = jsonLines((await baton(['chat', '--list', '--json'], { cwd, env })).stdout)
    expect(counts.map(({ messages }) => messages)).toEqual([3, 3, 2])
    const lost = await chat(['x'], '--fork')
    expect([lost.code, lost.stderr]).toEqual([2, expect.stringContaining('--fork needs the chat to copy')])
  })
})

it('!command runs a command, and the model is told its output; a denied one is refused', async () => {
  const { chat, told } = await world([{ text: 'Seen.' }])
  const { stdout, stderr } = await chat(
    ['!echo out; exit 3', '!rm x', 'What happened?'],
    '-c',
    'permission.bash."rm *"=deny',
  )
  expect(stdout).toBe('Seen.\n')
  expect(stderr).toContain('out\nexit code 3\n')
  expect(stderr).toContain('error: [permission] denies this command: rm x')
  expect(told(0)).toEqual([
    'user: [I ran the command echo out; exit 3 (exit code 3), which printed:\nout]\n\nWhat happened?',
  ])
})

it('a file in commands/ is a command, available without a restart, with a model and tools for its message alone', async () => {
  const { chat, model, told } = await world([{ text: 'a' }, { text: 'b' }], {
    'commands/review.md':
      '+++\ndescription = "reviews"\ntools = ["read", "bash"]\nmodel = "other"\n+++\nReview $1 for $ARGUMENTS\n',
  })
  const { stderr } = await chat(
    [
      '/review a.js "odd names"',
      '/help',
      '!mkdir -p commands; printf "+++\\nmodle = 1\\n+++\\nx" > commands/bad.md',
      '/bad',
      'More',
    ],
    '-c',
    'tools=["read","grep"]',
  )
  expect(told(0)).toEqual(['user: Review a.js for a.js "odd names"'])
  expect(model.requests.map(({ body }) => body?.model)).toEqual(['other', 'm'])
  const offered = model.requests.map(({ body }) =>
    JSON.stringify(body?.['tools']).match(/(?<="function":\{"name":")\w+/g),
  )
  expect(offered).toEqual([['read'], ['read', 'grep']])
  expect(stderr).toMatch(/\/review\s+reviews/)
  expect(stderr).toContain('commands/bad.md:2')
  expect(stderr).toContain('error: there is no command /bad')
})

it('a failed message ends only a pipe, by its exit code, and an unknown command is reported', async () => {
  const { chat } = await world([{ status: 400, body: { error: { message: 'no' } } }])
  const { code, stderr } = await chat(['/itre 5 x', 'Hello'])
  expect(stderr).toContain('error: there is no command /itre')
  expect(code).toBe(1)
})

it('a pipe without messages to a file with an error ends with the exit code of that error', async () => {
  const { chat } = await world([], { 'bad.md': '+++\nmodel = any\n+++\nHi\n' })
  const { code, stderr } = await chat([], 'bad.md')
  expect(stderr).toContain('bad.md:2:9')
  expect(code).toBe(2)
})

it('an agent file cannot be used for a chat', async () => {
  const { chat } = await world([], { 'a.aip': '# Output\n\n```lua\nreturn 1\n```\n' })
  const { code, stderr } = await chat(['Hello'], 'a.aip')
  expect(stderr).toContain('a.aip is an agent, and an agent cannot be used as a chat')
  expect(code).toBe(2)
})

it.skipIf(!hasTmux)('works in a terminal: lines, a paste, an approval, Ctrl-C, the history (needs tmux)', async () => {
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  onTestFinished(() => open())
  const { model, cwd, env } = await world([
    { text: 'Two lines.' },
    callsTools(['write', { path: 'new.txt', content: 'x\n' }]),
    { text: 'Made.' },
    { text: 'never', gate },
    { text: 'Again.' },
  ])
  const command = `'${process.execPath}' '${join(root, 'dist/bin/baton.js')}' chat`
  const { lines, type, paste } = inTmux(command, { ...env, BATON_LOCAL_SERVERS: 'off', NO_COLOR: '1' }, cwd, 50)
  const until = (line: string): Promise<void> =>
    vi.waitFor(() => expect(lines()).toContain(line), { timeout: 20_000, interval: 100 })
  await until('>')
  paste('one\ntwo')
  await until('> one␊two')
  type('Enter')
  await until('Two lines.')
  type('make it', 'Enter')
  await vi.waitFor(() => expect(lines().at(-1)).toMatch(/^allow it\?/), { timeout: 20_000, interval: 100 })
  expect(lines()).toContain('+x')
  type('y', 'Enter')
  await until('Made.')
  expect(readFileSync(join(cwd, 'new.txt'), 'utf8')).toBe('x\n')
  type('slow', 'Enter')
  await vi.waitFor(() => expect(model.requests).toHaveLength(4), { timeout: 20_000, interval: 100 })
  type('C-c')
  await until('stopped')
  type('Up')
  await until('> slow')
  type('Enter')
  await until('Again.')
  type('/exit', 'Enter')
  await until('code 0')
  expect(
    model.requests
      .at(-1)
      ?.body?.messages.filter(({ role }) => role === 'user')
      .map(({ content }) => content),
  ).toEqual(['one\ntwo', 'make it', 'slow', 'slow'])
})

it.skipIf(!hasTmux)('sends lines typed with Enter while a message was answered (needs tmux)', async () => {
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  onTestFinished(() => open())
  const { model, cwd, env } = await world([{ text: 'One.', gate }, { text: 'Two.' }])
  const command = `'${process.execPath}' '${join(root, 'dist/bin/baton.js')}' chat`
  const { lines, type } = inTmux(command, { ...env, BATON_LOCAL_SERVERS: 'off', NO_COLOR: '1' }, cwd, 50)
  const patience = { timeout: 20_000, interval: 100 }
  await vi.waitFor(() => expect(lines()).toContain('>'), patience)
  type('first', 'Enter')
  await vi.waitFor(() => expect(model.requests).toHaveLength(1), patience)
  type('second', 'Enter')
  open()
  await vi.waitFor(() => expect(lines()).toContain('Two.'), patience)
})

it('is open in one process only: another one, also the server, is refused with the name of the first, until that ends or is killed', async () => {
  const { chat, cwd, env, told } = await world([
    { text: 'One.' },
    { text: 'Two.' },
    { text: 'Three.' },
    { text: 'Four.' },
    { text: 'Five.' },
  ])
  await chat(['First'])
  const [{ id } = {}] = jsonLines((await baton(['chat', '--list', '--json'], { cwd, env })).stdout)
  const command = [join(root, 'dist/bin/baton.js'), 'chat', '--continue']
  const open = async () => {
    const child = spawn(process.execPath, command, { cwd, env: { PATH: process.env['PATH'], ...env } })
    onTestFinished(() => void child.kill('SIGKILL'))
    let stdout = ''
    child.stdout.on('data', (text: Buffer) => (stdout += text.toString()))
    return { child, says: (text: string) => vi.waitFor(() => expect(stdout).toContain(text), { timeout: 20_000 }) }
  }
  const first = await open()
  first.child.stdin.write('Second\n')
  await first.says('Two.')

  for (const args of [['--continue'], ['--resume', String(id)]]) {
    const refused = await chat(['Lost'], ...args)
    expect([refused.code, refused.stdout]).toEqual([2, ''])
    expect(refused.stderr).toContain(
      `error: chat ${String(id)} is open in process ${first.child.pid} (baton chat in ${cwd}`,
    )
  }
  const served = await serveTree({}, { place: { folder: cwd, home: env['BATON_HOME'] ?? '' }, env })
  const ask = () => served.post('/prompt', { input: 'Served', conversationId: String(id) })
  expect(await ask()).toMatchObject({
    status: 409,
    body: {
      error: { message: expect.stringContaining(`is open in process ${first.child.pid} (baton chat in ${cwd}`) },
    },
  })
  // another chat is not in the way
  expect((await chat(['Other'])).stdout).toBe('Three.\n')

  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  expect((await ask()).status).toBe(202)
  // the server has it until it is closed there
  const refused = await chat(['Lost'], '--resume', String(id))
  expect([refused.code, refused.stdout]).toEqual([2, ''])
  expect(refused.stderr).toContain(`POST /api/conversations/${String(id)}/close`)
  const close = () => served.post(`/api/conversations/${String(id)}/close`)
  await expect.poll(close, { timeout: 20_000 }).toEqual({ status: 200, body: { closed: true } })
  await vi.waitFor(async () => expect((await chat(['Third'], '--resume', String(id))).stdout).toBe('Five.\n'), {
    timeout: 20_000,
  })
  expect(told(-1)).toEqual([
    'user: First',
    'assistant: One.',
    'user: Second',
    'assistant: Two.',
    'user: Served',
    'assistant: Four.',
    'user: Third',
  ])
})
