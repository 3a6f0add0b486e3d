import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

// Packs whose MCP servers try to run something that nobody has agreed to.

const pack = '.baton/packs/evil/sums'
const manifest = '[pack]\nnamespace = "evil"\nname = "sums"\nversion = "1.0.0"\n[capabilities]\nmcp = ["*"]\n'
const server = { command: 'sh', args: ['${PACK_DIR}/run.sh'] }
const json = (servers: unknown): string => JSON.stringify({ mcpServers: servers })
const program = join(root, 'test/fixtures/mcp/stdio.mjs')

/** Creates a file when it is started. */
const script = (folder: string, more = ''): string =>
  `${more}echo x > '${folder}/started'\nexec '${process.execPath}' '${program}' '{}'\n`

function world(servers: unknown = { calc: server }) {
  const cwd = tempTree({
    '.git/HEAD': 'ref: refs/heads/main\n',
    [`${pack}/pack.toml`]: manifest,
    [`${pack}/.mcp.json`]: json(servers),
    [`${pack}/main.lua`]: 'print(aip.mcp.call("calc", "add", { a = 4, b = 5 }).structured.sum)\n',
  })
  const home = tempTree()
  const env = { BATON_HOME: home, TOKEN: 'an-unusual-word-4711' }
  writeFileSync(join(cwd, pack, 'run.sh'), script(cwd))
  const hasStarted = (): boolean => existsSync(join(cwd, 'started'))
  const run = (...args: readonly string[]) => baton(args, { cwd, env })
  return {
    cwd,
    home,
    run,
    hasStarted,
    trusted: async (): Promise<void> => {
      expect(await run('trust', 'evil@sums')).toMatchObject({ code: 0 })
      expect(await run('evil@sums')).toMatchObject({ code: 0, stdout: '9\n' })
      rmSync(join(cwd, 'started'))
    },
    expectRefused: async (): Promise<void> => {
      expect(await run('evil@sums')).toMatchObject({ code: 6, stderr: expect.stringMatching(/trust/) })
      expect(await run('mcp', 'call', 'evil@sums:calc', 'add')).toMatchObject({ code: 6 })
      await run('mcp', 'list', '--check')
      await run('evil@sums', '-y', '--json')
      expect(hasStarted()).toBe(false)
    },
  }
}

it('only the approval of the user starts a server, and inspecting a pack starts none', async () => {
  const { run, expectRefused, hasStarted } = world()
  await expectRefused()
  for (const look of [['list'], ['doctor'], ['check', pack], ['plan', 'evil@sums'], ['mcp', 'list'], ['config']]) {
    await run(...look)
  }
  await run('trust', 'evil@sums')
  await run('doctor')
  await run('plan', 'evil@sums')
  expect(hasStarted()).toBe(false)
})

it('a server that changes after its approval is not started', async () => {
  for (const change of ['file', 'program', 'link'] as const) {
    const { cwd, trusted, expectRefused } = world()
    await trusted()
    if (change === 'file') writeFileSync(join(cwd, pack, '.mcp.json'), json({ calc: server, more: server }))
    if (change === 'program') writeFileSync(join(cwd, pack, 'run.sh'), script(cwd, 'true\n'))
    if (change === 'link') {
      cpSync(join(cwd, pack), join(cwd, 'other'), { recursive: true })
      rmSync(join(cwd, pack), { recursive: true })
      symlinkSync(join(cwd, 'other'), join(cwd, pack))
    }
    await expectRefused()
  }
})

it.each([
  [{ calc: { command: '../../x' } }],
  [{ calc: { command: 'sh', args: ['${PACK_DIR}/../../../../x.sh'] } }],
  [{ calc: { ...server, cwd: '../../../..' } }],
  [{ '../../calc': server }],
])('a server that leads out of the pack cannot be trusted: %j', async (servers) => {
  const { run, hasStarted } = world(servers)
  expect(await run('trust', 'evil@sums')).toMatchObject({ code: 2 })
  expect(await run('evil@sums')).not.toMatchObject({ code: 0 })
  expect((await run('doctor')).stdout).toMatch(/leads out of the folder|cannot be the name of a server/)
  expect(hasStarted()).toBe(false)
})

it('a file of the workspace never replaces the program of a pack', async () => {
  const { run, cwd } = world({ calc: { command: 'sh', args: ['run.sh'] } })
  expect(await run('trust', 'evil@sums')).toMatchObject({ code: 0 })
  writeFileSync(join(cwd, 'run.sh'), 'touch planted\n')
  expect(await run('evil@sums')).toMatchObject({ code: 0, stdout: '9\n' })
  expect(existsSync(join(cwd, 'planted'))).toBe(false)
})

it('a server of a pack does not replace one of the user, and no other agent has it', async () => {
  const { run, cwd, home, trusted, hasStarted } = world()
  await trusted()
  writeFileSync(join(cwd, 'own.lua'), 'print(aip.mcp.call("calc", "add", { a = 1, b = 1 }).structured.sum)\n')
  expect(await run('own.lua')).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no MCP server') })
  mkdirSync(join(home, 'config'), { recursive: true })
  const args = JSON.stringify([program, '{}'])
  writeFileSync(join(home, 'config/config.toml'), `[mcp_servers.calc]\ncommand = "node"\nargs = ${args}\n`)
  expect(await run('own.lua')).toMatchObject({ code: 0, stdout: '2\n' })
  expect(await run('evil@sums')).toMatchObject({ code: 0, stdout: '9\n' })
  expect(hasStarted()).toBe(false)
})

it('values that are meant only for a server of a pack are not recorded', async () => {
  const env = { KEY: '${TOKEN}', LITERAL: 'literal-word-0815-x' }
  const { run, cwd, home } = world({ calc: { ...server, env } })
  writeFileSync(
    join(cwd, pack, 'main.lua'),
    'print(aip.mcp.call("calc", "echo", { text = os.date("x") .. "an-unusual-word-" .. "4711 literal-word-" .. "0815-x" }).text)\n',
  )
  const trusted = await run('trust', 'evil@sums')
  expect(trusted.stderr).toContain('they get the values of TOKEN')
  expect(await run('evil@sums')).toMatchObject({ code: 0 })
  const records = textsBelow(join(home, 'state'))
  expect(records).toContain('«secret:')
  expect(records).not.toMatch(/unusual-word-4711|literal-word-0815/)
})

function textsBelow(folder: string): string {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .flatMap((entry) => (entry.isFile() ? [readFileSync(join(entry.parentPath, entry.name), 'utf8')] : []))
    .join('\n')
}
