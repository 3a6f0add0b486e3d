import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { attack } from './attempts.ts'
import { createWorld, expectHeld, type World } from './harness.ts'

const stranger = 65_534
/** Only the administrator can create files of another user. */
const isRoot = process.getuid?.() === 0
const files = { 'say.md': '+++\nmodel = "offline::extractive"\n+++\nSay hello.\n' }
const guarded = {
  'baton.toml': '[gateway]\nbase_url = "http://127.0.0.1:9/v1"\n',
  'say.md': files['say.md'],
}

const modeOf = (path: string): number => statSync(path).mode & 0o777
const trusted = '{ "version": 1, "files": {} }\n'

function make(path: string, content: string, mode = 0o600): string {
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 })
  writeFileSync(path, content)
  chmodSync(path, mode)
  return path
}

function folder(path: string, mode: number): string {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, mode)
  return path
}

const putRight: Readonly<Record<string, (world: World) => readonly (readonly [path: string, mode: number])[]>> = {
  'a state folder that all may write': ({ state }) => [[folder(join(state, 'state'), 0o777), 0o700]],
  'a data folder that all may write': ({ state }) => [[folder(join(state, 'data'), 0o777), 0o700]],
  'a data folder that a group may read': ({ state }) => [[folder(join(state, 'data'), 0o750), 0o700]],
  'a list of trusted files that all may read': ({ state }) => [
    [make(join(state, 'data/trust.json'), trusted, 0o644), 0o600],
  ],
  'a key that all may read': ({ state }) => [[make(join(state, 'state/run-key'), 'ab'.repeat(32), 0o644), 0o600]],
}

attack('what only Baton writes is closed to others', { core: putRight }, async (prepare) => {
  const world = createWorld({ work: guarded })
  const expected = prepare(world)
  const end = await world.run(['say.md'])
  expectHeld(world, end, [6])
  // a run outside the workspace creates the key
  const free = await world.run(['-p', 'Say hello.', '-m', 'offline::extractive'], { cwd: '../home' })
  expect(free.stderr).not.toContain('not recorded')
  for (const [path, mode] of expected) expect([path, modeOf(path).toString(8)]).toEqual([path, mode.toString(8)])
})

const others: Readonly<Record<string, (world: World) => string>> = {
  'config that everybody may write': ({ state }) => make(join(state, 'config/config.toml'), '', 0o666),
  'a config folder that everybody may write': ({ state }) => folder(join(state, 'config'), 0o777),
  'a link to a data folder that everybody may write': ({ state, outside }) => {
    const open = folder(join(outside, 'data'), 0o777)
    mkdirSync(state)
    symlinkSync(open, join(state, 'data'))
    return join(state, 'data')
  },
  'a list of trusted files that everybody may write': ({ state }) =>
    make(join(state, 'data/trust.json'), trusted, 0o666),
}

const ofOthers: typeof others = {
  'config of another user': ({ state }) => owned(make(join(state, 'config/config.toml'), '')),
  'a config folder of another user': ({ state }) => owned(folder(join(state, 'config'), 0o755)),
  'a data folder of another user': ({ state }) => owned(folder(join(state, 'data'), 0o755)),
  'a list of trusted files of another user': ({ state }) => owned(make(join(state, 'data/trust.json'), trusted)),
  'a link that another user has put in place of the list of trusted files': ({ state, work }) => {
    make(join(state, 'data/x'), '')
    symlinkSync(make(join(work, 'trust.json'), trusted), join(state, 'data/trust.json'))
    lchownSync(join(state, 'data/trust.json'), stranger, stranger)
    return join(state, 'data/trust.json')
  },
  'a pack that another user has put into an open data folder': ({ state }) => {
    const planted = owned(make(join(state, 'data/packs/demo/notes/pack.toml'), ''))
    chmodSync(join(state, 'data'), 0o777)
    return planted
  },
}

function owned(path: string): string {
  chownSync(path, stranger, stranger)
  return path
}

attack(
  'what another user may have written is refused, each time',
  { core: { ...others, ...(isRoot ? ofOthers : {}) } },
  async (prepare) => {
    const world = createWorld({ work: guarded })
    const named = prepare(world)
    for (const _ of [1, 2]) {
      const end = await world.run(['say.md'])
      expect([end.code, end.stdout]).toEqual([6, ''])
      expect(end.stderr).toContain(named)
    }
  },
)

it.runIf(isRoot)('nothing is recorded in a state folder of another user, and the run says so', async () => {
  const world = createWorld({ work: files })
  owned(folder(join(world.state, 'state'), 0o777))
  const end = await world.run(['say.md'])
  expectHeld(world, end, [0])
  expect(end.stderr).toContain('the state folder')
  expect(end.stderr).toContain('belongs to another user')
  expect(existsSync(join(world.state, 'state/run-key'))).toBe(false)
})

it('links between folders of the user are followed, and their targets are unchanged', async () => {
  const world = createWorld({ work: files })
  mkdirSync(world.state)
  for (const name of ['config', 'data', 'state']) {
    symlinkSync(folder(join(world.folder, 'work/dotfiles', name), 0o755), join(world.state, name))
  }
  make(join(world.work, 'dotfiles/config/config.toml'), '[budget]\nusd = 5\n', 0o644)
  const end = await world.run(['say.md'])
  expectHeld(world, end, [0])
  expect(end.stderr).not.toContain('warning')
  for (const name of ['config', 'data', 'state']) expect(modeOf(join(world.work, 'dotfiles', name))).toBe(0o755)
  expect(modeOf(join(world.work, 'dotfiles/config/config.toml'))).toBe(0o644)
  expect(modeOf(join(world.work, 'dotfiles/state/run-key'))).toBe(0o600)
})

it('a confirmed installation is not written through a link', async () => {
  const pack = '[pack]\nnamespace = "demo"\nname = "notes"\nversion = "1.0.0"\n'
  const world = createWorld({
    work: { 'notes/pack.toml': pack, 'notes/main.aip': '# Output\n\n```lua\nreturn 1\n```\n' },
    outside: { 'kept.json': '{ "version": 1, "packs": {} }\n' },
  })
  mkdirSync(join(world.state, 'data'), { recursive: true })
  symlinkSync(join(world.outside, 'kept.json'), join(world.state, 'data/agreed-packs.json'))
  const end = await world.run(['install', './notes', '-y'])
  expectHeld(world, end, [1])
  expect(end.stderr).toContain('is a link; Baton does not write through links here')
})

it('the folder of a resumed run is made private', async () => {
  const world = createWorld({ work: { 'a.aip': '# Output\n\n```lua\nerror("stop")\n```\n' } })
  expect((await world.run(['a.aip'])).code).toBe(1)
  const runs = join(world.state, 'state/runs')
  const run = readdirSync(runs, { recursive: true, encoding: 'utf8' }).find((path) => /-[0-9a-f]{9}$/.test(path)) ?? ''
  chmodSync(join(runs, run), 0o755)
  expect((await world.run(['resume', 'last'])).code).toBe(1)
  expect(modeOf(join(runs, run))).toBe(0o700)
})
