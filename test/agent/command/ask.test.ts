import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { processStatus } from '../../../src/base/process-group.ts'
import type { CommandLine } from '../../../src/event/agent.ts'
import { allRights } from '../../../src/event/permission.ts'
import { commandAgent, commandWorld, playing, stream } from '../../helpers/command-world.ts'
import { tempTree } from '../../helpers/temp.ts'

interface Given {
  readonly args: readonly string[]
  readonly input: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** What a program received. */
async function given(
  prompt: string,
  line: Partial<CommandLine> = {},
  options: Parameters<typeof commandWorld>[0] = {},
): Promise<Given & { readonly folder: string }> {
  const { ask, folder } = commandWorld(options)
  const { args = [], ...others } = line
  const { text } = await ask({ agent: commandAgent(['given', ...args], others), prompt })
  return { ...(JSON.parse(text) as Given), folder }
}

async function failure(args: readonly string[], line: Partial<CommandLine> = {}): Promise<unknown> {
  return commandWorld()
    .ask({ agent: commandAgent(args, line) })
    .catch((error: unknown) => error)
}

/** The running processes that a file lists. A killed one may exist until its parent reaps it. */
function running(file: string): readonly number[] {
  const pids = JSON.parse(readFileSync(file, 'utf8')) as readonly number[]
  return pids.filter((pid) => ![undefined, 'Z'].includes(processStatus(pid)?.state))
}

function like(text: RegExp): unknown {
  return expect.stringMatching(text)
}

describe('a program gets its prompt', () => {
  it('as an argument if one contains {prompt}, with empty standard input', async () => {
    expect(await given('Look.', { args: ['--ask', '{prompt}'] })).toMatchObject({ args: ['--ask', 'Look.'], input: '' })
  })

  it('on standard input if no argument contains it', async () => {
    expect(await given('Look.', { args: ['--quiet'] })).toMatchObject({ args: ['--quiet'], input: 'Look.' })
  })

  it('of 2,000 bytes on standard input, even if an argument contains {prompt}', async () => {
    const prompt = 'é'.repeat(1000)
    expect(await given(prompt, { args: ['{prompt}', '--quiet'] })).toMatchObject({ args: ['--quiet'], input: prompt })
    expect(await given(prompt, { args: ['{prompt}'], stdinOver: 2000 })).toMatchObject({ args: [prompt], input: '' })
  })

  it('with its model, in the workspace of the context', async () => {
    const { args, cwd, folder } = await given('{model}', { args: ['{model}', '{prompt}'], model: 'small' })
    expect(args).toEqual(['small', '{model}'])
    expect(cwd).toBe(folder)
  })

  it('in a work tree, ignoring a copy of the program there', async () => {
    const [workspace, tree] = ['own', 'copied'].map((words) => {
      const folder = tempTree({ 'tell.sh': `#!/bin/sh\necho ${words}; pwd\n` })
      chmodSync(join(folder, 'tell.sh'), 0o755)
      return folder
    }) as [string, string]
    const { ask, context } = commandWorld()
    const folders = { ...context.scope.folders, workspace: tree, standsFor: [workspace] as const }
    const inTree = commandWorld({ scope: { folders } })
    expect((await inTree.ask({ agent: commandAgent([], { command: './tell.sh', args: [] }) })).text).toBe(
      `own\n${tree}`,
    )
    await expect(ask({ agent: commandAgent([], { command: './tell.sh', args: [] }) })).rejects.toThrow('tell.sh')
  })

  it('while it prints more than fits into a pipe before it reads', async () => {
    const { ask } = commandWorld()
    const { text } = await ask({ agent: commandAgent(['chatty']), prompt: 'y'.repeat(1_000_000) })
    expect(text.slice(-40)).toContain('1000000 characters were read')
  })
})

describe('the environment of a program', () => {
  const env = { PATH: process.env['PATH'], HOME: '/home/user', SECRET_KEY: 'hidden', ANTHROPIC_API_KEY: 'for claude' }

  it('contains no keys, except those of its definition', async () => {
    const line = { args: [], env: { TOKEN: '${SECRET_KEY}', PLACE: '${WHERE:-here}' } }
    const { env: seen } = await given('Look.', line, { env })
    expect(seen).toMatchObject({ HOME: '/home/user', TOKEN: 'hidden', PLACE: 'here', NO_COLOR: '1' })
    expect(Object.keys(seen)).not.toEqual(expect.arrayContaining(['SECRET_KEY']))
    expect(Object.keys(seen)).not.toContain('ANTHROPIC_API_KEY')
  })

  it('contains the keys of its provider if it is known', async () => {
    const { ask } = commandWorld({ env })
    const shown =
      'process.stdout.write(JSON.stringify({type:"result",subtype:"success",result:process.env.ANTHROPIC_API_KEY}))'
    const agent = commandAgent([], { preset: 'claude', command: program(shown), args: [] })
    expect((await ask({ agent })).text).toBe('for claude')
  })

  it.each([
    ['claude', ['ANTHROPIC_API_KEY']],
    ['gemini', ['GEMINI_API_KEY', 'GOOGLE_API_KEY']],
  ] as const)('of %s contains the keys of its own provider, and no others (R275, R279, R280)', async (preset, own) => {
    const names = ['ANTHROPIC_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY', 'OPENAI_API_KEY'] as const
    const keys = Object.fromEntries(names.map((name) => [name, `key of ${name}`]))
    const folder = tempTree({})
    const tell = `require("fs").writeFileSync("${folder}/seen", JSON.stringify(process.env))`
    const said = {
      claude: { type: 'result', subtype: 'success', result: 'ok' },
      gemini: { type: 'message', role: 'assistant', content: 'ok' },
    }
    const { ask } = commandWorld({ env: { ...env, ...keys } })
    const agent = commandAgent([], {
      preset,
      command: program(`${tell}; console.log(${JSON.stringify(JSON.stringify(said[preset]))})`),
      args: [],
    })
    expect((await ask({ agent })).text).toBe('ok')
    const seen = JSON.parse(readFileSync(join(folder, 'seen'), 'utf8')) as { readonly [name: string]: string }
    expect(names.filter((name) => seen[name] !== undefined)).toEqual([...own])
  })

  it('requires the variables that its definition refers to', async () => {
    const error = await failure(['given'], { env: { TOKEN: '${NOT_SET_ANYWHERE}' } })
    expect(error).toMatchObject({ code: 'KEY_MISSING', message: like(/"helper" needs the variable NOT_SET_ANYWHERE/) })
  })
})

/** A program made of these statements. */
function program(statements: string): string {
  const file = playing('/dev/null')
  writeFileSync(file, `#!${process.execPath}\n${statements}\n`)
  return file
}

// several of them wait for processes to end
describe.concurrent('a program that fails', () => {
  it('is reported with its exit code and the last lines of its error output', async () => {
    expect(await failure(['crash', '7'])).toMatchObject({
      code: 'AGENT_FAILED',
      reason: 'AGENT_CRASHED',
      message: 'agent "helper" exited with code 7: reading the plan · no plan was found',
    })
  })

  it('because it does not exist is reported by name, with the way to install it', async () => {
    expect(await failure([], { command: 'no-such-program-here', args: [] })).toMatchObject({
      code: 'AGENT_FAILED',
      reason: 'AGENT_SPAWN_FAILED',
      message: 'agent "helper" cannot be started: there is no program "no-such-program-here" in PATH',
    })
    expect(await failure([], { command: './codex', preset: 'codex', args: [] })).toMatchObject({
      message: like(/cannot be started: there is no program \.\/codex$/),
      hint: like(/npm install -g @openai\/codex/),
    })
  })

  it('to end in time is stopped with all its child processes', async () => {
    const { ask, folder } = commandWorld()
    const pids = join(folder, 'pids')
    const agent = commandAgent(['hang', pids], { timeoutMs: 3000 })
    const error = await ask({ agent }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'LIMIT',
      reason: 'AGENT_TIMEOUT',
      message: 'agent "helper" took longer than its timeout, 3 s: still looking',
      hint: like(/timeout of \[agents\.helper\]/),
    })
    await vi.waitFor(() => expect(running(pids)).toEqual([]), { timeout: 20_000 })
  })

  it('to stop printing is stopped', async () => {
    expect(await failure(['flood'])).toMatchObject({ code: 'LIMIT', message: like(/printed more than 64mb/) })
  })

  it('because it needs a login is reported as such, even with exit code 0', async () => {
    expect(await failure(['login'])).toMatchObject({
      code: 'KEY_MISSING',
      message: 'agent "helper" requires a login: Invalid API key · Please run /login',
      hint: like(/^Log in with node manually/),
    })
  })

  it('to answer is reported', async () => {
    expect(await failure(['nothing'])).toMatchObject({
      code: 'AGENT_FAILED',
      reason: 'EMPTY_ANSWER',
      message: 'agent "helper" gave no answer',
    })
  })

  it('to print events is reported with its first line', async () => {
    const file = program('console.log("Welcome!"); console.log("{ not json")')
    expect(await failure([], { preset: 'gemini', command: file, args: [] })).toMatchObject({
      code: 'AGENT_FAILED',
      message: 'agent "helper" printed no readable answer, but "Welcome!"',
    })
  })
})

it('lines that are not events are skipped, with one warning', async () => {
  const { ask, context } = commandWorld()
  const file = program(
    `console.log("Update available!"); console.log("{ broken"); process.stdout.write(require("fs").readFileSync(${JSON.stringify(stream('gemini'))}))`,
  )
  const { text } = await ask({ agent: commandAgent([], { preset: 'gemini', command: file, args: [] }) })
  expect(text).toBe('The folder holds notes.txt.')
  expect(context.sent.filter(({ type }) => type === 'warning')).toMatchObject([
    { message: 'agent "helper" printed 2 lines that are not events: Update available!' },
  ])
})

it('a program is stopped when its run is stopped', async () => {
  const stop = new AbortController()
  const { ask, folder } = commandWorld({ signal: stop.signal })
  const pids = join(folder, 'pids')
  const asked = ask({ agent: commandAgent(['wait', pids]) }).catch((error: unknown) => error)
  while (!existsSync(pids)) await sleep(20)
  stop.abort(new Error('stopped'))
  expect(await asked).toMatchObject({ message: 'stopped' })
  await expect.poll(() => running(pids)).toEqual([])
})

describe('the rights of a program', () => {
  it('are unlimited, so a program without a sandbox mode needs permission', async () => {
    const { ask } = commandWorld({ mode: 'workspace-write' })
    expect(await ask({ agent: commandAgent(['given']) }).catch((error: unknown) => error)).toMatchObject({
      code: 'SANDBOX',
      hint: like(/sandbox = \{ mode = "danger-full-access" \} in \[agents\.helper\]/),
    })
    expect(await ask({ agent: commandAgent(['given'], { mode: 'danger-full-access' }) })).toMatchObject({ calls: [] })
  })

  it.each([
    ['the mode of the run', { mode: 'workspace-write' }, {}, 'workspace-write'],
    ['that of its definition where it is stricter', { mode: 'workspace-write' }, { mode: 'read-only' }, 'read-only'],
    ['the mode of the run where it is stricter', { mode: 'read-only' }, { mode: 'danger-full-access' }, 'read-only'],
    ['reading where answers change nothing', { rights: { ...allRights, write: false } }, {}, 'read-only'],
    ['reading where a person is asked first', { rights: { ...allRights, asks: true } }, {}, 'read-only'],
    ['reading in a dry run', { mode: 'workspace-write', dry: 'changes' }, {}, 'read-only'],
  ] as const)('are %s', async (_, { mode, ...scope }: Scope, line, expected) => {
    const { ask } = commandWorld({ ...(mode === undefined ? {} : { mode }), scope })
    const file = program(
      'console.log(JSON.stringify({type:"item.completed",item:{type:"agent_message",text:process.argv[6]}}))',
    )
    const agent = commandAgent([], { preset: 'codex', command: file, args: [], ...line })
    expect((await ask({ agent })).text).toBe(expected)
  })

  it('include only the commands of its pack', async () => {
    const granted = { read: [], write: [], hosts: [], commands: ['git'], env: [], models: [], mcp: [] }
    const pack = { identity: 'acme@tools', granted, ownFolders: [], keptFolders: [], executed: [], allow: [] }
    const { context } = commandWorld()
    const permission = context.services.permissionOf({ ...allRights, packs: [pack] })
    const effects = context.services.effects.under(permission)
    const held = commandWorld({ services: { effects } })
    expect(await held.ask({ agent: commandAgent(['given']) }).catch((error: unknown) => error)).toMatchObject({
      code: 'UNTRUSTED',
      message: like(/agent "helper": acme@tools may not run /),
    })
  })
})

interface Scope {
  readonly mode?: 'read-only' | 'workspace-write'
  readonly rights?: typeof allRights
  readonly dry?: 'changes'
}

it('a program is one effect that is repeated only after it has ended, and its process group is recorded', async () => {
  const { ask, context } = commandWorld()
  await ask({ agent: commandAgent(['given']), prompt: 'Look.' })
  expect(context.records.filter(({ k }) => ['started', 'process', 'ended'].includes(k))).toMatchObject([
    { k: 'started', p: 'task/0/ask#0', kind: 'command', repeat: 'ended', request: { prompt: 'Look.' } },
    { k: 'process', p: 'task/0/ask#0' },
    { k: 'ended', status: 'ok', spent: [{ model: 'helper', costUsd: null }] },
  ])
})
