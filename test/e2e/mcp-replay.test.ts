import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'

const program = join(root, 'test/fixtures/mcp/stdio.mjs')

/** A server that writes a file when it is started, trusted or not. */
function calc(folder: string, ...more: readonly string[]): string {
  const args = ['-c', `echo started >> '${folder}/started'; exec "$0" "$1"`, process.execPath, program]
  return ['[mcp_servers.calc]', 'command = "/bin/sh"', `args = ${JSON.stringify(args)}`, ...more, ''].join('\n')
}

const replies = [callsTools(['calc__add', { a: 2, b: 3 }]), { text: 'It is five.' }]

const files = {
  '.git/HEAD': 'ref: refs/heads/main\n',
  'sum.md': '+++\nmodel = "m"\ntools = ["calc__*"]\n+++\nAdd.\n',
  'tools.lua': 'return #aip.mcp.list() .. " " .. aip.mcp.call("calc", "add", { a = 4, b = 5 }).structured.sum\n',
  'child.lua': 'return aip.agent.run("sum.md", { input = "x" }).outputs[1].text\n',
}

it.each([
  ['sum.md', [], 'trusted = true'],
  ['sum.md', [], ''],
  ['tools.lua', [], 'trusted = true'],
  ['tools.lua', [], ''],
  ['child.lua', [], ''],
])('%s with servers is replayed without them', async (file, args, more) => {
  const model = await startToolModel(replies)
  const cwd = tempTree(files)
  const home = tempTree({ 'config/config.toml': calc(cwd, more) })
  const config = join(home, 'config/config.toml')
  const run = (...given: readonly string[]) =>
    baton(given, { cwd, env: { BATON_GATEWAY_URL: model.url, BATON_HOME: home } })
  const recorded = await run('run', file, ...args, '-y', '--record', 'it.cassette')
  expect(recorded, recorded.stderr).toMatchObject({ code: 0 })
  expect(existsSync(join(cwd, 'started'))).toBe(true)
  const id = /^\d{8}-\d{6}-\w+/m.exec((await run('runs')).stdout)?.[0] ?? ''
  rmSync(join(cwd, 'started'))
  await model.close()

  const elsewhere = [
    '',
    '[mcp_servers.calc]\nurl = "http://127.0.0.1:1/mcp"\n',
    '[mcp_servers.other]\ncommand = "no-such-program"\n',
    calc(cwd),
  ]
  for (const text of elsewhere) {
    writeFileSync(config, text)
    for (const record of ['it.cassette', id]) {
      const replayed = await run('run', '--replay', record)
      expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: recorded.stdout })
      expect(replayed.stderr).toMatch(/replayed: .*1 call to an MCP server.*the result is the same as recorded/)
    }
  }
  expect(existsSync(join(cwd, 'started'))).toBe(false)
})

it('a run with a server of a workspace is replayed if its file is not trusted', async () => {
  const model = await startToolModel(replies)
  const cwd = tempTree(files)
  const args = ['-c', `echo started >> '${cwd}/started'; exec "$0" "$1"`, process.execPath, program]
  writeFileSync(join(cwd, '.mcp.json'), JSON.stringify({ mcpServers: { calc: { command: '/bin/sh', args } } }))
  const run = (home: string, ...given: readonly string[]) =>
    baton(given, { cwd, env: { BATON_GATEWAY_URL: model.url, BATON_HOME: home } })
  const home = tempTree({})
  await run(home, 'trust', '.mcp.json')
  const recorded = await run(home, 'run', 'sum.md', '-y', '--record', 'it.cassette')
  expect(recorded, recorded.stderr).toMatchObject({ code: 0 })
  rmSync(join(cwd, 'started'))
  const shown = await run(home, 'runs', 'show', /^\d{8}-\d{6}-\w+/m.exec((await run(home, 'runs')).stdout)?.[0] ?? '')
  expect(shown.stdout).toMatch(/mcp +calc add +done/)
  const replayed = await run(tempTree({}), 'run', '--replay', 'it.cassette')
  expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: recorded.stdout })
  expect(existsSync(join(cwd, 'started'))).toBe(false)
})
