import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { baton, type BatonResult, jsonLines } from '../helpers/baton.ts'
import { type ModelScript, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

interface World {
  readonly server: ModelServer
  readonly run: (...args: readonly string[]) => Promise<BatonResult>
}

async function world(files: { readonly [path: string]: string }, script: ModelScript): Promise<World> {
  const folder = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', ...files })
  const server = await startModelServer(script)
  onTestFinished(() => server.close())
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree({}) }
  return { server, run: (...args) => baton(args, { cwd: folder, env }) }
}

const front = (keys: string): string => `+++\nmodel = "m"\nbudget.unpriced = "allow"\n${keys}\n+++\nHello\n`

describe('an agent that takes too long (R303)', () => {
  it('ends with everything it runs; the run ends with exit code 4, and a resumed one grants the time again', async () => {
    const files = {
      'ask.md': front('sub_agents = [{ name = "slow.aip", options = { timeout = "1s" } }]'),
      'slow.aip': '# Output\n\n```lua\nreturn aip.agent.run("./inner.aip").outputs[1]\n```\n',
      'inner.aip':
        '# User\n\nThink.\n\n# Output\n\n```lua\nreturn { coder_prompts_append = ai_response.content }\n```\n',
    }
    let count = 0
    const { run, server } = await world(files, () => ({ text: 'thought', ...(count++ === 0 && { stallAfter: 1 }) }))
    const first = await run('ask.md', '--json')
    expect(first.code).toBe(4)
    const events = jsonLines(first.stdout)
    expect(events.at(-1)).toMatchObject({ type: 'run.failed', stop_reason: 'limit', exit_code: 4 })
    const failed = events.filter(({ type }) => type === 'agent.failed')
    // the inner one is stopped as part of it
    expect(failed.at(-1)).toMatchObject({ name: 'slow.aip', error: { code: 'LIMIT' } })
    expect(first.stderr).toContain('agent "slow.aip" took longer than its timeout, 1 s')
    const second = await run('resume', 'last')
    expect([second.code, second.stdout]).toEqual([0, 'thought\n'])
    expect(server.requests).toHaveLength(3)
  })

  it('is an error that a script may catch, also if the script itself never ends', async () => {
    const { run } = await world(
      {
        'main.lua': 'print(pcall(aip.agent.run, "./loop.lua", { options = { timeout = "200ms" } }))\nreturn "went on"',
        'loop.lua': 'while true do end',
      },
      [],
    )
    const { code, stdout, stderr } = await run('main.lua')
    expect([code, stdout]).toEqual([0, expect.stringContaining('went on')])
    expect(stdout + stderr).toContain('agent "./loop.lua" took longer than its timeout, 200 ms')
  })

  it('has its own timeout from # Options and front matter, otherwise that of all agents, as has the model of a task', async () => {
    const files = {
      'own.aip': '# Options\n\n```toml\ntimeout = "400ms"\n```\n\n# User\n\nThink.\n',
      'file.md': front('timeout = "400ms"'),
      'calls.lua': 'return aip.agent.run("./file.md").outputs[1]',
      'all.md': front('timeouts.agent = "400ms"'),
      'wrong.aip': '# Options\n\n```toml\ntimeout = 5\n```\n\n# User\n\nThink.\n',
    }
    const { run } = await world(files, () => ({ text: 'a b', stallAfter: 1 }))
    const named = async (...args: readonly string[]): Promise<string> => {
      const { code, stderr } = await run(...args)
      return `${code} ${/.* took longer than .*/.exec(stderr)?.[0] ?? stderr}`
    }
    expect(await named('own.aip', '-m', 'm', '-c', 'budget.unpriced=allow')).toBe(
      '4 error: agent "own.aip" took longer than its timeout, 400 ms',
    )
    expect(await named('calls.lua')).toContain('agent "./file.md" took longer than its timeout, 400 ms')
    expect(await named('all.md')).toBe('4 error: the model took longer than agent in [timeouts], 400 ms')
    expect(await named('wrong.aip')).toContain('"timeout" must be a duration above zero such as "30s" or "10m"')
  })
})

describe('iterating for a duration', () => {
  // stands for a machine whose clock is set while it works: when the file is there
  const setting = (ms: number): string => `
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
const real = Date.now.bind(Date)
const file = fileURLToPath(new URL('set', import.meta.url))
Date.now = () => real() + (existsSync(file) ? ${ms} : 0)
`

  it.each([
    [-7_200_000, 'the clock of the machine was set back by 2 h', undefined],
    [10_800_000, 'the machine was asleep or its clock was set: 3 h do not count', 3 * 3_600_000],
  ])(
    'takes no more and no less when the clock is set by %d ms, which is reported, also at its end and in the list of runs',
    async (ms, message, asleep) => {
      const cwd = tempTree({ 'clock.mjs': setting(ms) })
      const server = await startModelServer((_, index) => {
        if (index === 0) writeFileSync(join(cwd, 'set'), '')
        // enough time is left, also for a busy machine, and few iterations use it
        return { text: 'fine', gate: sleep(200) }
      })
      onTestFinished(() => server.close())
      const home = { BATON_HOME: tempTree() }
      const env = { ...home, BATON_GATEWAY_URL: server.url, NODE_OPTIONS: `--import ${cwd}/clock.mjs` }
      const args = [
        '-p',
        'Go.',
        '-m',
        'm',
        '--iter',
        '4s',
        '-c',
        'iterate.stall=0',
        '-c',
        'iterate.max_iterations=100000',
      ]
      const { code, stderr } = await baton(args, { cwd, env, process: 'own' })
      expect(code, stderr).toBe(0)
      expect(stderr).toContain(message)
      expect(stderr.includes('asleep: 3 h, which do not count as work\n')).toBe(asleep !== undefined)
      const [run] = jsonLines((await baton(['runs', '--json'], { cwd, env: home })).stdout)
      // the clocks are read one after the other
      expect(Math.round(Number(run?.['asleep_ms'] ?? 0) / 1_000)).toBe((asleep ?? 0) / 1_000)
      expect(stderr).toContain('time limit reached')
      expect(server.requests.length).toBeGreaterThan(1)
    },
  )

  it('continues after a failed iteration, which does not count as one without changes', async () => {
    const cwd = tempTree({ '.git/HEAD': '' })
    const failing = { status: 400, body: { error: { message: 'not now' } } }
    const server = await startModelServer((_, index) => (index === 1 ? failing : { text: 'fine' }))
    onTestFinished(() => server.close())
    const args = ['-p', 'Go.', '-m', 'm', '--iter', '1h', '-c', 'iterate.stall=2', '-c', 'iterate.commits=false']
    const { code, stderr } = await baton(args, { cwd, env: { BATON_GATEWAY_URL: server.url } })
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('the last iteration failed: waiting 1 s before the next one')
    expect(stderr).toContain('Iterations: 2/3 succeeded (1 failed), no more changes')
  })
})
