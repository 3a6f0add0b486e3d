import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  findWorkspace,
  foreignMarks,
  locateWorkspace,
  markOwners,
  possibleConfigFiles,
  userConfigFile,
  userDataFolder,
  workspaceConfigFile,
  workspaceMcpFile,
} from '../../src/config/locate.ts'
import { tempTree, writeTree } from '../helpers/temp.ts'

const repository = { '.git/HEAD': 'ref: refs/heads/main\n', '.git/objects/x': '', '.git/refs/x': '' }
const around = (cwd: string, home = '/nowhere') => ({ cwd, env: {}, home })

describe('the workspace', () => {
  it.each([{ 'baton.toml': '' }, { '.baton/config.toml': '' }, { '.aipack/x': '' }, repository])(
    'is the nearest folder with %o',
    (mark) => {
      const root = tempTree({ 'baton.toml': '', 'project/a/b/file': '' })
      writeTree(join(root, 'project'), mark as { readonly [path: string]: string })
      expect(findWorkspace(around(join(root, 'project/a/b')))).toBe(join(root, 'project'))
    },
  )

  it('may be marked by .git as a file, as in git work trees', () => {
    const root = tempTree({
      'main/.git/HEAD': 'ref: refs/heads/main\n',
      'main/.git/worktrees/one/HEAD': 'ref: refs/heads/one\n',
      'main/.git/worktrees/one/commondir': '../..\n',
      'one/.git': 'gitdir: ../main/.git/worktrees/one\n',
      'one/a/file': '',
    })
    expect(findWorkspace(around(join(root, 'one/a')))).toBe(join(root, 'one'))
  })

  it.each([
    ['an empty folder', { '.git/x': '' }],
    ['a file that names nothing', { '.git': 'rubbish\n' }],
    ['a file that names a folder that is gone', { '.git': 'gitdir: elsewhere\n' }],
    ['what an interrupted clone leaves', { ...repository, '.git/HEAD': '' }],
    ['a repository without its objects', { '.git/HEAD': 'ref: refs/heads/main\n', '.git/refs/x': '' }],
  ])('is not marked by an invalid .git: %s', (_what, git) => {
    const root = tempTree({ 'baton.toml': '', 'a/b/file': '' })
    writeTree(join(root, 'a'), git)
    if (!('.git' in git)) rmSync(join(root, 'a/.git/x'), { force: true })
    const located = locateWorkspace(around(join(root, 'a/b')))
    expect(located).toMatchObject({ workspace: root, mark: 'baton.toml' })
    expect(located.passed).toEqual([{ path: join(root, 'a/.git'), state: { kind: 'no repository' } }])
  })

  it('is not marked by another user above the current folder, only in it', () => {
    const root = tempTree({ ...repository, 'mine/file': '' })
    const owners = new Set([-1])
    const located = locateWorkspace(around(join(root, 'mine')), { owners })
    expect(located).toMatchObject({ workspace: join(root, 'mine'), mark: undefined })
    expect(foreignMarks(located)).toEqual([
      `${root} is not the workspace, because its .git belongs to another user (uid ${process.getuid?.()}); the workspace is ${join(root, 'mine')}`,
    ])
    expect(locateWorkspace(around(root), { owners })).toMatchObject({ workspace: root, mark: '.git', passed: [] })
  })

  it('is marked by this user and, for root, by the user of sudo', () => {
    const uid = process.getuid?.()
    expect([...(markOwners({}) ?? [])]).toEqual([uid])
    expect([...(markOwners({ SUDO_UID: '1000' }) ?? [])]).toEqual(uid === 0 ? [0, 1000] : [uid])
    expect([...(markOwners({ SUDO_UID: 'x' }) ?? [])]).toEqual([uid])
  })

  it('is the current folder by default', () => {
    const root = tempTree({ 'home/a/b/file': '' })
    const cwd = join(root, 'home/a/b')
    expect(findWorkspace(around(cwd, join(root, 'home')))).toBe(cwd)
  })

  it('is never the home folder or a folder above it', () => {
    const root = tempTree({ 'home/.aipack/x': '', 'baton.toml': '', 'home/a/file': '' })
    const home = join(root, 'home')
    expect(findWorkspace(around(join(home, 'a'), home))).toBe(join(home, 'a'))
    expect(findWorkspace(around(home, home))).toBe(home)
  })

  it('is returned with links resolved', () => {
    const root = tempTree({ 'real/.aipack/x': '' })
    symlinkSync(join(root, 'real'), join(root, 'link'))
    expect(findWorkspace(around(join(root, 'link')))).toBe(join(root, 'real'))
  })
})

describe('config files', () => {
  it('of the user are found by BATON_HOME, then XDG, then the home folder', () => {
    const home = '/home/u'
    const env = { BATON_HOME: '/b', XDG_CONFIG_HOME: '/x' }
    expect(userConfigFile({ env, home })).toBe('/b/config/config.toml')
    expect(userConfigFile({ env: { ...env, BATON_HOME: '' }, home })).toBe('/x/baton/config.toml')
    expect(userConfigFile({ env: { XDG_CONFIG_HOME: 'relative' }, home })).toBe('/home/u/.config/baton/config.toml')
  })

  it('of the user are separate from packs and other data', () => {
    const home = '/home/u'
    expect(userDataFolder({ env: { BATON_HOME: '/b', XDG_DATA_HOME: '/x' }, home })).toBe('/b/data')
    expect(userDataFolder({ env: { BATON_HOME: '', XDG_DATA_HOME: '/x' }, home })).toBe('/x/baton')
    expect(userDataFolder({ env: { XDG_DATA_HOME: 'relative' }, home })).toBe('/home/u/.local/share/baton')
  })

  it('of the workspace are baton.toml or .baton/config.toml', () => {
    const root = tempTree({ '.baton/config.toml': '' })
    expect(workspaceConfigFile(root)).toBe(join(root, '.baton/config.toml'))
    expect(workspaceConfigFile(tempTree())).toBeUndefined()
  })

  it('are no folders that a killed run has held, also while they are removed: empty ones', () => {
    const root = tempTree({ 'project/a/file': '' })
    const cwd = join(root, 'project/a')
    for (const name of ['baton.toml', '.mcp.json', '.baton/config.toml'])
      mkdirSync(join(cwd, name), { recursive: true })
    expect(workspaceConfigFile(cwd)).toBeUndefined()
    expect(workspaceMcpFile(cwd)).toBeUndefined()
    rmSync(join(cwd, '.baton'), { recursive: true })
    writeTree(root, { 'project/baton.toml': '' })
    expect(findWorkspace(around(cwd))).toBe(join(root, 'project'))
  })

  it('of the workspace cannot be two', () => {
    const root = tempTree({ '.baton/config.toml': '', 'baton.toml': '' })
    mkdirSync(join(root, 'x'))
    expect(() => workspaceConfigFile(root)).toThrow(/has two config files: baton.toml and .baton\/config.toml$/)
  })
})

it('names every possible config file, whether it exists or not', () => {
  const root = tempTree({ '.aipack/x': '', 'a/b/c.md': '' })
  const home = join(root, 'home')
  const files = possibleConfigFiles({ cwd: join(root, 'a/b'), env: {}, home })
  expect(files).toEqual([
    join(home, '.config/baton/config.toml'),
    join(home, '.config/baton/mcp.json'),
    join(root, '.mcp.json'),
    join(home, '.aipack-base/config-default.toml'),
    join(home, '.aipack-base/config-user.toml'),
    join(root, '.aipack/config.toml'),
    ...['a/b', 'a', ''].flatMap((folder) => [
      join(root, folder, 'baton.toml'),
      join(root, folder, '.baton/config.toml'),
    ]),
  ])
})
