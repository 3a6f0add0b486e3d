import { cpSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'

const pack = '.baton/packs/demo/sums'
const manifest =
  '[pack]\nnamespace = "demo"\nname = "sums"\nversion = "1.0.0"\n[capabilities]\nmodels = ["*"]\nmcp = ["calc", "memos"]\n'
const server = { command: 'node', args: ['${PACK_DIR}/mcp/stdio.mjs', '{}'] }

function packFiles(file: unknown = { mcpServers: { calc: server, memos: server } }): Readonly<Record<string, string>> {
  return {
    '.git/HEAD': 'ref: refs/heads/main\n',
    [`${pack}/pack.toml`]: manifest,
    [`${pack}/.mcp.json`]: JSON.stringify(file),
    [`${pack}/main.lua`]: 'return aip.mcp.call("calc", "add", { a = 4, b = 5 }).structured.sum\n',
    [`${pack}/sum.md`]:
      '+++\nmodel = "m"\ntools = ["calc__add"]\ncontext_resources = ["memos:memo://one"]\n+++\nAdd.\n',
    [`${pack}/ask.aip`]:
      '# Options\n\n```toml\nmodel = "m"\ntools = ["calc__add"]\n```\n\n# User\n\nAdd.\n\n# Output\n\n```lua\nreturn { coder_prompt = "Go on." }\n```\n',
    'own.lua':
      'local sum = aip.agent.run("demo@sums").outputs[1]\nlocal isThere = pcall(aip.mcp.call, "calc", "add", { a = 1, b = 2 })\nprint(sum .. " " .. tostring(isThere) .. " " .. #aip.mcp.list())\n',
    'chain.md': '+++\nmodel = "m"\nsub_agents = [{ name = "demo@sums/ask", stage = "pre" }]\n+++\nGo on.\n',
    'named.md': '+++\nmodel = "m"\ntools = ["calc__add"]\n+++\nAdd.\n',
  }
}

function world(files = packFiles()) {
  const cwd = tempTree(files)
  cpSync(join(root, 'test/fixtures/mcp'), join(cwd, pack, 'mcp'), { recursive: true })
  const home = tempTree()
  return {
    cwd,
    home,
    run: (args: readonly string[], url = '') =>
      baton(args, { cwd, env: { BATON_HOME: home, ...(url === '' ? {} : { BATON_GATEWAY_URL: url }) } }),
  }
}

it('servers of a pack are for its agents, once they are trusted', async () => {
  const { run } = world()
  const model = await startToolModel([{ text: 'None.' }])
  for (const target of ['demo@sums', 'demo@sums/sum.md', 'demo@sums/ask', 'own.lua']) {
    const refused = await run(['run', target])
    expect(refused, target).toMatchObject({ code: 6, stderr: expect.stringContaining('baton trust demo@sums') })
  }
  expect((await run(['check', `${pack}/sum.md`])).stdout).toContain('tools names the server "calc" of demo@sums')
  expect((await run(['doctor'])).stdout).toContain('the servers calc, memos of demo@sums are left out')
  expect((await run(['mcp', 'list'])).stdout).toMatch(/^demo@sums:calc .*not trusted$/m)
  expect(await run(['mcp', 'tools', 'demo@sums:calc'])).toMatchObject({ code: 6 })

  const trusted = await run(['trust', 'demo@sums'])
  expect(trusted.stdout).toContain('.mcp.json: trusted with mcp_servers.calc, mcp_servers.memos')
  expect(trusted.stderr).toContain('and with the content of .baton/packs/demo/sums/mcp/stdio.mjs')
  expect(trusted.stderr).not.toContain('values of')
  expect(await run(['own.lua'])).toMatchObject({ code: 0, stdout: '9 false 0\n' })
  expect(await run(['named.md'])).toMatchObject({ code: 2, stderr: expect.stringContaining('is not configured') })
  expect((await run(['mcp', 'list'])).stdout).toMatch(/^demo@sums:calc +stdio +\S+\.mcp\.json:1 /m)
  expect((await run(['mcp', 'call', 'demo@sums:calc', 'add', '--args', '{"a":1,"b":2}'])).stdout).toContain('3')
  expect((await run(['doctor'])).stdout).toContain('demo@sums:calc is started as')
  for (const file of ['sum.md', 'ask']) {
    expect((await run(['plan', `demo@sums/${file}`], model.url)).stdout).toContain('calc__add (ask)')
  }
})

it('a model of a pack calls them, and replays and resumed runs need no file of the pack', async () => {
  const replies = [callsTools(['calc__add', { a: 2, b: 3 }]), { text: 'It is five.' }]
  const model = await startToolModel([...replies, ...replies, { text: 'Done.' }, ...replies])
  const { run, cwd } = world()
  await run(['trust', 'demo@sums'])
  const ran = await run(['demo@sums/sum.md', '-y', '--record', 'it.cassette'], model.url)
  expect(ran, ran.stderr).toMatchObject({ code: 0 })
  expect(model.results()).toEqual(['5\n{"sum":5}'])
  expect(JSON.stringify(model.requests[0]?.body)).toContain('memos:memo://one')
  const chain = await run(['chain.md', '-y', '--record', 'chain.cassette'], model.url)
  expect(chain, chain.stderr).toMatchObject({ code: 0 })
  const open = await run(['demo@sums/sum.md', '--on-ask', 'suspend'], model.url)
  expect(open, open.stderr).toMatchObject({ code: 5 })

  rmSync(join(cwd, pack, '.mcp.json'))
  const resumed = await run(['approve'], model.url)
  expect(resumed, resumed.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('It is five.') })
  expect(model.results()).toEqual(['5\n{"sum":5}'])
  await model.close()
  for (const cassette of ['it.cassette', 'chain.cassette']) {
    const replayed = await run(['run', '--replay', cassette])
    expect(replayed, replayed.stderr).toMatchObject({ code: 0 })
    expect(replayed.stderr).toMatch(/calls? to (?:an )?MCP server.*the result is the same as recorded/)
  }
})

it('a configured server replaces one of a pack with the same name', async () => {
  const { run, home } = world(packFiles({ mcpServers: { calc: { command: 'no-such-program' } } }))
  await run(['trust', 'demo@sums'])
  const program = JSON.stringify([join(root, 'test/fixtures/mcp/stdio.mjs'), '{}'])
  const config = join(home, 'config/config.toml')
  cpSync(
    tempTree({ 'config.toml': `[mcp_servers.calc]\ncommand = "node"\nargs = ${program}\n` }),
    join(home, 'config'),
    {
      recursive: true,
    },
  )
  expect(existsSync(config)).toBe(true)
  expect(await run(['own.lua'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^9 true /) })
  const listed = await run(['mcp', 'list'])
  expect(listed.stdout).toMatch(/^demo@sums:calc .*replaced by yours$/m)
  expect(listed.stdout).toMatch(/The server of the same name in .*config\.toml:1 is used instead/)
})

it('servers of two packs with one name are two servers', async () => {
  const other = '.baton/packs/demo/memos'
  const { run } = world({
    ...packFiles(),
    [`${other}/pack.toml`]: manifest.replace('"sums"', '"memos"'),
    [`${other}/.mcp.json`]: JSON.stringify({ mcpServers: { calc: { command: 'no-such-program' } } }),
    [`${other}/main.lua`]:
      'local isThere, problem = pcall(aip.mcp.call, "calc", "add", { a = 1, b = 2 })\nreturn tostring(problem)\n',
    'both.lua': 'print(aip.agent.run("demo@memos").outputs[1])\nprint(aip.agent.run("demo@sums").outputs[1])\n',
  })
  await run(['trust', 'demo@sums'])
  await run(['trust', 'demo@memos'])
  const ran = await run(['both.lua'])
  expect(ran, ran.stderr).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/demo@memos:calc.*no-such-program[\s\S]*\n9\n$/),
  })
})
