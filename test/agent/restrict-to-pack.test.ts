import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { writeLocked } from '../../src/pack/lock-file.ts'
import { agentWorld, aip } from '../helpers/agents.ts'
import { placeAt } from '../helpers/effects.ts'
import { withScope, withServices } from '../../src/event/context.ts'

const pack = '.aipack/pack/custom/demo/notes'

function manifest(capabilities: string): string {
  return `[pack]\nnamespace = "demo"\nname = "notes"\nversion = "1.0.0"\n${capabilities}`
}

/** What a script returns, or the message of the error that stops it. */
const attempt = `local function try(call, ...)
  local ok, result = pcall(call, ...)
  return ok and "ok" or tostring(result)
end
`

describe('agents of packs with capabilities', () => {
  it.each([
    ['aip.file.load, "docs/a.md"', 'ok'],
    ['aip.file.load, "secret.md"', 'demo@notes may not read secret.md'],
    ['aip.file.save, "out/a.txt", "x"', 'ok'],
    ['aip.file.save, "docs/a.md", "x"', 'demo@notes may not write docs/a.md'],
    ['aip.file.save, "demo@notes$workspace/a.txt", "x"', 'ok'],
    ['aip.file.load, "demo@notes/pack.toml"', 'ok'],
    ['aip.file.save, "$tmp/a.txt", "x"', 'ok'],
    ['aip.cmd.exec, "echo"', 'ok'],
    ['aip.cmd.exec, "sh", { "-c", "true" }', 'demo@notes may not run sh'],
    ['aip.web.get, "http://127.0.0.1:9/"', 'demo@notes may not connect to 127.0.0.1:9'],
    ['aip.web.post, "http://127.0.0.1:9/", ""', 'demo@notes may not connect to 127.0.0.1:9'],
    ['aip.agent.run, "./other.aip"', 'demo@notes may not read secret.md'],
  ])('%s: %s', async (call, outcome) => {
    const world = agentWorld({
      'docs/a.md': 'a',
      'secret.md': 's',
      [`${pack}/pack.toml`]: manifest('[capabilities]\nread = ["docs/**"]\nwrite = ["out/**"]\ncommands = ["echo"]\n'),
      [`${pack}/main.aip`]: aip({ Output: `${attempt}return try(${call})` }),
      [`${pack}/other.aip`]: aip({ Output: 'return aip.file.load("secret.md").content' }),
    })
    for (const name of ['demo@notes', `${pack}/main.aip`, join(world.folder, pack, 'main')]) {
      const { outputs } = await world.run(name)
      expect(outputs[0]).toContain(outcome)
    }
  })

  it('list only files that they may read', async () => {
    const world = agentWorld({
      'docs/a.md': '',
      'docs/b.txt': '',
      'other/c.md': '',
      [`${pack}/pack.toml`]: manifest('[capabilities]\nread = ["docs/*.md"]\n'),
      [`${pack}/main.aip`]: aip({
        Output: `local names = {}
for _, file in ipairs(aip.file.list("**/*")) do table.insert(names, file.path) end
return { names, aip.file.exists("other/c.md"), aip.file.exists("docs/a.md") }`,
      }),
    })
    expect((await world.run('demo@notes')).outputs).toEqual([[['docs/a.md'], false, true]])
  })

  it('follow no redirect to a host that was not granted', async () => {
    const server = createServer(
      (_, response) => void response.writeHead(302, { location: 'http://localhost:1/' }).end(),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      const world = agentWorld({
        [`${pack}/pack.toml`]: manifest('[capabilities]\nhosts = ["127.0.0.1"]\n'),
        [`${pack}/main.aip`]: aip({ Output: `${attempt}return try(aip.web.get, "http://127.0.0.1:${port}/")` }),
      })
      expect((await world.run('demo@notes')).outputs[0]).toContain('may not connect to localhost:1')
    } finally {
      server.close()
    }
  })

  it('pass the granted variables to programs, and those that every program needs', async () => {
    const world = agentWorld({
      [`${pack}/pack.toml`]: manifest('[capabilities]\ncommands = ["env"]\nenv = ["CI", "OPENAI_API_KEY"]\n'),
      [`${pack}/main.aip`]: aip({ Output: 'return aip.cmd.exec("env").stdout' }),
    })
    const env = { PATH: process.env['PATH'], CI: '1', CC: 'cc', OPENAI_API_KEY: 'not-for-programs' }
    const context = withServices(world.context, { env })
    const file = join(world.folder, pack, 'main.aip')
    const text = aip({ Output: 'return aip.cmd.exec("env").stdout' })
    const result = await world.context.services.agents.run(
      { kind: 'script', agent: { kind: 'aip', name: 'x', file, text }, inputs: null, options: {} },
      withScope(context, { at: placeAt('main') }),
    )
    const names = String(result.end === 'done' && result.outputs[0])
      .split('\n')
      .map((line) => line.split('=')[0])
    expect(names).toEqual(expect.arrayContaining(['CI', 'PATH']))
    expect(names.filter((name) => name === 'CC' || name === 'OPENAI_API_KEY')).toEqual([])
  })

  it('use only granted models', async () => {
    const files = (models: string) => ({
      [`${pack}/pack.toml`]: manifest(`[capabilities]\nmodels = [${models}]\n`),
      [`${pack}/main.aip`]: `${aip({ Options: 'model = "mini"' })}\n# User\n\nHello\n\n${aip({ Output: 'return ai_response.content' })}`,
    })
    const granted = agentWorld(files('"fake::*"'), { provider: createFakeProvider([{ text: ['hi'] }]) })
    expect((await granted.run('demo@notes')).outputs).toEqual(['hi'])
    const refused = agentWorld(files('"other"'), { provider: createFakeProvider([{ text: ['hi'] }]) })
    await expect(refused.run('demo@notes')).rejects.toMatchObject({
      code: 'UNTRUSTED',
      message: 'demo@notes may not call the model fake::mini: its capabilities do not include it',
    })
  })

  it('do not affect packs without the table, or agents outside of packs', async () => {
    const world = agentWorld({
      'secret.md': 's',
      [`${pack}/pack.toml`]: manifest('# capabilities: none\n'),
      [`${pack}/main.aip`]: aip({ Output: 'return aip.file.load("secret.md").content' }),
      'main.aip': aip({ Output: 'return aip.agent.run("demo@notes").outputs[1]' }),
    })
    expect((await world.run('demo@notes')).outputs).toEqual(['s'])
    expect((await world.run('main')).outputs).toEqual(['s'])
  })

  it('that are invalid prevent the pack from running', async () => {
    const world = agentWorld({
      [`${pack}/pack.toml`]: manifest('[capabilities]\nreads = ["docs/**"]\n'),
      [`${pack}/main.aip`]: aip({ Output: 'return "ran"' }),
    })
    await expect(world.run('demo@notes')).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'unknown capability "reads"',
      place: { line: 6 },
    })
  })

  it('apply as granted at installation, whatever pack.toml says now', async () => {
    const world = agentWorld({
      'secret.md': 's',
      '.baton/packs/demo/notes/pack.toml': manifest('[capabilities]\nread = ["**"]\n'),
      '.baton/packs/demo/notes/main.aip': aip({ Output: `${attempt}return try(aip.file.load, "secret.md")` }),
    })
    const root = join(world.folder, '.baton/packs')
    const file = join(root, 'demo/notes/main.aip')
    const folders = { workspace: world.folder, cwd: world.folder, packRoots: [root], aipackBase: '/nowhere' }
    const context = withScope(world.context, { folders, at: placeAt('main') })
    const run = async (): Promise<unknown> => {
      const text = aip({ Output: `${attempt}return try(aip.file.load, "secret.md")` })
      const request = {
        kind: 'script',
        agent: { kind: 'aip', name: 'x', file, text },
        inputs: null,
        options: {},
      } as const
      const result = await context.services.agents.run(request, context)
      return result.end === 'done' ? result.outputs[0] : result.end
    }
    expect(await run()).toBe('ok')
    const locked = { version: '1.0.0', origin: { kind: 'folder', path: 'x' }, digest: 'x', installed: '' } as const
    const nothing = { read: [], write: [], hosts: [], commands: [], env: [], models: [], mcp: [] }
    writeLocked(join(dirname(root), 'packs.lock'), 'demo@notes', { ...locked, capabilities: nothing })
    expect(await run()).toContain('may not read secret.md')
    writeFileSync(join(root, 'demo/notes/pack.toml'), manifest(''))
    expect(await run()).toContain('may not read secret.md')
  })
})
