import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  findWorkspace,
  possibleConfigFiles,
  userConfigFile,
  userDataFolder,
  workspaceConfigFile,
} from '../../src/config/locate.ts'
import { tempTree } from '../helpers/temp.ts'

describe('the workspace', () => {
  it.each(['baton.toml', '.baton/config.toml', '.aipack/x', '.git/HEAD'])('is the nearest folder with %s', (mark) => {
    const root = tempTree({ [`project/${mark}`]: '', 'project/a/b/file': '', '.git/HEAD': '' })
    expect(findWorkspace({ cwd: join(root, 'project/a/b'), home: '/nowhere' })).toBe(join(root, 'project'))
  })

  it('may be marked by .git as a file, as in git work trees', () => {
    const root = tempTree({ '.git': 'gitdir: elsewhere', 'a/file': '' })
    expect(findWorkspace({ cwd: join(root, 'a'), home: '/nowhere' })).toBe(root)
  })

  it('is the current folder when nothing marks one', () => {
    const root = tempTree({ 'home/a/b/file': '' })
    const cwd = join(root, 'home/a/b')
    expect(findWorkspace({ cwd, home: join(root, 'home') })).toBe(cwd)
  })

  it('is never the home folder or above it', () => {
    const root = tempTree({ 'home/.git/HEAD': '', 'baton.toml': '', 'home/a/file': '' })
    const home = join(root, 'home')
    expect(findWorkspace({ cwd: join(home, 'a'), home })).toBe(join(home, 'a'))
    expect(findWorkspace({ cwd: home, home })).toBe(home)
  })

  it('is given with links resolved', () => {
    const root = tempTree({ 'real/.git/HEAD': '' })
    symlinkSync(join(root, 'real'), join(root, 'link'))
    expect(findWorkspace({ cwd: join(root, 'link'), home: '/nowhere' })).toBe(join(root, 'real'))
  })
})

describe('config files', () => {
  it('of the user follow BATON_HOME, then XDG, then the home folder', () => {
    const home = '/home/u'
    const env = { BATON_HOME: '/b', XDG_CONFIG_HOME: '/x' }
    expect(userConfigFile({ env, home })).toBe('/b/config/config.toml')
    expect(userConfigFile({ env: { ...env, BATON_HOME: '' }, home })).toBe('/x/baton/config.toml')
    expect(userConfigFile({ env: { XDG_CONFIG_HOME: 'relative' }, home })).toBe('/home/u/.config/baton/config.toml')
  })

  it('of the user lie apart from packs and other data', () => {
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

  it('of the workspace may not be two', () => {
    const root = tempTree({ '.baton/config.toml': '', 'baton.toml': '' })
    mkdirSync(join(root, 'x'))
    expect(() => workspaceConfigFile(root)).toThrow(/has two config files: baton.toml and .baton\/config.toml$/)
  })
})

it('names every file that could be config from here, whether it exists or not', () => {
  const root = tempTree({ '.git/HEAD': '', 'a/b/c.md': '' })
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
