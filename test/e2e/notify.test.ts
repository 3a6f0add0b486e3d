import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { baton, type BatonResult } from '../helpers/baton.ts'
import { type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const open: ModelServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

/** Each notice is a line of `notices` in the home folder. */
async function world(
  config: string,
  files: { readonly [path: string]: string },
): Promise<{
  readonly notices: () => readonly { readonly [key: string]: unknown }[]
  readonly home: string
  readonly run: (args: readonly string[], more?: Partial<Parameters<typeof baton>[1]>) => Promise<BatonResult>
}> {
  const server = await startModelServer((request, index) =>
    JSON.stringify(request.body?.messages).includes('stall')
      ? { text: 'one two', stallAfter: 2 }
      : { text: `<FILE_CHANGES>\n<FILE_NEW file_path="a${index}.txt">\nx\n</FILE_NEW>\n</FILE_CHANGES>` },
  )
  open.push(server)
  const cwd = tempTree({ '.git/HEAD': '', ...files })
  const home = tempTree({ 'baton/config/config.toml': config })
  const env = {
    OPENAI_BASE_URL: server.url,
    OPENAI_API_KEY: 'sk-test-0123456789',
    HOME: home,
    BATON_HOME: join(home, 'baton'),
  }
  return {
    home,
    notices: () => {
      if (!existsSync(join(home, 'notices'))) return []
      return readFileSync(join(home, 'notices'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { readonly [key: string]: unknown })
    },
    run: (args, more = {}) => baton(args, { cwd, process: 'own', env, ...more }),
  }
}

const command = '[notify]\ncommand = "(cat; echo) >> notices"\n'

it('runs tell when they wait, end and fail, also by a signal, and a process stays until that is done', async () => {
  const { run, notices } = await world(command, {
    'ask.md': '+++\nmodel = "gpt-5"\nwrite_mode = "ask"\n+++\nMake it.\n',
    'stall.md': '+++\nmodel = "gpt-5"\n+++\nstall\n',
  })
  expect((await run(['ask.md', '-q', '--on-ask', 'suspend'])).code).toBe(5)
  expect(notices()).toMatchObject([
    { event: 'waits', status: 'waiting_for_approval', approvals: [{ id: '1', tool: 'write' }] },
  ])
  expect((await run(['approve', '-q'])).code).toBe(0)
  expect(notices().at(-1)).toMatchObject({ event: 'ends', status: 'done', exit_code: 0 })
  let isStopped = false
  const stopped = await run(['stall.md', '--json'], {
    onOutput(text, kill) {
      if (isStopped || !text.includes('"item.delta"')) return
      isStopped = true
      kill('SIGTERM')
    },
  })
  expect(stopped.code).toBe(143)
  expect(notices().at(-1)).toMatchObject({ event: 'fails', status: 'cancelled', exit_code: 143 })
  expect((await run(['run', 'ask.md', '--replay', 'last', '-q'])).code).toBeGreaterThan(0)
  expect(notices()).toHaveLength(3)
})

it('what cannot be told is a warning, and a folder cannot say who is told', async () => {
  const { run, home } = await world('[notify]\ncommand = "echo broken >&2; exit 1"\n', {
    'ask.md': '+++\nmodel = "gpt-5"\n+++\nHello.\n',
    'sub/baton.toml': '[notify]\ncommand = "touch ~/pwned"\n',
    'sub/hi.md': '+++\nmodel = "gpt-5"\n+++\nHello.\n',
  })
  const ended = await run(['ask.md'])
  expect(ended.code).toBe(0)
  expect(ended.stderr).toContain('warning: the command of [notify] ended with exit code 1: broken\n')
  const tested = await run(['notify', '--test'])
  expect(tested).toMatchObject({ code: 1, stderr: 'the command of [notify] ended with exit code 1: broken\n' })
  expect((await run(['-C', 'sub', 'hi.md'])).code).toBe(6)
  expect(existsSync(join(home, 'pwned'))).toBe(false)
  expect((await run(['doctor'])).stdout).toMatch(/ok +notify +a command; baton notify --test sends a notice\n/)
})
