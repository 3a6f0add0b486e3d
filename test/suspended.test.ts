import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { BatonError } from '../src/base/error.ts'
import type { EffectKind } from '../src/event/effects.ts'
import type { EventBody, RunEvent } from '../src/event/event.ts'
import { listRuns } from '../src/history/run-list.ts'
import type { EffectHook } from '../src/journal/effects.ts'
import { startRun } from '../src/runner.ts'
import type { RunReport } from '../src/wiring/conduct.ts'
import { resumeRun } from '../src/wiring/resume.ts'
import { baton } from './helpers/baton.ts'
import { type ModelServer, startModelServer } from './helpers/model-server.ts'
import { tempTree } from './helpers/temp.ts'
import { recordsIn } from './journal/fixtures/run-folder.ts'

const files = {
  '.git/HEAD': '',
  'src/a.txt': 'alpha\n',
  'src/b.txt': 'beta\n',
  'src/c.txt': 'gamma\n',
  'ask.md': `+++
model = "small"
working_globs = ["src/*.txt"]
input_concurrency = 2
sub_agents = [
  { name = "agents/deploy.lua", stage = "post_task" },
  { name = "agents/last.lua", stage = "post" },
]
+++
Say what this is.
`,
  'agents/deploy.lua': `
local first = aip.agent.run("think.aip", { input = input.task.label })
print("deploys " .. input.task.label)
local page = aip.web.get("URL" .. input.task.label)
return { agent_result = first.outputs[1] .. " " .. page.content }
`,
  'agents/think.aip':
    '# Options\n\n```toml\nmodel = "small"\n```\n\n# User\n\nThink about {{input}}.\n\n# Output\n\n```lua\nreturn ai_response.content\n```\n',
  'agents/last.lua': `
local all = {}
for _, one in ipairs(input.coder_responses) do all[#all + 1] = one.agent_result end
aip.file.save("out/all.txt", table.concat(all, "\\n"))
return { agent_result = #all }
`,
}

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

interface World {
  readonly cwd: string
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  readonly model: ModelServer
  /** Address of the pages. */
  readonly page: string
  /** The model's requests in a few words; each is paid for. */
  readonly paid: readonly string[]
  /** Pages that were fetched. */
  readonly fetched: readonly string[]
}

async function world(): Promise<World> {
  const paid: string[] = []
  const fetched: string[] = []
  const model = await startModelServer(({ body }) => {
    const prompt = (body?.messages ?? []).map(({ content }) => content).join(' ')
    const about = /Think about \S*?([abc])\.txt/.exec(prompt)?.[1]
    const name = about ?? /(alpha|beta|gamma)/.exec(prompt)?.[1] ?? '?'
    paid.push(name)
    return { text: about === undefined ? `It is ${name}.` : `thought of ${name}` }
  })
  const page = createServer((request, response) => {
    fetched.push(request.url ?? '')
    response.end('deployed')
  })
  await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve))
  closing.push(
    () => model.close(),
    async () => page.closeAllConnections() ?? page.close(),
  )
  const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}/`
  const deploy = files['agents/deploy.lua'].replace('URL', url)
  const cwd = tempTree({ ...files, 'agents/deploy.lua': deploy })
  const home = tempTree()
  return {
    cwd,
    home,
    env: { BATON_GATEWAY_URL: model.url, BATON_HOME: join(home, 'baton') },
    model,
    page: url,
    paid,
    fetched,
  }
}

/** Prevents fetches that are not approved yet. */
function waitingFor(allowed: readonly string[]): EffectHook {
  let count = 0
  return {
    async effect(kind, act) {
      if (kind !== 'http') return act()
      count += 1
      if (allowed.length < count) throw new BatonError('SUSPENDED', 'waiting for an approval: fetch a page')
      return act()
    },
  }
}

function waitingForKind(wanted: EffectKind): EffectHook {
  return {
    effect: (kind, act) =>
      kind === wanted ? Promise.reject(new BatonError('SUSPENDED', 'waiting for the office to open')) : act(),
  }
}

interface Ran {
  readonly report: RunReport
  readonly events: readonly RunEvent[]
  readonly folder: string
}

async function start({ cwd, home, env }: World, hooks: readonly EffectHook[]): Promise<Ran> {
  const events: RunEvent[] = []
  let folder = ''
  const report = await startRun(
    'ask.md',
    { cwd, home, env, hooks, overrides: ['budget.unpriced="allow"'], onRecord: (path) => (folder = path) },
    (event) => events.push(event),
  )
  return { report, events, folder }
}

async function resume({ home, env }: World, folder: string, hooks: readonly EffectHook[]): Promise<Ran> {
  const events: RunEvent[] = []
  const report = await resumeRun({ folder, home, env, hooks }, (event) => events.push(event))
  return { report, events, folder }
}

function sentOf<Type extends EventBody['type']>(
  { events }: Ran,
  type: Type,
): readonly (RunEvent & { readonly type: Type })[] {
  return events.filter((event): event is RunEvent & { readonly type: Type } => event.type === type)
}

it('a waiting task ends the run only when the tasks next to it have finished, and a resume pays for nothing twice', async () => {
  const all = await world()
  const first = await start(all, [waitingFor(['one'])])
  expect(first.report).toMatchObject({ stopReason: 'suspended', exitCode: 5, canResume: true })
  const [last] = sentOf(first, 'run.failed')
  expect(last).toBe(first.events.at(-1))
  expect(last).toMatchObject({
    stop_reason: 'suspended',
    exit_code: 5,
    error: { code: 'SUSPENDED', message: expect.stringContaining('waiting for an approval') },
  })
  // two of the three wait; everything else was done and paid for
  const waiting = sentOf(first, 'task.suspended')
  expect(waiting).toHaveLength(2)
  expect(sentOf(first, 'agent.suspended').map(({ name }) => name)).toEqual(['agents/deploy.lua', 'agents/deploy.lua'])
  expect(sentOf(first, 'task.completed')).toHaveLength(1)
  expect(sentOf(first, 'task.failed')).toEqual([])
  expect([...sentOf(first, 'agent.failed'), ...sentOf(first, 'stage.failed')]).toEqual([])
  expect(all.paid.toSorted()).toEqual(['a', 'alpha', 'b', 'beta', 'c', 'gamma'])
  expect(all.fetched).toHaveLength(1)
  const suspended = (last?.suspended ?? []) as readonly { readonly place: string; readonly kind: string }[]
  expect(suspended.map(({ kind }) => kind)).toEqual(['http', 'http'])
  for (const { place } of suspended) expect(place).toMatch(/^task\/\d\/post_task\/0:agents%2Fdeploy\.lua\/chunk#2$/)

  const records = await recordsIn(first.folder)
  const ended = records.filter((record) => record.k === 'suspended' && record.s === undefined)
  const effects = records.filter((record) => record.k === 'suspended' && record.s !== undefined)
  expect(effects.map((record) => 'p' in record && record.p)).toEqual(suspended.map(({ place }) => place))
  expect(ended.map((record) => 'p' in record && record.p).toSorted()).toEqual(
    waiting
      .flatMap(({ index }) => {
        const step = `task/${index}/post_task/0:agents%2Fdeploy.lua`
        return [`task/${index}`, step, `${step}/chunk`]
      })
      .toSorted(),
  )
  expect(records.at(-1)).toMatchObject({ k: 'run.end', stop: 'suspended', exit: 5 })

  const second = await resume(all, first.folder, [waitingFor(['one'])])
  expect(second.report).toMatchObject({ stopReason: 'suspended', exitCode: 5 })
  expect(second.report.usage.calls).toBe(6)
  const third = await resume(all, first.folder, [])
  // nothing was in flight: a suspended call is requested as if it were new
  expect(third.report).toMatchObject({ stopReason: 'done', exitCode: 0, usage: { calls: 6 }, repeated: [] })
  expect(all.paid).toHaveLength(6)
  expect(all.fetched.toSorted()).toHaveLength(3)
  expect(new Set(all.fetched).size).toBe(3)
  // what was shown before the suspension is shown again, once each
  const shown = sentOf(third, 'print').map(({ text }) => text)
  expect(shown.toSorted()).toEqual(['deploys src/a.txt', 'deploys src/b.txt', 'deploys src/c.txt'])
})

it('a suspended run is listed as such, with or without the index, and shown with what it waits for and how to resume it', async () => {
  const all = await world()
  const { folder } = await start(all, [waitingFor([])])
  const runs = join(folder, '..')
  const listed = []
  for await (const run of listRuns(runs, { limit: 9, fits: () => true })) listed.push(run)
  expect(listed).toMatchObject([{ status: 'suspended', exit: 5, tasks: { done: 0, failed: 0, skipped: 0 }, calls: 6 }])

  const env = all.env
  const id = readdirSync(runs).find((name) => folder.endsWith(name)) ?? ''
  const table = await baton(['runs'], { cwd: all.cwd, env })
  expect(table.stdout).toContain(' suspended ')
  expect(table.stdout).toContain(`resume: baton resume ${id}`)
  expect((await baton(['runs', '--status', 'suspended', '--ids'], { cwd: all.cwd, env })).stdout).toContain(id)
  const shown = (await baton(['runs', 'show', id], { cwd: all.cwd, env })).stdout
  expect(shown).toContain(`${id}  suspended, exit code 5`)
  expect(shown).toMatch(/task\/0 {2}src\/a\.txt {2}suspended/)
  expect(shown).toMatch(/post_task\/0:agents%2Fdeploy\.lua {2}suspended/)
  expect(shown).toMatch(/#2 {2}http {2}GET \S+ {2}suspended/)
  expect(shown).toMatch(/\nwaiting\n.*http GET .*\n {2}not started; resume retries it\n/)
  expect(shown).not.toContain('in progress when the run stopped')
  expect(shown).toContain(`baton resume ${id}`)

  // without its summary, from the records
  for (const name of ['index.jsonl', join(id, 'summary.json')]) rmSync(join(runs, name))
  const again = []
  for await (const run of listRuns(runs, { limit: 9, fits: () => true })) again.push(run)
  expect(again).toMatchObject([{ status: 'suspended', exit: 5, tasks: { done: 0, failed: 0, skipped: 0 }, calls: 6 }])
})

it('an effect that must not be repeated also waits, and nobody has to decide whether it happened', async () => {
  const all = await world()
  const agent = 'aip.cmd.exec("sh", { "-c", "echo ran >> ran.txt" })\nreturn {}\n'
  writeFileSync(join(all.cwd, 'agents/last.lua'), agent)
  const first = await start(all, [waitingForKind('command')])
  expect(first.report).toMatchObject({ stopReason: 'suspended', exitCode: 5 })
  const second = await resume(all, first.folder, [])
  expect(second.report).toMatchObject({ stopReason: 'done', exitCode: 0, usage: { calls: 6 }, repeated: [] })
  expect(readFileSync(join(all.cwd, 'ran.txt'), 'utf8')).toBe('ran\n')
})

it('a script that catches a suspension cannot continue, nor can the agents that it runs', async () => {
  const all = await world()
  const nested = `
local ok, answer = pcall(aip.agent.run, "inner.md", { input = "x" })
print("caught " .. tostring(ok))
local page = pcall(aip.web.get, "${all.page}late")
return { agent_result = "went on" }
`
  writeFileSync(join(all.cwd, 'agents/last.lua'), nested)
  writeFileSync(
    join(all.cwd, 'agents/inner.md'),
    '+++\nmodel = "small"\nsub_agents = [{ name = "agents/wait.lua", stage = "pre" }]\n+++\nSay hello.\n',
  )
  const wait = `local ok = pcall(aip.cmd.exec, "true", {})\nprint("inner " .. tostring(ok))\nreturn {}\n`
  writeFileSync(join(all.cwd, 'agents/wait.lua'), wait)
  const first = await start(all, [waitingForKind('command')])
  expect(first.report).toMatchObject({ stopReason: 'suspended', exitCode: 5 })
  expect(sentOf(first, 'print').filter(({ text }) => /^(?:caught|inner)/.test(text))).toEqual([])
  expect(all.fetched).not.toContain('/late')
  expect(sentOf(first, 'agent.suspended').map(({ name }) => name)).toEqual([
    'agents/wait.lua',
    'inner.md',
    'agents/last.lua',
  ])

  const second = await resume(all, first.folder, [])
  expect(second.report).toMatchObject({ stopReason: 'done', exitCode: 0, repeated: [] })
  const printed = sentOf(second, 'print').map(({ text }) => text)
  expect(printed.filter((text) => /^(?:caught|inner)/.test(text))).toEqual(['inner true', 'caught true'])
  expect(all.paid).toHaveLength(7)
})

it('a run whose first chain waits is resumed from there', async () => {
  const all = await world()
  const first = await start(all, [waitingForKind('model')])
  expect(first.report).toMatchObject({ stopReason: 'suspended', exitCode: 5, usage: { calls: 0 } })
  expect(sentOf(first, 'task.suspended')).toHaveLength(3)
  expect(all.paid).toEqual([])
  const second = await resume(all, first.folder, [])
  expect(second.report).toMatchObject({ stopReason: 'done', exitCode: 0, usage: { calls: 6 } })
  expect(all.paid).toHaveLength(6)
})
