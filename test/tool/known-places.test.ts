import { spawnSync } from 'node:child_process'
import { linkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { keyPatternOf } from '../../src/tool/protected/key-places.ts'
import { entriesIn } from '../../src/base/entries.ts'
import { keyPlaces, runPlaces } from '../../src/tool/protected/known-places.ts'
import { runsByItself } from '../../src/tool/protected/programs.ts'
import { keysAtHome } from '../../src/tool/sandbox/key-files.ts'
import { namesOf } from '../../src/tool/hard-links.ts'
import { root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const workspace = '/w'

describe('the list of well-known places', () => {
  it('names a source for each row', () => {
    for (const { places, source } of [...keyPlaces, ...runPlaces]) {
      expect(places).toMatch(/^\S+(?: \S+)*$/)
      expect(source.length).toBeGreaterThan(3)
    }
  })

  it('matches docs/known-places.md', () => {
    const end = spawnSync(process.execPath, [join(root, 'scripts/known-places.mjs'), '--check'], { encoding: 'utf8' })
    expect(end).toMatchObject({ status: 0, stderr: '' })
  })

  it.each([
    ['.env', '**/.env*'],
    ['a/.ENV.local', '**/.env*'],
    ['.envrc', '**/.env*'],
    ['certs/Server.PEM', '**/*.pem'],
    ['id_rsa', '**/id_rsa'],
    ['.ssh', '**/.ssh/**'],
    ['deep/.AWS/sso/cache/x.json', '**/.aws/**'],
    ['.config/gcloud/x', '**/.config/gcloud/**'],
    ['.docker/config.json', '**/.docker/config.json'],
    ['.cargo/credentials.toml', '**/.cargo/credentials.toml'],
    ['.env.example', undefined],
    ['.env-sample', undefined],
    ['env', undefined],
    ['docker/config.json', undefined],
    ['pem', undefined],
    ['my.ssh/x', undefined],
    ['.claude/agents/a.md', undefined],
  ])('contains %s: %s', (path, pattern) => {
    expect(keyPatternOf(join(workspace, path), workspace)).toBe(pattern)
  })

  it('applies places of the home folder only there, and not to those that contain the workspace', () => {
    const auth = join(homedir(), '.local/share/opencode/auth.json')
    expect(keyPatternOf(auth, '/w')).toBe('~/.local/share/opencode/**')
    expect(keyPatternOf(join('/w', '.local/share/opencode/auth.json'), '/w')).toBeUndefined()
    expect(keyPatternOf(join(homedir(), '.claude/agents/a.md'), join(homedir(), '.claude'))).toBeUndefined()
    expect(keyPatternOf('/x/.aws/w/a.txt', '/x/.aws/w')).toBeUndefined()
    expect(keyPatternOf('/x/.aws/a.txt', '/x/.aws/w')).toBe('**/.aws/**')
  })

  it('is hidden in the home folder under the existing name', () => {
    const home = tempTree({ '.config/Bitwarden CLI/data.json': '', '.config/other/api-token.txt': '', '.aider.x': '' })
    const hidden = keysAtHome(home)
    for (const name of ['.config/BraveSoftware', '.config/Bitwarden CLI', '.config/other/api-token.txt', '.aider.x']) {
      expect(hidden).toContain(join(home, name))
    }
  })

  it.each(['.VSCode/tasks.json', 'sub/.run/all.run.xml', 'mise.local.toml', 'np/binding.gyp', '.github/hooks/x.json'])(
    'marks %s as run by programs',
    (path) => expect(runsByItself(path.split('/'))).toBe(true),
  )

  it.each(['Makefile', 'conftest.py', 'src/mise.ts', 'github/workflows/a.yml', 'Dockerfile', 'run/x.run.xml'])(
    'does not mark %s',
    (path) => expect(runsByItself(path.split('/'))).toBe(false),
  )
})

it('a workspace is searched for file names once, and again for a file with a new name', async () => {
  const folder = tempTree({ 'w/a.txt': 'x', 'w/b.txt': 'x', 'w/in/c.txt': 'x', 'store/keep': '', 'other/o.txt': 'x' })
  const workspace = join(folder, 'w')
  const paths = ['w/a.txt', 'w/b.txt', 'w/in/c.txt', 'other/o.txt'].map((name) => join(folder, name))
  for (const [index, path] of paths.entries()) linkSync(path, join(folder, 'store', `${index}`))
  let listed = 0
  const list: typeof entriesIn = (path) => {
    listed += 1
    return entriesIn(path)
  }
  /** How many folders are listed to look up each file. */
  const lookUp = (): number => {
    const before = listed
    for (const path of paths) expect(namesOf(path, workspace, list)).toEqual([path])
    return listed - before
  }
  expect(lookUp()).toBeGreaterThan(0)
  // until the files are older than the search
  await expect.poll(lookUp, { timeout: 10_000 }).toBe(0)
  const [a = ''] = paths
  linkSync(a, join(workspace, 'in/a2.txt'))
  expect(namesOf(a, workspace, list)).toEqual([a, join(workspace, 'in/a2.txt')])
})

it('every name of a file is found, also one that was added later', () => {
  const folder = tempTree({ 'a.txt': 'x', 'b.txt': 'x' })
  const at = (name: string): string => join(folder, name)
  expect(namesOf(at('a.txt'), folder)).toEqual([at('a.txt')])
  linkSync(at('a.txt'), at('c.txt'))
  expect(namesOf(at('c.txt'), folder).toSorted()).toEqual([at('a.txt'), at('c.txt')])
  linkSync(at('a.txt'), at('d.txt'))
  expect(namesOf(at('d.txt'), folder)).toHaveLength(3)
  expect(namesOf(at('b.txt'), folder)).toEqual([at('b.txt')])
})
