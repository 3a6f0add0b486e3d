import { afterEach, expect, it } from 'vitest'
import { baton, jsonLines } from '../helpers/baton.ts'
import { type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const open: ModelServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

it('what all runs of a day cost is limited over workspaces: a call above it is refused before it is paid, and a flag allows more', async () => {
  const server = await startModelServer(() => ({
    text: 'ok',
    usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
  }))
  open.push(server)
  const prompt = '+++\nmodel = "gpt-5"\nmax_tokens = 10\n+++\nHello\n'
  const places = [1, 2].map(() => tempTree({ '.git/HEAD': '', 'a.md': prompt })) as [string, string]
  const config =
    '[prices."openai::gpt-5"]\ninput = 1000\noutput = 1000\n[budget.day]\nmax_cost = 0.25\nworkspace_max_cost = 5\n'
  const home = tempTree({ 'config/config.toml': config })
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'sk-test-0123456789', BATON_HOME: home }
  const run = (cwd: string, ...args: readonly string[]) => baton(args, { cwd, env })
  expect((await run(places[0], 'a.md', '-q')).code).toBe(0)
  expect((await run(places[1], 'a.md', '-q')).code).toBe(0)
  const refused = await run(places[1], 'a.md')
  expect(refused.code).toBe(4)
  expect(refused.stderr).toContain(
    "error: today's limit of $0.25 (budget.day.max_cost) does not allow a call of openai::gpt-5: $0.22 spent today by all your runs",
  )
  expect(refused.stderr).toMatch(
    /hint: It begins again at \d{4}-\d\d-\d\d 00:00\. Allow more with -c budget\.day\.max_cost=N/,
  )
  expect(server.requests).toHaveLength(2)

  const [day] = jsonLines((await run(places[1], 'runs', '--total', '--json')).stdout)
  expect(day).toMatchObject({ period: 'day', usd: 0.22, max_cost: 0.25, workspace_usd: 0.11, workspace_max_cost: 5 })
  expect((await run(places[1], 'doctor')).stdout).toContain(
    'today: $0.22 of $0.25 by all your runs, $0.11 of $5 in this workspace',
  )
  expect((await run(places[1], 'resume', '--last', '-q', '-c', 'budget.day.max_cost=1')).code).toBe(0)

  // the other limit still holds, and a folder may not loosen one
  const own = await run(places[1], 'a.md', '-q', '-c', 'budget.day.workspace_max_cost=0.3')
  expect(own.stderr).toContain("today's limit of $0.25")
  const folder = tempTree({
    '.git/HEAD': '',
    'a.md': prompt,
    'baton.toml': '[budget.day]\nmax_cost = 100\nworkspace_max_cost = 100\n',
  })
  expect((await run(folder, 'a.md', '-q')).code).toBe(6)
})
