import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { editorModule } from '../../../src/script/host/editor.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection, type HostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const script = '#!/bin/sh\nprintf "%s|" "$@" "$SECRET_TOKEN" > opened.tmp && mv opened.tmp opened.txt\n'

function world(env: Readonly<Record<string, string>>): HostSection & { readonly folder: string } {
  const folder = tempTree({ 'ä b.txt': 'text', 'bin/my-editor': script, 'dir/x': '' })
  chmodSync(join(folder, 'bin/my-editor'), 0o755)
  const path = `${join(folder, 'bin')}:/usr/bin:/bin`
  const surroundings = { cwd: folder, env: { PATH: path, SECRET_TOKEN: 'hidden', ...env } }
  return { folder, ...hostSection(folder, { surroundings }) }
}

function open(host: HostSection, path: LuaValue): Promise<LuaValue> {
  return host.wait(editorModule, 'open_file', path)
}

describe('aip.editor.open_file', () => {
  it('starts the editor with the file, without keys, does not wait, and returns its name', async () => {
    const host = world({ VISUAL: 'my-editor -n' })
    expect(await open(host, 'ä b.txt')).toEqual({ editor: 'my-editor' })
    await vi.waitUntil(() => existsSync(join(host.folder, 'opened.txt')), { timeout: 10_000 })
    expect(readFileSync(join(host.folder, 'opened.txt'), 'utf8')).toBe(`-n|${join(host.folder, 'ä b.txt')}||`)
    expect(host.records.filter(({ k }) => k !== 'obs')).toMatchObject([
      { k: 'started', kind: 'command', repeat: 'safe', request: { command: 'my-editor', args: ['-n', 'ä b.txt'] } },
      { k: 'ended', kind: 'command', status: 'ok', value: true },
    ])
  })

  it('returns nil if no editor is known or none starts', async () => {
    const host = world({})
    expect(await open(host, 'ä b.txt')).toBeUndefined()
    expect(host.records.filter(({ k }) => k !== 'obs')).toEqual([])
    expect(await open(world({ EDITOR: 'no-such-editor' }), 'ä b.txt')).toBeUndefined()
  })

  it('does not start an editor that needs the terminal, and says so', async () => {
    const host = world({ EDITOR: 'vim' })
    expect(await open(host, 'ä b.txt')).toBeUndefined()
    expect(host.events).toMatchObject([{ type: 'warning', message: expect.stringContaining('vim needs the terminal') }])
    expect(host.records.filter(({ k }) => k !== 'obs')).toEqual([])
  })

  it('refuses what is not a file, or not a path', async () => {
    const host = world({ EDITOR: 'my-editor' })
    await expect(open(host, 'nope.txt')).rejects.toThrow('aip.editor.open_file: there is no file nope.txt')
    await expect(open(host, 'dir')).rejects.toThrow('there is no file dir')
    await expect(open(host, undefined)).rejects.toThrow('the path must be a string, but was nil')
    await expect(open(host, '')).rejects.toThrow('there is no file')
  })

  it('is called from Lua, and its errors can be caught', async () => {
    const code = `
      local ok, problem = pcall(aip.editor.open_file, "nope.txt")
      return { aip.editor.open_file("ä b.txt").editor, ok, tostring(problem):find("there is no file nope.txt", 1, true) ~= nil }`
    expect(await runLua(world({ EDITOR: 'my-editor' }), code)).toEqual(['my-editor', false, true])
  })
})
