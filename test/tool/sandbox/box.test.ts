import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { snapshot } from '../../helpers/baton.ts'
import { hasBox, inBox } from '../../helpers/box.ts'

describe.skipIf(!hasBox)('a box of bwrap (needs bwrap and user namespaces)', () => {
  it('lets a command change the workspace, and tells how it ended', async () => {
    const end = await inBox('echo new > made.txt; echo out; echo err >&2; exit 3')
    expect(end).toMatchObject({ code: 3, out: 'out\n', err: 'err\n', stopped: undefined, warnings: [] })
    expect(readFileSync(join(end.work, 'made.txt'), 'utf8')).toBe('new\n')
  })

  it('only reads with "read-only"', async () => {
    const end = await inBox('cat a.txt; echo new > made.txt', {
      files: { 'a.txt': 'a\n' },
      rights: { mode: 'read-only' },
    })
    expect(end.out).toBe('a\n')
    expect(end.err).toContain('Read-only file system')
    expect(existsSync(join(end.work, 'made.txt'))).toBe(false)
  })

  it('is the command itself with "danger-full-access"', async () => {
    const end = await inBox('echo "$HOME"', { rights: { mode: 'danger-full-access' } })
    expect(end.out).toBe(`${end.home}\n`)
  })

  it('hides keys, the state of Baton and the folders of others', async () => {
    const end = await inBox('cat .env deep/er/.env.local; ls ~/.ssh; cat ~/.netrc; ls "$STATE"; ls /tmp', {
      files: { '.env': 'KEY=1\n', 'deep/er/.env.local': 'KEY=2\n', 'deep/.env.example': 'KEY=\n' },
    })
    expect(end.out).not.toContain('KEY')
    expect(end.err.match(/Permission denied/g)).toHaveLength(2)
  })

  it('keeps what decides what is run', async () => {
    const files = { '.git/config': '[core]\n', 'baton.toml': '', '.baton/config.toml': '', 'sub/.mcp.json': '{}' }
    const lines = [
      'echo x > .git/config',
      'echo x > baton.toml',
      'rm -r .baton',
      'mv .baton b',
      'echo x > sub/.mcp.json',
    ]
    const end = await inBox(lines.map((line) => `(${line}) && echo DONE`).join('; '), { files })
    expect(end.out).toBe('')
    expect(snapshot(end.work)).toEqual({ ...files, '.keep': '' })
  })

  it('is told of a workspace that protects nothing, because a protected name is a link', async () => {
    const end = await inBox('echo x > a.txt', { prepare: ({ work }) => symlinkSync('elsewhere', join(work, '.git')) })
    expect(end.err).toContain('Read-only file system')
    expect(end.warnings.join()).toContain('is a link')
  })
})
