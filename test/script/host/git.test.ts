import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { gitModule } from '../../../src/script/host/git.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection, type HostSectionOptions } from './host-section.ts'
import { runLua } from './lua-host.ts'

const env = { PATH: process.env['PATH'], HOME: '/nowhere' }

/** A repository with all files committed. `sub` is the workspace within it. */
function repository(files: Readonly<Record<string, string>>, sub = '.'): string {
  const folder = tempTree(files)
  const git = (...args: readonly string[]): void => {
    const { status, stderr } = spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], {
      cwd: folder,
      encoding: 'utf8',
      env,
    })
    if (status !== 0) throw new Error(stderr)
  }
  git('init', '-q')
  git('add', '-A')
  git('commit', '-qm', 'first')
  return join(folder, sub)
}

function restore(workspace: string, path: LuaValue, options: HostSectionOptions = {}): Promise<LuaValue> {
  const surroundings = { cwd: workspace, env }
  return hostSection(workspace, { surroundings, ...options }).wait(gitModule, 'restore', path)
}

describe('aip.git.restore', () => {
  it('restores a file that was changed or deleted, and no other', async () => {
    const folder = repository({ 'a.txt': 'a', 'ü b/*.txt': 'star', 'ü b/x.txt': 'x' })
    for (const path of ['a.txt', 'ü b/*.txt', 'ü b/x.txt']) writeFileSync(join(folder, path), 'changed')
    expect(await restore(folder, 'ü b/*.txt')).toBe('')
    rmSync(join(folder, 'a.txt'))
    expect(await restore(folder, join(folder, 'a.txt'))).toBe('')
    const contents = ['a.txt', 'ü b/*.txt', 'ü b/x.txt'].map((path) => readFileSync(join(folder, path), 'utf8'))
    expect(contents).toEqual(['a', 'star', 'changed'])
  })

  it('restores folders, and the whole workspace, but nothing outside of it', async () => {
    const folder = repository({ 'in/a.txt': 'a', 'in/deep/b.txt': 'b', 'out.txt': 'o' }, 'in')
    const change = (): void => {
      for (const path of ['a.txt', 'deep/b.txt', '../out.txt']) writeFileSync(join(folder, path), 'changed')
    }
    const contents = (): readonly string[] =>
      ['a.txt', 'deep/b.txt', '../out.txt'].map((path) => readFileSync(join(folder, path), 'utf8'))
    change()
    await restore(folder, 'deep')
    expect(contents()).toEqual(['changed', 'b', 'changed'])
    change()
    await restore(folder, '.')
    expect(contents()).toEqual(['a', 'b', 'changed'])
  })

  it('returns the restored files, and each is recorded as a change that is kept', async () => {
    const folder = repository({ 'a.txt': 'a', 'b.txt': 'b' })
    writeFileSync(join(folder, 'b.txt'), 'changed')
    const host = hostSection(folder, { surroundings: { cwd: folder, env } })
    await host.wait(gitModule, 'restore', '.')
    expect(host.events).toEqual([{ type: 'file.changed', op: 'restore', path: 'b.txt' }])
    expect(host.records).toMatchObject([
      { k: 'obs', name: 'aip.git.restore', value: [{ path: 'b.txt' }] },
      { k: 'started', kind: 'file', repeat: 'safe', request: { op: 'restore', path: 'b.txt' } },
      { k: 'ended', kind: 'file', status: 'ok' },
    ])
  })

  it('leaves nothing that git regards as a change, even if it does not read files', async () => {
    const folder = repository({ 'a.txt': 'a', 'b.txt': 'b' })
    for (const path of ['a.txt', 'b.txt']) writeFileSync(join(folder, path), 'changed')
    await restore(folder, '.')
    expect(spawnSync('git', ['diff-files', '--quiet'], { cwd: folder, env }).status).toBe(0)
  })

  it('refuses an unmerged file, and restores nothing else', async () => {
    const folder = repository({ 'a.txt': 'a', 'b.txt': 'b' })
    const git = (...args: readonly string[]): unknown =>
      spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], { cwd: folder, env })
    git('branch', 'other')
    const commit = (text: string): void => {
      writeFileSync(join(folder, 'a.txt'), text)
      git('commit', '-qam', text)
    }
    commit('mine')
    git('checkout', '-q', 'other')
    commit('theirs')
    git('merge', '-q', '@{-1}')
    expect(spawnSync('git', ['status', '-s'], { cwd: folder, env, encoding: 'utf8' }).stdout).toBe('UU a.txt\n')
    writeFileSync(join(folder, 'b.txt'), 'changed')
    await expect(restore(folder, '.')).rejects.toThrow('a.txt is unmerged')
    expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe('changed')
  })

  it('reports that the workspace is not a repository, without the usage of git', async () => {
    await expect(restore(tempTree({ 'a.txt': 'a' }), 'a.txt')).rejects.toThrow(
      /^aip\.git\.restore: a\.txt cannot be restored: the workspace is not a git repository$/,
    )
  })

  it('refuses what is outside, in .git, a pattern or an option', async () => {
    const folder = repository({ 'in/a.txt': 'a', 'out.txt': 'o' }, 'in')
    writeFileSync(join(folder, '../out.txt'), 'changed')
    await expect(restore(folder, '../out.txt')).rejects.toThrow('outside the workspace')
    await expect(restore(folder, '.git/config')).rejects.toThrow('belongs to git')
    for (const path of [':/', ':(top)out.txt', '*', '--source=HEAD~1', '-h']) {
      await expect(restore(folder, path)).rejects.toThrow('cannot be restored')
    }
    expect(readFileSync(join(folder, '../out.txt'), 'utf8')).toBe('changed')
  })

  it('restores a link itself, refuses one that leads outside, and restores nothing of a folder that contains one', async () => {
    const folder = repository({ 'dir/a.txt': 'a', 'dir/b.txt': 'b' })
    const outside = tempTree({ 'x.txt': 'x' })
    writeFileSync(join(folder, 'dir/a.txt'), 'changed')
    rmSync(join(folder, 'dir/b.txt'))
    symlinkSync(join(outside, 'x.txt'), join(folder, 'dir/b.txt'))
    await expect(restore(folder, 'dir/b.txt')).rejects.toThrow('outside the workspace through the link')
    await expect(restore(folder, 'dir')).rejects.toThrow('outside the workspace through the link')
    expect(readFileSync(join(folder, 'dir/a.txt'), 'utf8')).toBe('changed')
    rmSync(join(folder, 'dir/b.txt'))
    symlinkSync('a.txt', join(folder, 'dir/b.txt'))
    await restore(folder, 'dir/b.txt')
    expect(lstatSync(join(folder, 'dir/b.txt')).isSymbolicLink()).toBe(false)
    expect(readFileSync(join(folder, 'dir/a.txt'), 'utf8')).toBe('changed')
  })

  it('fails with the message of git: an unknown file, no repository, no git', async () => {
    const folder = repository({ 'a.txt': 'a' })
    mkdirSync(join(folder, 'empty'))
    await expect(restore(folder, 'nope.txt')).rejects.toThrow(
      "aip.git.restore: nope.txt cannot be restored: error: pathspec 'nope.txt' did not match",
    )
    await expect(restore(tempTree({ 'a.txt': 'a' }), 'a.txt')).rejects.toThrow('cannot be restored')
    const surroundings = { cwd: folder, env: { PATH: join(folder, 'empty') } }
    await expect(restore(folder, 'a.txt', { surroundings })).rejects.toThrow('git cannot be run')
  })

  it('refuses nil, tables and NUL', async () => {
    const folder = tempTree()
    await expect(restore(folder, undefined)).rejects.toThrow('aip.git.restore: the path must be a string, but was nil')
    await expect(restore(folder, {})).rejects.toThrow('but was table')
    await expect(restore(folder, 'a\0b')).rejects.toThrow('NUL')
  })

  it('is called from Lua, and its errors can be caught', async () => {
    const folder = repository({ 'a.txt': 'a' })
    rmSync(join(folder, 'a.txt'))
    const host = hostSection(folder, { surroundings: { cwd: folder, env } })
    const code = `
      local ok, problem = pcall(aip.git.restore, "nope")
      return { aip.git.restore("a.txt"), ok, tostring(problem):find("did not match", 1, true) ~= nil }`
    expect(await runLua(host, code)).toEqual(['', false, true])
    expect(existsSync(join(folder, 'a.txt'))).toBe(true)
  })
})
