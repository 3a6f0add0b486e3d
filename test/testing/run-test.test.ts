import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { realPath } from '../../src/base/files.ts'
import { writeCassetteFile } from '../../src/cli/cassette-file.ts'
import { loadTests } from '../../src/testing/load-tests.ts'
import { runTest, type RunTestOptions, type TestResult } from '../../src/testing/run-test.ts'
import { snapshot } from '../helpers/baton.ts'
import { type ModelScript, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

interface World {
  readonly folder: string
  /** What remains of the folders in which tests ran. */
  readonly left: () => readonly string[]
  /** Results by name of the test. */
  readonly test: (options?: Partial<RunTestOptions>) => Promise<Readonly<Record<string, TestResult>>>
  /** The same with live calls, and cassettes are written. */
  readonly record: (options?: Partial<RunTestOptions>) => Promise<Readonly<Record<string, TestResult>>>
  readonly requests: () => number
  /** From here on no requests are answered. */
  readonly close: () => Promise<void>
}

/** A workspace with `ask.md`, and a gateway that answers. */
async function world(
  files: Readonly<Record<string, string>>,
  script: ModelScript = () => ({ text: 'An answer.' }),
): Promise<World> {
  const server = await startModelServer(script)
  onTestFinished(() => server.close())
  const folder = tempTree({ '.git/HEAD': '', ...files })
  const home = tempTree()
  const within = tempTree()
  const env = { BATON_GATEWAY_URL: server.url, BATON_GATEWAY_KEY: 'key-of-the-gateway', SHOP_TOKEN: 'hush-hush-token' }
  async function run(ownEnv: RunTestOptions['env'], options: Partial<RunTestOptions>) {
    const all: RunTestOptions = { env: ownEnv, home, overrides: [], keeps: false, within, ...options }
    const file = await loadTests('ask.md', { cwd: folder, ...all })
    const results: Record<string, TestResult> = {}
    for (const test of file.tests) results[test.name] = await runTest(test, file, all)
    return results
  }
  return {
    folder,
    left: () => readdirSync(within),
    // nothing of the machine that recorded it is needed
    test: (options = {}) => run({}, options),
    record: (options = {}) => run(env, { writeCassette: writeCassetteFile, ...options }),
    requests: () => server.requests.length,
    close: () => server.close(),
  }
}

function messages(results: Readonly<Record<string, TestResult>>): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    Object.entries(results).map(([name, { failures }]) => [name, failures.map(({ message }) => message)]),
  )
}

const asking = `+++
model = "some-model"
context_globs = ["notes/*.txt"]
sub_agents = [{ name = "agents/tone.lua", stage = "pre" }]

[[test]]
name = "asks"
params = { tone = "kind" }
files = { "notes/a.txt" = "A lighthouse." }
cassette = "cassettes/asks.cassette"
expect = [{ answer_contains = "ships", calls = 1 }]
+++
What is it for?
`
const tone = 'return { coder_prompts_append = "Be " .. (input.coder_params.tone or "short") .. "." }'

describe('a test with a cassette', () => {
  it('names the places where a cassette may be if it is outside the workspace', async () => {
    const { folder, test } = await world({
      'ask.md': asking.replace('cassettes/asks', '../../asks'),
      'agents/tone.lua': tone,
    })
    await expect(test()).rejects.toMatchObject({
      code: 'OUTSIDE_WORKSPACE',
      message: 'the cassette ../../asks.cassette is outside the workspace',
      hint: `Name a file below ${realPath(folder)}, relative to the prompt file.`,
    })
  })

  it('is recorded once, and then runs without a model, key or network', async () => {
    const { folder, record, test, requests, close } = await world(
      { 'ask.md': asking, 'agents/tone.lua': tone, 'notes/other.txt': 'not for the test' },
      ({ body }) => {
        const text = JSON.stringify(body?.messages)
        return {
          text:
            text.includes('Be kind.') && text.includes('A lighthouse.') && !text.includes('not for')
              ? 'It warns ships.'
              : 'No.',
        }
      },
    )
    expect(messages(await test())['asks']?.[0]).toBe('cassette cassettes/asks.cassette does not exist')
    const recorded = await record()
    expect(messages(recorded)).toEqual({ asks: [] })
    expect(recorded['asks']).toMatchObject({ calls: 1, isRecorded: true })
    await close()
    const again = await test()
    expect(messages(again)).toEqual({ asks: [] })
    expect(again['asks']).toMatchObject({ calls: 1, isRecorded: false })
    expect(requests()).toBe(1)
    expect(readFileSync(join(folder, 'ask.md'), 'utf8')).toBe(asking)
  })

  it('fails with the difference of the request after the prompt was changed', async () => {
    const { folder, record, test } = await world({ 'ask.md': asking, 'agents/tone.lua': tone }, () => ({
      text: 'ships',
    }))
    await record()
    writeFileSync(join(folder, 'ask.md'), asking.replace('What is it for?', 'What is it good for?'))
    const [failure] = (await test())['asks']?.failures ?? []
    expect(failure?.message).toContain('task/0/agent/ask/turn/0')
    expect(failure?.diff).toMatch(/^-.*What is it for\?$/m)
    expect(failure?.diff).toMatch(/^\+.*What is it good for\?$/m)
    expect(failure?.hint).toContain('baton test --record')
  })

  it('still passes after another test was added to the file', async () => {
    const { folder, record, test } = await world({ 'ask.md': asking, 'agents/tone.lua': tone }, () => ({
      text: 'ships',
    }))
    await record()
    writeFileSync(
      join(folder, 'ask.md'),
      asking.replace('+++\nWhat', '\n[[test]]\nname = "more"\nexpect = [{ exit = 0 }]\n+++\nWhat'),
    )
    expect(messages(await test())['asks']).toEqual([])
  })

  it('keeps the existing cassette if the run ends differently than expected', async () => {
    let isBroken = false
    const { folder, record } = await world({ 'ask.md': asking, 'agents/tone.lua': tone }, () =>
      isBroken ? { status: 400, body: { error: { message: 'no' } } } : { text: 'ships' },
    )
    await record()
    const before = readFileSync(join(folder, 'cassettes/asks.cassette'), 'utf8')
    isBroken = true
    const { asks } = await record()
    expect(asks?.failures[0]?.message).toMatch(/^the run ended with exit code 1, not 0: /)
    expect(readFileSync(join(folder, 'cassettes/asks.cassette'), 'utf8')).toBe(before)
  })

  it('never overwrites a file that is not a cassette or is outside the workspace', async () => {
    const { folder, record } = await world({
      'ask.md': asking.replace('cassettes/asks.cassette', 'notes/mine.txt'),
      'agents/tone.lua': tone,
      'notes/mine.txt': 'dear diary',
    })
    expect(messages(await record())['asks']).toEqual([
      'notes/mine.txt exists and is not a cassette, so it is not overwritten',
    ])
    expect(readFileSync(join(folder, 'notes/mine.txt'), 'utf8')).toBe('dear diary')
    writeFileSync(join(folder, 'ask.md'), asking.replace('cassettes/asks.cassette', '../asks.cassette'))
    await expect(record()).rejects.toThrow('the cassette ../asks.cassette is outside the workspace')
  })

  it('contains no secret', async () => {
    const { folder, record, test } = await world(
      {
        'ask.md': asking
          .replace('model =', 'secrets = ["SHOP_TOKEN"]\nmodel =')
          .replace('What is', 'hush-hush-token: what is'),
        'agents/tone.lua': tone,
      },
      () => ({ text: 'ships, said hush-hush-token' }),
    )
    expect(messages(await record())).toEqual({ asks: [] })
    const cassette = readFileSync(join(folder, 'cassettes/asks.cassette'), 'utf8')
    expect(cassette).toContain('ships, said')
    expect(cassette).not.toContain('hush-hush-token')
    expect(cassette).not.toContain('key-of-the-gateway')
    expect(messages(await test({ env: { SHOP_TOKEN: 'hush-hush-token' } }))).toEqual({ asks: [] })
  })

  it('shares one cost limit with all tests that are recorded', async () => {
    const { createSessionBudget } = await import('../../src/journal/placed-budgets.ts')
    const second = asking.slice(asking.indexOf('[[test]]'), asking.lastIndexOf('+++')).replaceAll('asks', 'asks more')
    const { record } = await world(
      { 'ask.md': asking.replace('+++\nWhat', `${second}+++\nWhat`), 'agents/tone.lua': tone },
      () => ({ text: 'ships' }),
    )
    const results = messages(await record({ overrides: ['budget.calls=1'], openBudget: createSessionBudget() }))
    expect(results['asks']).toEqual([])
    expect(results['asks more']?.[0]).toMatch(/^the run ended with exit code 4, not 0: /)
  })
})

describe('a test without a cassette', () => {
  const counting = `+++
agent = "agents/count.lua"
write_mode = true

[[test]]
name = "counts words"
vars = { text = "one two" }
files = ["data/*.txt"]
expect = [{ answer_matches = '^\\d words$', calls = 0, max_cost_usd = 0 }, { file_equals = { "out.txt" = "two of five" } }]

[[test]]
name = "says what is missing"
expect = [{ exit = 2 }]

[[test]]
name = "expects too much"
vars = { text = "one" }
expect = [{ answer_contains = "5 words" }]

[input.text]
required = true
+++
{{input.text}}
`
  const count = `
local count = require("words").count(input.instruction)
aip.file.save("out.txt", #aip.file.list("data/*.txt") == 1 and "two of five" or "none")
return count .. " words"`
  const files = {
    'ask.md': counting,
    'agents/count.lua': count,
    'agents/lua/words.lua': 'return { count = function(text) return select(2, text:gsub("%S+", "")) end }',
    'data/a.txt': 'A',
  }

  it('runs scripts in a copy, which is removed afterwards', async () => {
    const { folder, test, left } = await world(files)
    const results = await test()
    expect(messages(results)).toEqual({
      'counts words': [],
      'says what is missing': [],
      'expects too much': ['the answer does not contain "5 words": "1 words"'],
    })
    expect(results['expects too much']?.failures[0]?.place).toMatchObject({ file: join(folder, 'ask.md'), line: 18 })
    expect(existsSync(join(folder, 'out.txt'))).toBe(false)
    expect(left()).toEqual([])
  })

  it('finds the whole pack of an agent, and passes variables with their types', async () => {
    const { test } = await world({
      'ask.md': `+++
sub_agents = ["demo@words"]
agent = "show.lua"
[input.days]
type = "integer"
[[test]]
name = "t"
vars = { days = 3 }
expect = [{ answer_contains = "3 days\\n\\nfrom the pack" }]
+++
{{input.days}} days
`,
      'show.lua': 'return input.instruction',
      '.baton/packs/demo/words/main.aip':
        '# Output\n\n```lua\nreturn { coder_prompts_append = require("from").text }\n```\n',
      '.baton/packs/demo/words/lua/from.lua': 'return { text = "from the pack" }',
    })
    expect(messages(await test())).toEqual({ t: [] })
  })

  it('leaves its folder in place on request', async () => {
    const { test } = await world(files)
    const { 'counts words': result } = await test({ keeps: true })
    expect(readFileSync(join(result?.folder ?? '', 'workspace/out.txt'), 'utf8')).toBe('two of five')
  })

  it.each([
    [
      'a model',
      'ask.md',
      '+++\nmodel = "m"\n[[test]]\nname = "t"\n+++\nAsk.\n',
      'this test has no cassette, and its run calls the model m',
    ],
    [
      'a command',
      'a.lua',
      'pcall(aip.cmd.exec, "echo", {"x"}) return "fine"',
      'this test has no cassette, and its run runs a command: echo',
    ],
    [
      'HTTP',
      'a.lua',
      'pcall(aip.web.get, "http://127.0.0.1:9/x") return "fine"',
      'this test has no cassette, and its run sends an HTTP request: http://127.0.0.1:9/x',
    ],
  ])('fails if it needs %s, even if its scripts catch the error', async (_, name, text, message) => {
    const { test } = await world({ 'ask.md': '+++\nagent = "a.lua"\n[[test]]\nname = "t"\n+++\nAsk.\n', [name]: text })
    const { t } = await test()
    expect(t?.failures.map((failure) => failure.message)).toEqual([message])
    expect(t?.failures[0]?.hint).toContain('baton test --record')
  })

  it('fails for named files that do not exist', async () => {
    const { test } = await world({
      'ask.md':
        '+++\nagent = "a.lua"\n[[test]]\nname = "t"\nfiles = ["nothing/*.txt"]\n[[test]]\nname = "u"\nfiles = { "../x" = "" }\n+++\nAsk.\n',
      'a.lua': 'return "x"',
    })
    expect(messages(await test())).toEqual({
      t: ['no file in the workspace matches "nothing/*.txt"'],
      u: ['the file "../x" of a test is outside the workspace'],
    })
  })

  it('stops with the command, and leaves nothing behind', async () => {
    const { test, left } = await world({
      'ask.md': '+++\nagent = "a.lua"\n[[test]]\nname = "t"\n+++\nAsk.\n',
      'a.lua': 'while true do end',
    })
    const stop = new AbortController()
    setTimeout(() => stop.abort(new BatonError('ABORTED', 'stopped')), 100)
    await expect(test({ signal: stop.signal })).rejects.toThrow('stopped')
    expect(left()).toEqual([])
  })
})

describe('a file without a valid test', () => {
  it.each([
    ['ask.md', 'Ask.\n'],
    ['ask.lua', 'return 1'],
  ])('has none: %s', async (name, text) => {
    const folder = tempTree({ [name]: text })
    expect(await loadTests(name, { cwd: folder, env: {}, home: tempTree(), overrides: [] })).toMatchObject({
      tests: [],
    })
  })

  it.each([
    ['none.md', 'there is no file'],
    ['/usr/none.lua', 'No agent found'],
  ])('is reported: %s', async (name, message) => {
    await expect(loadTests(name, { cwd: tempTree(), env: {}, home: tempTree(), overrides: [] })).rejects.toThrow(
      message,
    )
  })
})

it('writes only to its copy, including what packs store for all workspaces', async () => {
  const home = tempTree({ '.aipack-base/support/pack/demo/tools/seen.txt': 'of the user' })
  const other = tempTree({ 'pack.toml': '' })
  const script = `aip.file.save("demo@tools$base/seen.txt", "of the test")
local kept = {}
for _, path in ipairs({ "${home}/.aipack-base/new.txt", "~/new.txt", "${other}/new.txt", "../new.txt" }) do
  table.insert(kept, tostring(pcall(aip.file.save, path, "x")))
end
return aip.file.load("demo@tools$base/seen.txt").content .. " " .. table.concat(kept, " ")`
  const body = `+++
agent = "agents/save.lua"
[[test]]
name = "saves"
expect = [{ answer_contains = "of the test false false false false" }]
+++
Save it.
`
  const { test, folder } = await world({ 'ask.md': body, 'agents/save.lua': script })
  const before = [snapshot(home), snapshot(other), snapshot(folder)]
  expect(messages(await test({ home }))).toEqual({ saves: [] })
  expect([snapshot(home), snapshot(other), snapshot(folder)]).toEqual(before)
})
