import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, jsonLines } from '../helpers/baton.ts'
import { inTerminal } from '../helpers/pty.ts'
import { tempTree } from '../helpers/temp.ts'

const files = {
  'notes/pack.toml':
    '[pack]\nnamespace = "demo"\nname = "notes"\nversion = "1.0.0"\n\n[capabilities]\nread = ["docs/**"]\n',
  'notes/main.aip': '# Output\n\n```lua\nreturn "notes of " .. CTX.PACK_IDENTITY\n```\n',
}

describe('installing on the command line', () => {
  it('installs into the project and verifies it, as JSON lines', async () => {
    const cwd = tempTree({ ...files, '.git/HEAD': '' })
    const installed = await baton(['install', 'notes', '--workspace', '-y', '--json'], { cwd })
    expect([installed.code, installed.stderr]).toEqual([0, ''])
    expect(jsonLines(installed.stdout)).toEqual([
      {
        pack: 'demo@notes',
        version: '1.0.0',
        outcome: 'installed',
        folder: join(cwd, '.baton/packs/demo/notes'),
        source: join(cwd, 'notes'),
        digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        capabilities: { read: ['docs/**'], write: [], hosts: [], commands: [], env: [], models: [], mcp: [] },
      },
    ])
    expect(JSON.parse(readFileSync(join(cwd, '.baton/packs.lock'), 'utf8'))).toMatchObject({
      packs: { 'demo@notes': { source: { kind: 'folder', path: 'notes' } } },
    })
    expect(await baton(['install'], { cwd })).toMatchObject({ code: 0, stdout: 'demo@notes 1.0.0: verified\n' })

    rmSync(join(cwd, '.baton/packs'), { recursive: true })
    const elsewhere = await baton(['install'], { cwd })
    expect(elsewhere).toMatchObject({ code: 5, stdout: '' })
    expect(elsewhere.stderr).toMatch(
      /its agents may use:\n.* {2}read +docs\/\*\*\n.*confirmation is needed to install demo@notes 1\.0\.0/s,
    )
    expect(existsSync(join(cwd, '.baton/packs'))).toBe(false)
    const here = await baton(['install'], { cwd, env: { BATON_HOME: installed.home } })
    expect(here).toMatchObject({ code: 0, stdout: 'demo@notes 1.0.0: installed\n', stderr: '' })
  })

  it('packs into a missing folder, without files that contain secrets', async () => {
    const cwd = tempTree({ ...files, 'notes/.env': 'KEY=geheim', 'notes/.env.example': 'KEY=' })
    const packed = await baton(['pack', 'notes', '-o', 'out/deep/'], { cwd })
    expect(packed).toMatchObject({ code: 0, stdout: 'out/deep/demo@notes-v1.0.0.aipack\n' })
    expect(packed.stderr).toMatch(
      /^warning: omitted because it may contain secrets: \.env\ndemo@notes 1\.0\.0: 3 files/,
    )
    expect(await baton(['pack', 'notes', '-o', 'dist', '--json'], { cwd })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"left_out":[".env"]'),
    })
    expect(readdirSync(join(cwd, 'dist'))).toEqual(['demo@notes-v1.0.0.aipack'])
    expect(await baton(['pack', 'notes', '-o', 'notes.zip'], { cwd })).toMatchObject({ code: 2 })
  })

  it('does not let a pack replace the built-in agents', async () => {
    const stranger = '[pack]\nnamespace = "baton"\nname = "core"\nversion = "9.0.0"\n'
    const own = '# Output\n\n```lua\nreturn "of a stranger"\n```\n'
    const cwd = tempTree({
      '.git/HEAD': '',
      'core/pack.toml': stranger,
      '.baton/packs/baton/core/auto-context.aip': own,
      'ask.lua': 'return tostring(aip.file.exists("baton@core/reviewer.aip"))',
    })
    const installed = await baton(['install', 'core', '-y', '--force'], { cwd })
    expect(installed).toMatchObject({ code: 2, stdout: '' })
    expect(installed.stderr).toContain('a pack cannot be called baton@core: the packs of baton ship with Baton')
    const run = await baton(['ask.lua'], { cwd })
    expect(run.stderr).toContain('.baton/packs/baton/core is not used: baton@core is the pack of the agents')
    expect(run).toMatchObject({ code: 0, stdout: 'true\n' })
    expect((await baton(['list'], { cwd })).stdout).toMatch(/pack baton@core .*shadowed by .*\/agents/)
  })

  it('asks on a terminal, and installs nothing when the answer is no', async () => {
    const cwd = tempTree({ ...files, '.git/HEAD': '' })
    const answered: string[] = []
    const { output } = await inTerminal(
      'baton install notes --workspace; echo "exit $?"; baton install notes --workspace',
      {
        cwd,
        onScreen: (terminal, type) => {
          const questions = terminal.everything().join('\n').split('[y/N]').length - 1
          if (questions <= answered.length) return
          answered.push(questions === 1 ? 'n' : 'y')
          type(questions === 1 ? '\n' : 'y\n')
        },
      },
    )
    expect(output).toContain('nothing was installed')
    expect(output).toContain('exit 1')
    expect(output).toContain('demo@notes 1.0.0: installed')
    expect(existsSync(join(cwd, '.baton/packs/demo/notes/main.aip'))).toBe(true)
  })

  it('leaves nothing behind when a download is stopped by Ctrl-C', async () => {
    const cwd = tempTree({ '.git/HEAD': '' })
    const stop: { now?: () => void } = {}
    const server = createServer((_, response) => {
      response.write('PK')
      stop.now?.()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      const { code } = await inTerminal(`echo go; baton install http://127.0.0.1:${port}/x.aipack --workspace -y`, {
        cwd,
        onScreen: (_, type) => void (stop.now ??= () => type('\u0003')),
      })
      expect(code).toBe(130)
      expect(existsSync(join(cwd, '.baton'))).toBe(false)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})
