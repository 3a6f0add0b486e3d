import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { createSources } from '../../src/event/sources.ts'
import { root } from '../helpers/baton.ts'
import { type BoxEnd, type BoxOptions, type BoxWorld, runInBox } from '../helpers/box.ts'
import { writeTree } from '../helpers/temp.ts'

/** In every file that a box hides, and in the environment of Baton. */
const secret = 'SECRET-7391'
/** What hostile programs write; it must not be found outside the box. */
export const planted = 'planted by a model'

export interface Attempt {
  /** A line of sh; `$WORK`, `$HOME`, `$STATE`, `$OUTSIDE`, `$ACCOUNT` (the home of the account) and `$NODE` are set. */
  readonly line: string
  /** What stopped it, as found in its output. */
  readonly stopped: RegExp
  readonly options?: BoxOptions
}

/** Not in /tmp, which is private in a box anyway. */
const base = join(root, 'node_modules', '.cache', 'sandbox')
const made: string[] = []
afterAll(() => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
})

const prompt = '+++\nwrite_mode = true\nsub_agents = ["./agents/deep/look.lua"]\n+++\nDo it.\n'

/**
 * A workspace with a repository, a prompt file, an agent and files with keys; a home and a state folder with more keys.
 */
function hostileWorld(): BoxWorld & { readonly outside: string } {
  mkdirSync(base, { recursive: true })
  const folder = realpathSync(mkdtempSync(join(base, 'w-')))
  made.push(folder)
  const [work, home, state, outside] = ['work', 'home', 'state', 'outside'].map((name) => join(folder, name))
  writeTree(folder, {
    'work/ask.md': prompt,
    'work/agents/deep/look.lua': 'return nil\n',
    'work/.env': `KEY=${secret}\n`,
    'work/deep/er/.env.local': `KEY=${secret}\n`,
    'work/.gitignore': '.env*\n',
    'work/free.txt': 'free\n',
    'home/.ssh/id_ed25519': secret,
    'home/.aws/credentials': secret,
    'home/.netrc': secret,
    'home/.config/gcloud/key.json': secret,
    'home/.bash_history': secret,
    'home/.profile': 'export A=1\n',
    'state/state/run-key': secret,
    'outside/theirs.txt': 'theirs\n',
  })
  execFileSync('git', ['init', '-q'], { cwd: work })
  return { folder, work: work ?? '', home: home ?? '', state: state ?? '', outside: outside ?? '' }
}

/** Makes one attempt and checks its effects, in the box and outside. */
export async function attempted({ line, stopped, options = {} }: Attempt): Promise<BoxEnd> {
  const world = hostileWorld()
  const { work, home, state, outside } = world
  await options.prepare?.(world)
  const before = filesOf(world.folder)
  const account = userInfo().homedir
  const names = { WORK: work, STATE: state, OUTSIDE: outside, ACCOUNT: account, NODE: process.execPath }
  const set = Object.entries(names).map(([name, value]) => `${name}='${value}'`)
  const end = await runInBox(`${set.join(' ')}; ${line}`, world, {
    env: { HOME: home, OPENAI_API_KEY: secret, AWS_SECRET_ACCESS_KEY: secret },
    services: () => ({ sources: createSources([join(work, 'ask.md'), join(work, 'agents/deep/look.lua')]) }),
    timeLimitMs: 20_000,
    ...options,
  })
  const said = `${end.out}\n${end.err}\n${end.stopped ?? ''}`
  expect(end.timedOut, said).toBe(false)
  expect(said).toMatch(stopped)
  expect(said).not.toContain(secret)
  expect(said).not.toContain('ESCAPED')
  const after = filesOf(world.folder)
  const changed = [...before].filter(([path, content]) => after.get(path) !== content).map(([path]) => path)
  expect(changed).toEqual([])
  const added = [...after.keys()].filter((path) => !before.has(path))
  expect(added.filter((path) => !path.startsWith('work/') || decides.test(path))).toEqual([])
  expect(readdirSync(work).filter((name) => decides.test(`work/${name}`))).toEqual(['.git'])
  expect(existsSync(join(account, 'baton-escape'))).toBe(false)
  return end
}

const decides = /^work\/(?:\.git|\.baton|\.aipack|baton\.toml|\.mcp\.json)(?:\/|$)/

/** Every file below a folder with its content. */
function filesOf(folder: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const walk = (path: string): void => {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      const inner = path === '' ? entry.name : `${path}/${entry.name}`
      if (entry.isDirectory()) walk(inner)
      else if (entry.isFile()) found.set(inner, readFileSync(join(folder, inner), 'latin1').slice(0, 1000))
    }
  }
  walk('')
  return found
}
