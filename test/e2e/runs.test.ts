import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { baton, type BatonResult, jsonLines } from '../helpers/baton.ts'
import { type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const open: ModelServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

interface World {
  readonly cwd: string
  readonly home: string
  readonly run: (...args: readonly string[]) => Promise<BatonResult>
}

async function world(files: { readonly [path: string]: string }): Promise<World> {
  const server = await startModelServer((_request, index) => ({ text: `answer ${index + 1}` }))
  open.push(server)
  const cwd = tempTree({ '.git/HEAD': '', ...files })
  const home = join(tempTree(), 'baton')
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: home }
  return { cwd, home, run: (...args) => baton(args, { cwd, env }) }
}

const prompt = `+++
model = "small"
budget.unpriced = "allow"
sub_agents = ["plan.lua"]
+++
Answer with a word.
`

it('lists, shows, compares, exports and removes runs', async () => {
  const { cwd, run } = await world({
    'ask.md': prompt,
    'plan.lua': 'aip.run.pin("files", 1, "none")\nprint("planning")\nreturn {}\n',
    'bad.lua': 'pcall(aip.file.load, "missing.txt")\nerror("my own message")\n',
  })
  expect((await run('ask.md', '-i', 'one', '-q')).code).toBe(0)
  expect((await run('ask.md', '-i', 'two', '-q')).code).toBe(0)
  expect((await run('bad.lua', '-q')).code).toBe(1)

  const listed = jsonLines((await run('runs', '--json')).stdout)
  expect(listed.map(({ status, exit, calls }) => ({ status, exit, calls }))).toEqual([
    { status: 'failed', exit: 1, calls: 0 },
    { status: 'done', exit: 0, calls: 1 },
    { status: 'done', exit: 0, calls: 1 },
  ])
  const [bad, second, first] = listed.map(({ id }) => String(id)) as [string, string, string]

  const table = (await run('runs', '--status', 'done', '-n', '1')).stdout.split('\n')
  expect(table[0]).toMatch(/^run +when +status +time +tasks +tokens +cost +model +file$/)
  expect(table[1]).toMatch(new RegExp(`^${second} +.* done .* ask\\.md$`))
  expect(table).toHaveLength(3)
  const idsOf = async (...flags: string[]): Promise<readonly string[]> =>
    (await run('runs', '--ids', ...flags)).stdout.trim().split('\n')
  expect(await idsOf('--model', 'SMALL', '--since', '1h')).toEqual([second, first])
  expect(await idsOf('--since', '0s')).toEqual([''])
  expect(await run('runs', '--since', 'today')).toMatchObject({ code: 2 })

  const shown = (await run('runs', 'show', first)).stdout
  expect(shown).toContain('pre/0:plan.lua  done')
  expect(shown).toContain('    pin Pin: none\n    print planning\n')
  expect(shown).toMatch(
    /task\/0 {2}one {2}done .*\n(?:.*\n)*? {2}agent\/ask\/turn\/0#0 {2}model {2}gateway::small {2}done/,
  )
  expect((await run('runs', 'show', 'last')).stdout).toMatch(
    /^ {2}error {4}my own message \(bad\.lua:2\)$[^]*^main\/chunk {2}failed .*\n.*\n {2}error my own message \(bad\.lua:2\)$/m,
  )

  const place = (await run('runs', 'show', first, '--place', 'task/0')).stdout
  expect(place).toContain('Answer with a word.')
  expect(place).toContain('── answer task/0/agent/ask/turn/0#0\nanswer 1\n')
  const missing = await run('runs', 'show', first, '--place', 'task/9')
  expect(missing).toMatchObject({ code: 2, stdout: '' })
  expect(missing.stderr).toContain('error: --place task/9: this run has no such part')

  const diff = await run('runs', 'diff', first, second)
  expect(diff.code).toBe(1)
  expect(diff.stdout).toContain('answer task/0/agent/ask/turn/0#0\n-answer 1\n+answer 2\n')
  expect((await run('runs', 'diff', first, first)).code).toBe(0)

  expect((await run('runs', 'export', first, 'one.cassette')).code).toBe(0)
  expect(readFileSync(join(cwd, 'one.cassette'), 'utf8')).toBe((await run('runs', 'export', first)).stdout)

  expect((await run('runs', 'rm', '--failed', '--dry-run')).stdout).toBe(`would remove ${bad}\n`)
  expect((await run('runs', 'rm', first, bad)).stdout).toBe(`removed ${first}\nremoved ${bad}\n`)
  expect(jsonLines((await run('runs', '--json')).stdout).map(({ id }) => id)).toEqual([second])
})

it('shows a run with a damaged record, and how many parts are missing', async () => {
  const { home, run } = await world({ 'ask.md': 'Answer with a word.\n' })
  expect((await run('ask.md', '-m', 'small')).code).toBe(0)
  const [name = ''] = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /(^|\/)j-[^/]*\.jsonl$/.test(path),
  )
  const lines = readFileSync(join(home, name), 'utf8').split('\n')
  writeFileSync(join(home, name), lines.with(3, 'damaged').join('\n'))
  expect((await run('runs', 'show', 'last')).stdout).toMatch(/\n1 damaged part of the journal not shown\n$/)
})

it('reports for a killed run what is uncertain and how to continue, and keeps a running one', async () => {
  const wait = 'print("ready")\naip.cmd.exec("sh", {"-c", "touch begun; sleep 3"})\n'
  const cwd = tempTree({ '.git/HEAD': '', 'wait.lua': wait })
  const env = { BATON_HOME: join(tempTree(), 'baton') }
  const runs = (...args: readonly string[]): Promise<BatonResult> => baton(['runs', ...args], { cwd, env })
  expect((await runs()).stderr).toBe('no runs of this workspace yet\n')

  let whileRunning: Promise<BatonResult> | undefined
  await baton(['wait.lua'], {
    cwd,
    env,
    onOutput(_, kill) {
      if (whileRunning !== undefined) return
      whileRunning = begun(join(cwd, 'begun')).then(() => runs('rm', 'last'))
      void whileRunning.finally(() => kill('SIGKILL'))
    },
  })
  const refused = await whileRunning
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused?.stderr).toMatch(/^\d{8}-\d{6}-[0-9a-f]{9} is running and was kept\n$/)

  const [listed] = jsonLines((await runs('--json')).stdout)
  expect(listed).toMatchObject({ status: 'interrupted', exit: null, ended: null })
  const id = String(listed?.['id'])
  expect((await runs()).stdout).toContain(`  resume: baton resume ${id}\n`)
  expect((await runs('show', id)).stdout).toMatch(
    /in progress when the run stopped\n(1\.\d+) {2}command sh .*\n {2}outcome unknown; resume needs your decision: --uncertain \1=redo, =done or =fail\n/,
  )

  expect((await baton(['resume', 'last'], { cwd, env })).code).toBe(5)
  expect(jsonLines((await runs('--json')).stdout)).toEqual([listed])
})

async function begun(file: string): Promise<void> {
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 20))
}

it.each([
  [['--place', 'task/0'], 'baton runs list has no --place'],
  [['rm'], 'missing argument: baton runs rm RUN…, --older 30d, --failed, --status or --file'],
  [['show', 'last'], 'there is no run of this workspace yet'],
] as const)('refuses baton runs %j', async (args, message) => {
  const { code, stderr } = await baton(['runs', ...args], { cwd: tempTree({ '.git/HEAD': '' }) })
  expect(code).toBe(2)
  expect(stderr).toContain(`error: ${message}\n`)
})
