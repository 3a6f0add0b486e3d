import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { attack } from './attempts.ts'
import { createWorld, expectHeld, type World } from './harness.ts'

const restoring = '```lua\nlocal ok, said = pcall(aip.git.restore, "a.txt")\nprint(ok, said)\n```\n'

/** What the folder of a repository may contain, so that git runs a program when it compares or restores files. */
interface Trap {
  /** Added to `.git/config`. */
  readonly config?: string
  readonly files?: Readonly<Record<string, string>>
  /** Removes the stored contents of the files, as in an incomplete clone. */
  readonly isIncomplete?: true
  /** The file cannot be restored properly, so it is not restored at all. */
  readonly isRefused?: true
}

const traps: Readonly<Record<string, Trap>> = {
  'core.fsmonitor': { config: '[core]\nfsmonitor = {{program}}\n' },
  'core.hooksPath': { config: '[core]\nhooksPath = hooks\n', files: { 'hooks/post-index-change': '{{script}}' } },
  'a hook of the repository': { files: { '.git/hooks/post-index-change': '{{script}}' } },
  'a filter that cleans': filter('clean = {{program}}'),
  'a filter that smudges': filter('smudge = {{program}}'),
  'a filter that is a process': filter('process = {{program}}\nrequired = true'),
  'a filter whose name has a =': {
    config: '[filter "a=b"]\nclean = {{program}}\nsmudge = {{program}}\n',
    files: { '.gitattributes': '*.txt filter=a=b\n' },
    isRefused: true,
  },
  'a filter in an included file': {
    config: '[include]\npath = ../more\n',
    files: { more: '[filter "x"]\nsmudge = {{program}}\nclean = {{program}}\n', '.gitattributes': '*.txt filter=x\n' },
    isRefused: true,
  },
  'a filter in the config of the work tree': {
    config: '[core]\nrepositoryformatversion = 1\n[extensions]\nworktreeConfig = true\n',
    files: { '.git/config.worktree': '[filter "x"]\nsmudge = {{program}}\n', '.gitattributes': '*.txt filter=x\n' },
    isRefused: true,
  },
  'diff.external': { config: '[diff]\nexternal = {{program}}\n' },
  'a driver that compares': {
    config: '[diff "x"]\ncommand = {{program}}\ntextconv = {{program}}\n',
    files: { '.gitattributes': '*.txt diff=x\n' },
  },
  'a driver that merges': {
    config: '[merge "x"]\ndriver = {{program}}\n',
    files: { '.gitattributes': '*.txt merge=x\n' },
  },
  'pager, editor and aliases': {
    config:
      '[core]\npager = {{program}}\neditor = {{program}}\n[pager]\ndiff = {{program}}\n[alias]\nrestore = "!{{program}}"\n',
  },
  'an incomplete clone of ext::': promisor('url = ext::{{program}}'),
  'an incomplete clone by ssh': promisor('url = ssh://host.invalid/x', '[core]\nsshCommand = {{program}}\n'),
  'an incomplete clone by a helper': promisor('url = x\nvcs = ext'),
  'an incomplete clone of a folder': promisor('url = /nowhere\nuploadpack = {{program}}'),
  'questions for a password': promisor(
    'url = http://127.0.0.1:9/x',
    '[credential]\nhelper = "!{{program}}"\n[core]\naskPass = {{program}}\n',
  ),
}

function filter(lines: string): Trap {
  return { config: `[filter "x"]\n${lines}\n`, files: { '.gitattributes': '*.txt filter=x\n' }, isRefused: true }
}

function promisor(remote: string, more = ''): Trap {
  const format = '[core]\nrepositoryformatversion = 1\n[extensions]\npartialClone = origin\n'
  return {
    config: `${format}${more}[remote "origin"]\npromisor = true\n${remote}\n`,
    isIncomplete: true,
    isRefused: true,
  }
}

attack('git runs nothing that the config of a repository names', { core: traps }, async (trap) => {
  const world = trapped(trap)
  const end = await world.run(['agent.aip'])
  expectHeld(world, end, [0])
  expect(end.stdout).toMatch(trap.isRefused === true ? /^false/ : /^true/)
  expect(readFileSync(join(world.work, 'a.txt'), 'utf8')).toBe(trap.isRefused === true ? 'changed' : 'first')
})

it('the traps work against an unprotected git', () => {
  const quick = [
    'core.fsmonitor',
    'core.hooksPath',
    'a hook of the repository',
    'a filter that cleans',
    'diff.external',
  ]
  const caught = quick.filter((name) => {
    const world = trapped(traps[name] ?? {})
    for (const args of [['diff'], ['restore', 'a.txt']]) git(world.work, args)
    return existsSync(world.marker)
  })
  expect(caught).toEqual(quick)
})

it('git restores nothing into a folder that the repository config sets as its work tree', async () => {
  const world = createWorld({ work: { 'agent.aip': `# Output\n\n${restoring}` }, outside: { 'a.txt': 'kept' } })
  repository(world.work)
  appendFileSync(join(world.work, '.git/config'), `[core]\nworktree = ${world.outside}\n`)
  const end = await world.run(['agent.aip'])
  expectHeld(world, end, [0])
  expect(end.stdout).toContain('aip.git.restore: the repository of the workspace has its work tree elsewhere')
})

it('a filter of the user is applied even if the repository defines it identically', async () => {
  const shout = '[filter "shout"]\nsmudge = tr a-z A-Z\nclean = tr A-Z a-z\n'
  const world = createWorld({ work: { 'agent.aip': `# Output\n\n${restoring}` }, home: { '.gitconfig': shout } })
  repository(world.work, { '.gitattributes': '*.txt filter=shout\n' })
  appendFileSync(join(world.work, '.git/config'), shout)
  const end = await world.run(['agent.aip'])
  expectHeld(world, end, [0])
  expect(readFileSync(join(world.work, 'a.txt'), 'utf8')).toBe('FIRST')
})

it('a restore that is interrupted twice leaves no copies of files', async () => {
  const slow = '[filter "slow"]\nsmudge = sleep 60\n'
  const world = createWorld({ work: { 'agent.aip': `# Output\n\n${restoring}` }, home: { '.gitconfig': slow } })
  repository(world.work, { '.gitattributes': '*.txt filter=slow\n' })
  const TMPDIR = join(world.work, 'temporary')
  mkdirSync(TMPDIR)
  let hasBegun = false
  const interruptTwiceWhen = (): boolean => (hasBegun = readdirSync(TMPDIR).length > 0)
  const end = await world.run(['agent.aip'], { env: { TMPDIR }, interruptTwiceWhen })
  expectHeld(world, end, [130])
  expect(hasBegun).toBe(true)
  expect(readdirSync(TMPDIR)).toEqual([])
})

it('a pack needs git and the editor among its commands', async () => {
  const pack = (commands: string): Readonly<Record<string, string>> => ({
    '.baton/packs/own/p/pack.toml': `[pack]\nnamespace = "own"\nname = "p"\nversion = "1.0.0"\n[capabilities]\nread = ["**"]\nwrite = ["**"]\ncommands = [${commands}]\n`,
    '.baton/packs/own/p/main.lua': `print(pcall(aip.git.restore, "a.txt"))\nprint(pcall(aip.editor.open_file, "a.txt"))\n`,
  })
  const env = { VISUAL: '/nowhere/window-editor' }
  const held = createWorld({ work: pack(''), env })
  repository(held.work)
  const refused = await held.run(['own@p'])
  expectHeld(held, refused, [0])
  expect(refused.stdout).toContain('aip.git.restore: own@p may not run git: its capabilities do not include it')
  expect(refused.stdout).toContain('aip.editor.open_file: own@p may not run window-editor')
  const granted = createWorld({ work: pack('"git", "window-editor"'), env })
  repository(granted.work)
  const allowed = await granted.run(['own@p'])
  expectHeld(granted, allowed, [0])
  expect(allowed.stdout.replaceAll(/\s+/g, ' ').trim()).toBe('true true nil')
})

function git(cwd: string, args: readonly string[]): void {
  const env = { PATH: process.env['PATH'], HOME: cwd, GIT_TERMINAL_PROMPT: '0' }
  spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], {
    cwd,
    env,
    timeout: 5_000,
    stdio: 'ignore',
  })
}

/** A repository with a file that differs from the committed version. */
function repository(folder: string, files: Readonly<Record<string, string>> = {}): void {
  for (const [path, text] of Object.entries({ ...files, 'a.txt': 'first' })) writeFileSync(join(folder, path), text)
  for (const args of [
    ['init', '-q'],
    ['add', '-A'],
    ['commit', '-qm', 'first'],
  ])
    git(folder, args)
  writeFileSync(join(folder, 'a.txt'), 'changed')
}

function trapped({ config = '', files = {}, isIncomplete }: Trap): World {
  const world = createWorld({ work: { 'agent.aip': `# Output\n\n${restoring}` } })
  repository(world.work)
  const program = join(world.work, 'program')
  const script = `#!/bin/sh\n${world.mark}\ncat\n`
  const filled = (text: string): string => text.replaceAll('{{program}}', program).replaceAll('{{script}}', script)
  for (const [path, text] of Object.entries({ program: script, ...files })) {
    const file = join(world.work, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, filled(text))
    chmodSync(file, 0o755)
  }
  appendFileSync(join(world.work, '.git/config'), filled(config))
  if (isIncomplete === true) removeBlob(world.work)
  return world
}

/** Removes the stored content of the file. */
function removeBlob(folder: string): void {
  const { stdout } = spawnSync('git', ['ls-files', '-s', 'a.txt'], { cwd: folder, encoding: 'utf8' })
  const [, id = ''] = stdout.split(' ')
  rmSync(join(folder, '.git/objects', id.slice(0, 2), id.slice(2)))
}
