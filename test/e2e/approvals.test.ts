import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { baton, type BatonResult } from '../helpers/baton.ts'
import { type ModelReply, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { inTerminal } from '../helpers/pty.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools } from '../helpers/tool-model.ts'

interface World {
  readonly server: ModelServer
  readonly cwd: string
  readonly env: { readonly BATON_GATEWAY_URL: string; readonly BATON_HOME: string }
  readonly run: (...args: readonly string[]) => Promise<BatonResult>
  /** The tool results of all requests, each once. */
  readonly told: () => readonly string[]
}

const prompt = '+++\nmodel = "m"\ntools = ["todo"]\ntemplate = true\n+++\n{{data.task.input}}\n'
const asking = '[permission]\ntodo = "ask"\n'

/** A model that calls `todo` once for each word of its prompt, and then ends with the result of the last call. */
async function world(files: { readonly [path: string]: string } = {}): Promise<World> {
  const server = await startModelServer(({ body }): ModelReply => {
    const messages = body?.messages ?? []
    const words = (messages.find(({ role }) => role === 'user')?.content ?? '').trim().split(' ')
    const results = messages.filter(({ role }) => role === 'tool')
    const next = words[results.length]
    if (next === undefined) return { text: `${words[0]} ends: ${results.at(-1)?.content}` }
    return callsTools(['todo', { todos: [{ content: next, status: 'pending' }] }])
  })
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', 'ask.md': prompt, ...files })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree({ 'config/config.toml': asking }) }
  return {
    server,
    cwd,
    env,
    run: (...args) => baton(args, { cwd, env }),
    told() {
      const all = server.requests.flatMap(({ body }) => body?.messages ?? [])
      return [...new Set(all.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])))]
    },
  }
}

interface Listed {
  readonly approvals: readonly { readonly id: string; readonly input: unknown }[]
}

function idIn({ stderr }: Pick<BatonResult, 'stderr'>): string {
  return /baton (?:resume|approve) (\S+)/.exec(stderr)?.[1] ?? ''
}

it('two tasks wait; one call is approved and one rejected by other processes, and nothing is asked or paid twice', async () => {
  const { server, run, told } = await world()
  const waits = await run('ask.md', '-i', 'one', '-i', 'two', '--on-ask', 'suspend')
  const id = idIn(waits)
  expect([waits.code, waits.stdout, server.requests.length]).toEqual([5, '', 2])
  expect(waits.stderr).toContain('waiting for approval: 2 calls\n')

  // listed, for users and for programs
  expect((await run('runs', '--waiting')).stdout).toContain(`reject:  baton reject ${id} 1 --reason "…"`)
  const listed = JSON.parse((await run('runs', '--waiting', '--json')).stdout) as Listed
  expect(listed).toMatchObject({ id, status: 'waiting_for_approval' })
  // concurrent tasks may ask in any order
  const [first, second] = ['one', 'two'].map((word) =>
    listed.approvals.find(({ input }) => JSON.stringify(input).includes(word)),
  )
  const place = 'task/0/agent/ask/turn/0/tool/0:todo'
  expect(first).toMatchObject({ place, tool: 'todo', input: { todos: [{ content: 'one', status: 'pending' }] } })
  const two = second?.id ?? ''
  expect([first?.id, two].toSorted()).toEqual(['1', '2'])
  expect(waits.stderr).toContain(
    `  todos: [{"content":"two","status":"pending"}]\n  approve: baton approve ${id} ${two}\n`,
  )
  expect((await run('runs', 'show', id)).stdout).toContain(`approve: baton approve ${id} 1`)
  expect((await run('runs', '--waiting', '--ids')).stdout).toBe(`${id}\n`)
  // what completion offers
  expect((await run('__complete', 'bash', '--', 'baton approve ')).stdout).toBe(`\n${id}\n`)
  expect((await run('__complete', 'bash', '--', `baton reject --reason x ${id} `)).stdout).toBe('\n1\n2\n')

  const several = await run('approve')
  expect([several.code, several.stderr]).toEqual([2, expect.stringContaining(`run ${id} has 2 pending calls`)])
  const recorded = await run('reject', id, two, '--reason', 'not today', '--no-resume')
  expect([recorded.code, recorded.stdout]).toEqual([0, expect.stringContaining(`rejected ${two}  todo`)])
  const twice = await run('approve', id, two)
  expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining(`call ${two} of run`)])
  expect(twice.stderr).toContain('is already decided: rejected')
  const unknown = await run('approve', id, '7')
  expect([unknown.code, unknown.stderr]).toEqual([
    2,
    expect.stringContaining(`run ${id} is not waiting for approval of call 7`),
  ])
  expect(server.requests.length).toBe(2)

  // the only waiting run, and its only pending call
  const done = await run('approve')
  expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining(`approved ${first?.id}  todo  ${place}\n`) })
  expect(done.stdout).toContain('one ends: - [ ] one')
  expect(done.stdout).toContain('two ends: Error: rejected by the user: not today')
  expect(told()).toHaveLength(2)
  expect(server.requests.length).toBe(4)
  expect((await run('runs', '--waiting')).stderr).toBe('no run of this workspace waits for approval\n')
})

it('a suspended run ends with the open calls in the last event, and reports questions and decisions', async () => {
  const { run } = await world()
  const events = (result: BatonResult): readonly { readonly type: string }[] =>
    result.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly type: string })
  const suspended = events(await run('ask.md', '-i', 'one', '--on-ask', 'suspend', '--json'))
  const call = { id: '1', tool: 'todo', input: { todos: [{ content: 'one', status: 'pending' }] } }
  expect(suspended.find(({ type }) => type === 'approval.requested')).toMatchObject({ agent: 'task/0/ask', ...call })
  expect(suspended.some(({ type }) => type === 'approval.decided')).toBe(false)
  expect(suspended.at(-1)).toMatchObject({ stop_reason: 'waiting_for_approval', exit_code: 5, approvals: [call] })

  // a pending question stays pending if nobody can be asked, and `--on-ask deny` denies it
  const again = await run('resume', '--last')
  expect([again.code, again.stderr]).toEqual([5, expect.stringContaining('waiting for approval: 1 call\n')])
  const denied = events(await run('resume', '--last', '--on-ask', 'deny', '--json'))
  expect(denied.at(-1)).toMatchObject({ exit_code: 0, permission_denials: [{ tool: 'todo' }] })
})

it('an answer for a run of another installation, or an unknown one, is refused', async () => {
  const all = await world()
  const { run, cwd, env } = all
  expect((await run('approve', 'nothing')).stderr).toContain('there is no run of this workspace yet')
  const id = idIn(await run('ask.md', '-i', 'one', '--on-ask', 'suspend'))
  const unknown = await run('approve', '19990101-000000-abcdef')
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('there is no run 19990101-000000-abcdef')])

  const elsewhere = tempTree({ 'config/config.toml': asking })
  cpSync(join(env.BATON_HOME, 'state/runs'), join(elsewhere, 'state/runs'), { recursive: true })
  for (const command of ['approve', 'reject']) {
    const foreign = await baton([command, id, '--no-resume'], { cwd, env: { ...env, BATON_HOME: elsewhere } })
    expect([foreign.code, foreign.stderr]).toEqual([
      6,
      expect.stringContaining(`run ${id} was not recorded by this installation`),
    ])
  }
  expect((await run('runs', '--waiting')).stdout).toContain(id)
})

it('a run that was undone accepts no answer until the undo is undone', async () => {
  const file = '+++\nmodel = "m"\ntools = ["write", "todo"]\nwrite_mode = true\n+++\nGo.\n'
  const server = await startModelServer([
    callsTools(['write', { path: 'a.txt', content: 'a' }]),
    callsTools(['todo', { todos: [{ content: 'b', status: 'pending' }] }]),
    { text: 'Done.' },
  ])
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', 'go.md': file })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree({ 'config/config.toml': asking }) }
  const run = (...args: readonly string[]): Promise<BatonResult> => baton(args, { cwd, env })
  const id = idIn(await run('go.md', '--on-ask', 'suspend'))
  expect((await run('undo', id)).code).toBe(0)
  const refused = await run('approve', id)
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining(`the changes of run ${id} were undone by`),
  ])
  expect((await run('undo')).code).toBe(0)
  expect(await run('approve', id)).toMatchObject({ code: 0, stdout: 'Done.\n' })
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('a')
})

it('"always" applies to the same subject until the run has ended, also in later processes', async () => {
  const { run, server } = await world()
  const waits = await run('ask.md', '-i', 'one two three', '--on-ask', 'suspend')
  expect(waits.code).toBe(5)
  const done = await run('approve', '--always')
  expect([done.code, done.stdout]).toEqual([0, 'one ends: - [ ] three\n'])
  expect(server.requests.length).toBe(4)
  // another run asks again
  expect((await run('ask.md', '-i', 'one', '--on-ask', 'suspend')).code).toBe(5)
})

it('a question that is older than timeouts.approval counts as denied, and the model is told', async () => {
  const { run, told, server } = await world()
  const waits = await run('ask.md', '-i', 'one', '--on-ask', 'suspend', '-c', 'timeouts.approval=300ms')
  await new Promise((resolve) => setTimeout(resolve, 350))
  const late = await run('approve')
  expect([waits.code, late.code, server.requests.length]).toEqual([5, 2, 1])
  expect(late.stderr).toContain('call 1 could only be approved until 2')
  const done = await run('resume', '--last', '--on-ask', 'suspend')
  expect([done.code, told()]).toEqual([0, ['Error: permission denied: nobody has answered for 300 ms']])
})

it('an approved change that would be different by now is not made: the new one is asked about', async () => {
  const change =
    'Done.\n\n<FILE_CHANGES>\n<FILE_PATCH file_path="a.txt">\n@@\n-one\n+two\n</FILE_PATCH>\n</FILE_CHANGES>'
  const server = await startModelServer(() => ({ text: change }))
  onTestFinished(() => server.close())
  const files = {
    '.git/HEAD': 'ref: refs/heads/main\n',
    'ask.md': '+++\nmodel = "m"\nwrite_mode = "ask"\ncontext_globs = ["*.txt"]\n+++\nChange it.\n',
    'a.txt': 'zero\none\n',
  }
  const cwd = tempTree(files)
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree() }
  const run = (...args: readonly string[]): Promise<BatonResult> => baton(args, { cwd, env })
  const waits = await run('ask.md', '--on-ask', 'suspend')
  expect(waits.stderr).toMatch(
    /^1 {2}write .*\n {2}│ Done\.\n {2}path: a\.txt\n(?:.*\n)* zero\n-one\n\+two\n {2}approve:/m,
  )
  await run('approve', '--no-resume')
  writeFileSync(join(cwd, 'a.txt'), 'other\none\n')
  const again = await run('resume', '--last', '--on-ask', 'suspend')
  expect([again.code, again.stderr]).toEqual([5, expect.stringContaining('\n other\n-one\n+two\n')])
  expect((await run('approve')).code).toBe(0)
  expect([readFileSync(join(cwd, 'a.txt'), 'utf8'), server.requests.length]).toEqual(['other\ntwo\n', 2])
})

/** The answers to the questions on a terminal, in the order in which they appear. */
async function onTerminal(
  { cwd, env }: World,
  command: string,
  answers: readonly (string | ((process: number) => void))[],
): Promise<{ readonly code: number | null; readonly text: string }> {
  let given = 0
  const { code, output } = await inTerminal(command, {
    cwd,
    env,
    columns: 200,
    onScreen: (terminal, type) => {
      const count =
        terminal
          .everything()
          .join('\n')
          .match(/allow it\?/g)?.length ?? 0
      for (; given < Math.min(count, answers.length); given += 1) {
        const answer = answers[given]
        if (typeof answer === 'string') type(`${answer}\n`)
        else answer?.(writerOf(env.BATON_HOME))
      }
    },
  })
  return { code, text: stripVTControlCharacters(output).replaceAll('\r', '') }
}

/** The process that started the only run. */
function writerOf(home: string): number {
  const runs = join(home, 'state/runs')
  const [file = ''] = readdirSync(runs, { recursive: true, encoding: 'utf8' }).filter((name) => /j-000001/.test(name))
  const [first = ''] = readFileSync(join(runs, file), 'utf8').split('\n')
  return (JSON.parse(first.slice(9)) as { readonly pid: number }).pid
}

it('on a terminal a call is shown with its input, and is decided by yes, a reason, or always', async () => {
  const all = await world()
  const answers = ['what?', 'no, because it is late', 'yes', 'a']
  const { code, text } = await onTerminal(all, 'baton ask.md -i "one two three four five"', answers)
  expect(code).toBe(0)
  expect(all.told()).toEqual([
    'Error: rejected by the user: it is late',
    ...['two', 'three', 'four', 'five'].map((word) => `- [ ] ${word}`),
  ])
  expect(text).toContain('use todo?\n  todos: [{"content":"one","status":"pending"}]\n')
  expect(text).toContain(
    'allow it? [y]es, [n]o (or: no, because …), [a]lways in this run: every call of todo, [?]: no, because it is late\n',
  )
  // four and five are similar to what was always allowed
  expect(text.match(/allow it\?/g)).toHaveLength(4)
})

it('a killed process leaves its questions open: they are answered from elsewhere, and a running process answers its own', async () => {
  const all = await world()
  let refused: Promise<BatonResult> | undefined
  const ask = (writer: number): void => {
    refused ??= all.run('approve', 'last', '1').then((result) => {
      process.kill(writer, 'SIGKILL')
      return result
    })
  }
  await onTerminal(all, 'baton ask.md -i one -i two; true', [ask])
  const { code, stderr } = (await refused) as BatonResult
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: run \S+ is running: process \d+\n/)])
  expect(stderr).toMatch(/hint: Answer at the terminal it runs in, \/dev\/pts\/\d+\.\n$/)
  expect(all.server.requests.length).toBe(2)

  expect((await all.run('runs', '--waiting', '--json')).stdout).toContain('"status":"interrupted"')
  expect(
    await all.run('reject', 'last', 'task/1/agent/ask/turn/0/tool/0:todo', '--reason', 'no', '--no-resume'),
  ).toMatchObject({ code: 0 })
  const done = await all.run('approve')
  expect([done.code, all.server.requests.length]).toEqual([0, 4])
  expect(all.told().toSorted()).toEqual(['- [ ] one', 'Error: rejected by the user: no'])
})

it('a question is withdrawn when another item of its step fails, and stays open for later', async () => {
  const steps =
    '[[workflow.step]]\nid = "each"\nfor_each = "{\\"one\\", \\"fail\\"}"\ninstructions = "{{item}}"\nconcurrency = 2\n'
  const file = `+++\nmodel = "m"\ntools = ["todo"]\nretry.max_attempts = 1\n${steps}+++\nPlan.\n`
  let fail: () => void = () => {}
  const gate = new Promise<void>((resolve) => (fail = resolve))
  const server = await startModelServer(({ body }): ModelReply => {
    const said = JSON.stringify(body?.messages)
    if (said.includes('fail')) return { status: 400, gate, text: 'no' }
    if (said.includes('"role":"tool"')) return { text: 'Done.' }
    return callsTools(['todo', { todos: [{ content: 'one', status: 'pending' }] }])
  })
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', 'steps.md': file })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree({ 'config/config.toml': asking }) }
  const { code, output } = await inTerminal('baton steps.md; echo "code $?"', {
    cwd,
    env,
    columns: 200,
    onScreen: (terminal) => {
      if (terminal.everything().join('\n').includes('allow it?')) fail()
    },
  })
  const text = stripVTControlCharacters(output).replaceAll('\r', '')
  expect([code, text]).toEqual([0, expect.stringContaining('code 1\n')])
  expect(text).toContain('every call of todo, [?]: withdrawn\n')
  const listed = await baton(['reject', 'last', '--no-resume', '--json'], { cwd, env })
  expect(JSON.parse(listed.stdout)).toMatchObject({ decided: [{ id: '1', tool: 'todo' }], open: [] })
})

it('a run that waits at a terminal is answered there: other commands know that it is active', async () => {
  const all = await world()
  let others: Promise<readonly BatonResult[]> | undefined
  const { code } = await inTerminal('baton ask.md -i one', {
    cwd: all.cwd,
    env: all.env,
    columns: 200,
    onScreen(terminal, type) {
      if (others !== undefined || !terminal.everything().join('\n').includes('allow it?')) return
      const commands = ['runs rm last --dry-run', 'approve', 'runs show last', 'report last']
      others = Promise.all(commands.map((words) => all.run(...words.split(' '))))
      void others.finally(() => type('y\n'))
    },
  })
  expect(code).toBe(0)
  const [removed, approved, shown, report] = (await others) ?? []
  expect(removed).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('is running and was kept') })
  expect(approved?.stderr).toContain('no run of this workspace waits for approval')
  expect(shown?.stdout).toContain('waiting')
  expect(report?.stdout).toContain('waiting')
  expect(`${shown?.stdout}${report?.stdout}`).not.toMatch(/baton (?:approve|resume)/)
})

it('an unattended terminal counts as no after timeouts.approval; the end of its input suspends', async () => {
  const all = await world()
  const unanswered = await onTerminal(all, 'baton ask.md -i one -c timeouts.approval=300ms', [])
  expect([unanswered.code, all.told()]).toEqual([0, ['Error: permission denied: nobody has answered for 300 ms']])
  const { code, text } = await onTerminal(all, 'baton ask.md -i two', ['\u0004'])
  expect([code, text]).toEqual([5, expect.stringContaining('waiting for approval: 1 call\n')])
})

it('the end of the input at one question leaves the questions of other tasks open as well, and they are not put', async () => {
  const all = await world()
  const { code, text } = await onTerminal(all, 'baton ask.md -i one -i two -i three', ['\u0004'])
  expect([code, text]).toEqual([5, expect.stringContaining('waiting for approval: 3 calls\n')])
  expect(text.match(/allow it\?/g)).toHaveLength(1)
  // what follows is on a line of its own
  expect(text).toMatch(/\[\?\]: \n/)
})

it('nobody is asked at a terminal if nobody watches, as a flag or the own config says: the run suspends', async () => {
  const all = await world()
  const flagged = await onTerminal(all, 'baton ask.md -i one --unattended', [])
  expect([flagged.code, flagged.text]).toEqual([5, expect.stringContaining('waiting for approval: 1 call\n')])
  expect(flagged.text).not.toContain('allow it?')
  writeFileSync(join(all.env.BATON_HOME, 'config/config.toml'), `${asking}[run]\nunattended = true\n`)
  const set = await onTerminal(all, 'baton ask.md -i two', [])
  expect([set.code, set.text]).toEqual([5, expect.not.stringContaining('allow it?')])
  // what is said on the command line holds
  expect((await onTerminal(all, 'baton ask.md -i three --on-ask deny', [])).code).toBe(0)
})

it('a question shows the target of a link, the commands of a line and its folder, and "always" applies only there', async () => {
  const outside = tempTree({ 'real\u200b.txt': 'outside\n' })
  const lines = ['./go.sh | cat', 'cd sub', './go.sh | cat']
  const server = await startModelServer([
    callsTools(['read', { path: 'link.txt' }]),
    ...lines.map((command) => callsTools(['bash', { command }])),
    { text: 'Done.' },
  ])
  onTestFinished(() => server.close())
  const rules = '[permission]\nread = "ask"\n[permission.bash]\n"*" = "ask"\n"cd sub" = "allow"\n'
  const cwd = tempTree({
    '.git/HEAD': '',
    'ask.md': '+++\nmodel = "m"\ntools = ["read", "bash"]\n+++\nGo.\n',
    'go.sh': '#!/bin/sh\necho one\n',
    'sub/go.sh': '#!/bin/sh\necho two\n',
  })
  symlinkSync(join(outside, 'real\u200b.txt'), join(cwd, 'link.txt'))
  let given = 0
  const { output } = await inTerminal('baton ask.md', {
    cwd,
    columns: 200,
    env: { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree({ 'config/config.toml': rules }) },
    onScreen: (terminal, type) => {
      const asked = terminal.everything().join('\n').split('allow it?').length - 1
      for (; given < asked; given += 1) type(given === 1 ? 'a\n' : 'n\n')
    },
  })
  const text = stripVTControlCharacters(output).replaceAll('\r', '')
  expect(text).toContain(`  path: link.txt\n  -> ${outside}/real<U+200B>.txt (the path leads there through a link)\n`)
  expect(text).toContain('  command: ./go.sh | cat\n  commands in it:\n    ./go.sh\n    cat\nallow it?')
  expect(text).toContain('bash with exactly this command in the folder of the workspace, [?]: a\n')
  // the same line in another folder is another program
  expect(text).toContain('  in the folder sub\nallow it?')
  expect(text).toContain('bash with exactly this command in the folder sub, [?]: n\n')
  expect(given).toBe(3)
})
