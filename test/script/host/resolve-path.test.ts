import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fileModule } from '../../../src/script/host/file.ts'
import { pathModule } from '../../../src/script/host/path.ts'
import { HostCall } from '../../../src/script/host/call.ts'
import { resolveGlob, resolvePath } from '../../../src/script/host/resolve-path.ts'
import type { RunContext, RunFolders } from '../../../src/event/context.ts'
import type { LuaValue } from '../../../src/script/engine.ts'
import { testContext } from '../../helpers/context.ts'
import { tempTree } from '../../helpers/temp.ts'
import { callFunction, hostSection } from './host-section.ts'

const root = tempTree({
  'wks/docs/a.md': 'a',
  'wks/.aipack/pack/custom/ns/own/x.txt': 'own',
  'wks/.aipack/support/pack/ns_a/pack_a_1/extra/test.txt': 'kept',
  'base/pack/installed/ns/p/main.aip': '',
  'base/pack/installed/ns/p/docs/one.md': 'one',
  'base/pack/installed/ns/p/docs/two.md': 'two',
  'base/config-user.toml': '',
  'linked/[odd]/notes/n.md': 'note',
})
const workspace = join(root, 'wks')
const aipackBase = join(root, 'base')
const custom = join(workspace, '.aipack/pack/custom')
symlinkSync(join(root, 'linked/[odd]'), join(custom, 'ns/[odd]'))
symlinkSync(join(root, 'linked/[odd]'), join(custom, 'ns/linked'))
const folders = { workspace, cwd: workspace, packRoots: [custom, join(aipackBase, 'pack/installed')], aipackBase }
const context = inFolders(folders)
const section = { ...hostSection(workspace).section, context }

function inFolders(places: RunFolders): RunContext {
  return testContext({ scope: { runId: '20260101-abc', folders: places } })
}

function file(name: string, ...args: readonly LuaValue[]): LuaValue {
  const module = name === 'exists' ? pathModule : fileModule
  return (callFunction({ module, name }, args, section) as readonly LuaValue[])[0]
}

describe('resolvePath', () => {
  it.each([
    ['~/x', join(homedir(), 'x')],
    ['/a/../b', '/b'],
    ['a/./b/../c', join(workspace, 'a/c')],
    ['$tmp', join(workspace, '.aipack/.session/20260101-abc/tmp')],
    ['$tmp/a/b', join(workspace, '.aipack/.session/20260101-abc/tmp/a/b')],
    ['$tmpfile', join(workspace, '$tmpfile')],
    ['ns@p', join(aipackBase, 'pack/installed/ns/p')],
    ['ns@p/docs/one.md', join(aipackBase, 'pack/installed/ns/p/docs/one.md')],
    ['ns@p$base/x', join(aipackBase, 'support/pack/ns/p/x')],
    ['ns@p$workspace/x', join(workspace, '.aipack/support/pack/ns/p/x')],
    ['.aipack/.prompt/pro@coder/x.md', join(workspace, '.aipack/.prompt/pro@coder/x.md')],
    ['logo@2x.png', join(workspace, 'logo@2x.png')],
    ['./ns@p', join(workspace, 'ns@p')],
  ])('resolves %s', (path, expected) => {
    expect(resolvePath(path, context)).toBe(expected)
  })

  it('resolves only relative paths from another base', () => {
    expect(resolvePath('x', context, '/b')).toBe('/b/x')
    expect(resolvePath('ns@p/x', context, '/b')).toBe(join(aipackBase, 'pack/installed/ns/p/x'))
    expect(resolvePath('$tmp/x', context, '/b')).toBe(join(workspace, '.aipack/.session/20260101-abc/tmp/x'))
  })

  it.each([
    ['no@pack/x', 'No aipack matches for no@pack/x'],
    ['ns@p/../x', 'is not a pack reference: its path may not contain ..'],
    ['ns@p$else/x', 'is not a pack reference: only $base and $workspace may follow the name'],
  ])('refuses %s', (path, message) => {
    expect(() => resolvePath(path, context)).toThrow(message)
  })

  it('finds no packs in a run without any', () => {
    expect(() => resolvePath('ns@p', inFolders({ ...folders, packRoots: [] }))).toThrow('No aipack matches for ns@p')
  })

  it.each([
    [undefined, workspace],
    [null, workspace],
    ['docs', join(workspace, 'docs')],
    ['ns@p', join(aipackBase, 'pack/installed/ns/p')],
    ['ns@p$base', join(aipackBase, 'support/pack/ns/p')],
    ['/etc', '/etc'],
  ])('base_dir %s is %s', (given, expected) => {
    const call = new HostCall('f', [{ base_dir: given }], section)
    expect(call.baseFolder(call.options(0))).toBe(expected)
  })
})

describe('resolveGlob', () => {
  it.each([
    ['docs/**', 'docs/**'],
    ['!**/*.md', '!**/*.md'],
    ['~/x/*', `${homedir()}/x/*`],
    ['ns@p/**/*.md', `${aipackBase}/pack/installed/ns/p/**/*.md`],
    ['!ns@p/docs/*', `!${aipackBase}/pack/installed/ns/p/docs/*`],
    ['$tmp/*.json', `${workspace}/.aipack/.session/20260101-abc/tmp/*.json`],
  ])('resolves %s', (glob, expected) => {
    expect(resolveGlob(glob, context)).toBe(expected)
  })
})

describe('files of packs', () => {
  it('can be loaded, listed and tested (vector 51)', () => {
    expect(file('load', 'ns@own/x.txt')).toMatchObject({ path: 'ns@own/x.txt', content: 'own' })
    expect(file('load', 'docs/two.md', { base_dir: 'ns@p' })).toMatchObject({ content: 'two' })
    expect(file('list', ['ns@p/**/*.md', '!ns@p/docs/two.md'])).toMatchObject([{ name: 'one.md' }])
    expect(file('list', '**/*.md', { base_dir: 'ns@p' })).toMatchObject([
      { path: 'docs/one.md' },
      { path: 'docs/two.md' },
    ])
    const asked = ['docs', 'docs/', './docs/..', 'ns@p', 'ns@p/docs/one.md', 'ns_a@pack_a_1$workspace/extra/test.txt']
    expect(asked.map((path) => file('exists', path))).toEqual(asked.map(() => true))
    expect(['no@pack', 'ns@p/none', 'ns@p$base'].map((path) => file('exists', path))).toEqual([false, false, false])
  })

  it('can be behind a link, also when the folder has glob characters in its name', () => {
    expect(file('load', 'ns@linked/notes/n.md')).toMatchObject({ content: 'note' })
    expect(file('list', 'ns@linked/**')).toMatchObject([{ name: 'n.md' }])
    expect(resolveGlob('ns@own/*', inFolders({ ...folders, workspace: '/a[b]{c}*' }))).toBe(`${custom}/ns/own/*`)
  })

  it('are listed below folders whose names contain glob characters', () => {
    const odd = tempTree({ 'w[1]{a,b}!/.aipack/pack/custom/ns/p/x.md': 'x' })
    const inside = join(odd, 'w[1]{a,b}!')
    const { section: there } = hostSection(inside)
    const packs = inFolders({ ...folders, workspace: inside, packRoots: [join(inside, '.aipack/pack/custom')] })
    const found = callFunction({ module: fileModule, name: 'list' }, ['ns@p/*.md'], { ...there, context: packs })
    expect(found).toMatchObject([[{ path: '.aipack/pack/custom/ns/p/x.md' }]])
  })
})

describe('the folders for scripts', () => {
  it('include $tmp, which is created by the first write only', () => {
    expect(file('exists', '$tmp')).toBe(false)
    file('save', '$tmp/deep/x.txt', 'kept')
    expect(file('load', '$tmp/deep/x.txt')).toMatchObject({ content: 'kept' })
    expect(file('list', '$tmp/**')).toMatchObject([{ name: 'x.txt' }])
    expect(file('delete', '$tmp/deep/x.txt')).toBe(true)
  })

  it('include support folders, which can be written; nothing below ~/.aipack-base is deleted or moved away (vector 49)', () => {
    file('save', 'ns@p$workspace/a.txt', 'here')
    file('save', 'ns@p$base/b.txt', 'everywhere')
    file('append', 'ns@p$base/b.txt', '!')
    expect(readFileSync(join(aipackBase, 'support/pack/ns/p/b.txt'), 'utf8')).toBe('everywhere!')
    expect(file('load', 'ns@p$base/b.txt')).toMatchObject({ content: 'everywhere!' })
    expect(file('delete', 'ns@p$workspace/a.txt')).toBe(true)
    expect(() => file('delete', 'ns@p$base/b.txt')).toThrow(`nothing can be deleted in ${aipackBase}`)
    expect(() => file('move', 'ns@p$base/b.txt', 'b.txt')).toThrow('nothing can be deleted in')
    expect(existsSync(join(aipackBase, 'support/pack/ns/p/b.txt'))).toBe(true)
  })

  it('do not include packs and config of ~/.aipack-base, which are unchanged', () => {
    expect(() => file('save', 'ns@p/main.aip', 'x')).toThrow('agents never change it')
    expect(() => file('save', join(aipackBase, 'config-user.toml'), 'x')).toThrow('agents never change it')
    expect(file('load', join(aipackBase, 'config-user.toml'))).toMatchObject({ content: '' })
    expect(readFileSync(join(aipackBase, 'pack/installed/ns/p/main.aip'), 'utf8')).toBe('')
  })

  it('are not left through links in support folders', () => {
    mkdirSync(join(aipackBase, 'support/pack/ns/p'), { recursive: true })
    symlinkSync(root, join(aipackBase, 'support/pack/ns/p/out'))
    expect(() => file('save', 'ns@p$base/out/x.txt', 'x')).toThrow('outside the workspace')
    expect(existsSync(join(root, 'x.txt'))).toBe(false)
  })
})
