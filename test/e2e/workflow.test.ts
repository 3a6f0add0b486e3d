import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { baton, jsonLines } from '../helpers/baton.ts'
import { type ModelReply, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { core } from '../helpers/series.ts'

let server: ModelServer | undefined
afterEach(() => server?.close())

async function world(files: { readonly [path: string]: string }, answer: (text: string, count: number) => ModelReply) {
  const folder = tempTree({ '.git/HEAD': 'x', ...files })
  const counts = new Map<string, number>()
  const made = await startModelServer(({ body }) => {
    const text = body?.messages.at(-1)?.content ?? ''
    counts.set(text, (counts.get(text) ?? 0) + 1)
    return answer(text, counts.get(text) ?? 0)
  })
  server = made
  const env = { BATON_HOME: join(folder, '.home'), BATON_GATEWAY_URL: made.url }
  const run = (args: readonly string[], options: Pick<Parameters<typeof baton>[1], 'onOutput'> = {}) =>
    baton(args, { cwd: folder, env, ...options })
  const newest = async (): Promise<string> => (await run(['runs', '--ids', '-n', '1'])).stdout.trim()
  return { folder, run, newest, counts, requests: made.requests }
}

const fan = 20

/** A fan-out of 20 steps and one that joins them. */
function fanOut(policy: string, keys: string): string {
  const steps = Array.from(
    { length: fan },
    (_, index) => `[[workflow.step]]\nid = "s${index}"\ninstructions = "ask s${index}."\n${keys}`,
  )
  const needs = JSON.stringify(steps.map((_, index) => `s${index}`))
  return `+++
model = "m"
[retry]
max_attempts = 1
[workflow]
concurrency = 4
${policy}
${steps.join('\n')}
[[workflow.step]]
id = "join"
needs = ${needs}
when = "always"
agent = "join.lua"
+++
`
}

const join_ = 'return type(input) == "string" and "joined " .. select(2, input:gsub("yes", "")) or "nothing"\n'
const refused: ModelReply = { status: 400, body: { error: { message: 'no such luck' } } }

/** Kills the command once this many model calls were paid for. */
function killAfter(paid: number) {
  return (stdout: string, kill: (signal: NodeJS.Signals) => void): void => {
    if (stdout.split('"type":"usage"').length > paid) kill('SIGKILL')
  }
}

describe('a fan-out of 20 steps, killed in the middle and resumed', () => {
  it.each([
    ['fail_fast', 'on_error = "fail_fast"', '', { code: 1, joined: undefined, failed: ['s13'] }],
    ['continue', 'on_error = "continue"', '', { code: 1, joined: 'joined 19', failed: ['s13'] }],
    ['fallback', '', 'fallback = ["./other.md"]', { code: 0, joined: 'joined 20', failed: [] }],
  ] as const)('under %s pays nothing twice', async (_, policy, keys, expected) => {
    const files = {
      'ask.md': fanOut(policy, keys),
      'join.lua': join_,
      'other.md': '+++\nmodel = "m"\n+++\nask other.\n',
    }
    const isMended = { now: false }
    const { run, counts, requests } = await world(files, (text) =>
      text === 'ask s13.' && !isMended.now ? refused : { text: 'yes', delayMs: 5 },
    )
    const killed = await run(['ask.md', '--json'], { onOutput: killAfter(7) })
    expect(killed.code).toBe(null)
    expect(requests.length).toBeLessThan(fan)
    const paidBefore = jsonLines(killed.stdout.replace(/[^\n]*$/, '')).filter(({ type }) => type === 'usage').length
    expect(paidBefore).toBeGreaterThanOrEqual(7)

    const resumed = await run(['resume', '--last', '--json'])
    const events = jsonLines(resumed.stdout)
    const failed = events.flatMap(({ type, id }) => (type === 'step.failed' ? [String(id)] : []))
    const answers = events.flatMap(({ type, text }) => (type === 'answer' ? [String(text)] : []))
    expect({ code: resumed.code, failed, joined: answers[0] }).toEqual(expected)
    // a call that was in flight when the process was killed may be made again, but never one that was paid for
    const twice = [...counts].filter(([text, count]) => count > 1 && text !== 'ask s13.' && text !== 'ask other.')
    const repeated = events.at(-1)?.['repeated'] as readonly unknown[]
    expect(twice.length).toBeLessThanOrEqual(repeated.length)
    expect(repeated.length).toBeLessThanOrEqual(4)

    if (expected.code === 0) return
    // only what failed is done again, once it can succeed
    isMended.now = true
    const before = new Map(counts)
    const mended = await run(['resume', '--last'])
    expect(mended).toMatchObject({ code: 0, stdout: 'joined 20\n' })
    const again = [...counts].filter(([text, count]) => count !== (before.get(text) ?? 0)).map(([text]) => text)
    expect(again).toContain('ask s13.')
    if (expected.joined !== undefined) expect(again).toEqual(['ask s13.'])
    // calls that were in flight when the failure stopped them
    const stopped = again.filter((text) => text !== 'ask s13.' && before.has(text))
    expect(stopped.length).toBeLessThanOrEqual(3)
  })
})

const release = `+++
model = "m"
[workflow]
[[workflow.step]]
id = "list"
agent = "list.lua"
[[workflow.step]]
id = "note"
needs = ["list"]
for_each = "steps.list.output"
instructions = "note {{item.title}}."
[[workflow.step]]
id = "draft"
needs = ["note"]
instructions = "draft."
[[workflow.step]]
id = "check"
needs = ["draft"]
instructions = "check."
+++
Write release notes.
`
const list = 'return { { title = "one" }, { title = "two" }, { title = "three" } }\n'

describe('a workflow whose file has changed', () => {
  it('repeats only the changed step and the steps after it, with --use-current', async () => {
    const { folder, run, newest, counts } = await world({ 'ask.md': release, 'list.lua': list }, (text) => ({
      text: `<${text}>`,
    }))
    expect(await run(['ask.md'])).toMatchObject({ code: 0, stdout: '<check.>\n' })
    writeFileSync(join(folder, 'ask.md'), release.replace('"draft."', '"draft it."'))
    expect(await run(['resume', await newest(), '--use-current'])).toMatchObject({ code: 0, stdout: '<check.>\n' })
    expect(Object.fromEntries(counts)).toEqual({
      'note one.': 1,
      'note two.': 1,
      'note three.': 1,
      'draft.': 1,
      'draft it.': 1,
      'check.': 2,
    })

    // a new item, and one that has changed
    writeFileSync(join(folder, 'list.lua'), list.replace('two', 'other').replace(' }\n', ', { title = "four" } }\n'))
    expect(await run(['resume', await newest(), '--use-current'])).toMatchObject({ code: 0 })
    expect(Object.fromEntries(counts)).toMatchObject({
      'note one.': 1,
      'note other.': 1,
      'note three.': 1,
      'note four.': 1,
      'draft it.': 2,
    })
    // and the next time, nothing is
    const before = Object.fromEntries(counts)
    expect(await run(['resume', await newest()])).toMatchObject({ code: 0 })
    expect(Object.fromEntries(counts)).toEqual(before)
  })

  it('can repeat a named step', async () => {
    const { run, newest, counts } = await world({ 'ask.md': release, 'list.lua': list }, (text) => ({
      text: `<${text}>`,
    }))
    await run(['ask.md'])
    expect(await run(['resume', await newest(), '--from', 'task/0/step/note/item/1'])).toMatchObject({ code: 0 })
    expect(Object.fromEntries(counts)).toEqual({
      'note one.': 1,
      'note two.': 2,
      'note three.': 1,
      'draft.': 1,
      'check.': 1,
    })
  })
})

describe('a workflow is shown', () => {
  it('while it is planned, as a graph', async () => {
    const { run } = await world({ 'ask.md': release, 'list.lua': list }, () => ({ text: '' }))
    const { stdout } = await run(['plan', 'ask.md'])
    const [, drawn = ''] = /(?<=\n\n)([^]*?)\n\nlimits/.exec(stdout) ?? []
    expect(drawn).toMatchInlineSnapshot(`
      "files  none
      task  1
        ask.md
        workflow  4 steps, 2 at once
          list  .lua list.lua
          └─ note  main agent · for each of steps.list.output · gateway::m · 1 request · 77 tokens in
             └─ draft  main agent · gateway::m · 1 request · 73 tokens in
                └─ check  main agent · gateway::m · 1 request · 73 tokens in"
    `)
    expect((await run(['plan', 'ask.md', '--format', 'mermaid'])).stdout).toMatchInlineSnapshot(`
      "flowchart TD
        s0["list<br>list.lua"]
        s1["note<br>main agent<br>for each steps.list.output"]
        s2["draft<br>main agent"]
        s3["check<br>main agent"]
        s0 --> s1
        s1 --> s2
        s2 --> s3
      "
    `)
    expect((await run(['plan', 'ask.md', '--format', 'dot'])).stdout).toMatchInlineSnapshot(`
      "digraph workflow {
        node [shape=box];
        "list" [label="list\\nlist.lua"];
        "note" [label="note\\nmain agent\\nfor each steps.list.output"];
        "draft" [label="draft\\nmain agent"];
        "check" [label="check\\nmain agent"];
        "list" -> "note";
        "note" -> "draft";
        "draft" -> "check";
      }
      "
    `)
    expect(JSON.parse((await run(['plan', 'ask.md', '--format', 'json'])).stdout)).toMatchObject({
      target: { answer: { by: 'workflow', steps: [{ id: 'list' }, { id: 'note' }, { id: 'draft' }, { id: 'check' }] } },
    })
    expect(await run(['plan', '-p', 'Hi', '-m', 'm', '--format', 'dot'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has no [workflow] to draw'),
    })
  })

  it('when it has ended, by its steps', async () => {
    const { run } = await world({ 'ask.md': release, 'list.lua': list }, (text) => ({ text: `<${text}>` }))
    await run(['ask.md'])
    const { stdout } = await run(['runs', 'show', 'last'])
    expect(stdout).toMatch(/step\/list {2}step {2}list\.lua {2}done/)
    expect(stdout).toMatch(/step\/draft {2}step {2}main agent {2}done/)
  })
})

it('an unknown model is reported before anything is paid', async () => {
  const prompt =
    '+++\nmodel = "offline::extractive"\n[workflow]\n[[workflow.step]]\nid = "a"\ninstructions = "x"\n[[workflow.step]]\nid = "b"\nneeds = ["a"]\ninstructions = "x"\noptions = { model = "nonsense" }\n+++\nHi\n'
  const folder = tempTree({ '.git/HEAD': 'x', 'ask.md': prompt })
  const { code, stderr } = await baton(['ask.md', '--json'], { cwd: folder })
  expect({ code, begun: stderr.includes('step.started') }).toEqual({ code: 2, begun: false })
  expect(stderr).toContain('ask.md:11:')
})

it('the transcript below the line has the answer of the last steps', async () => {
  const { folder, run } = await world({ 'ask.md': `${release}\n====\n`, 'list.lua': list }, (text) => ({
    text: `<${text}>`,
  }))
  expect(await run(['ask.md'])).toMatchObject({ code: 0 })
  expect(readFileSync(join(folder, 'ask.md'), 'utf8')).toMatch(/====\n> .*ask\.md.*\n\n<check\.>\n/)
})

it('a step that waits for a person suspends the run once the others are done, and is asked again', async () => {
  const change = '<FILE_CHANGES>\n<FILE_NEW file_path="new.txt">\nmade\n</FILE_NEW>\n</FILE_CHANGES>\n'
  const prompt = `+++
model = "m"
write_mode = "ask"
[[workflow.step]]
id = "write"
instructions = "write."
[[workflow.step]]
id = "other"
instructions = "other."
[[workflow.step]]
id = "last"
needs = ["write", "other"]
instructions = "last."
+++
Do it.
`
  const { folder, run, newest, counts } = await world({ 'ask.md': prompt }, (text) => ({
    text: text === 'write.' ? change : `<${text}>`,
  }))
  const waits = await run(['ask.md', '--on-ask', 'suspend', '--json'])
  expect(waits.code).toBe(5)
  const events = jsonLines(waits.stdout)
  const ends = events.flatMap(({ type, id }) =>
    /^step\.(?:completed|suspended)/.test(String(type)) ? [`${String(id)} ${String(type)}`] : [],
  )
  expect(ends.toSorted()).toEqual(['other step.completed', 'write step.suspended'])
  expect(events.at(-1)).toMatchObject({ stop_reason: 'waiting_for_approval' })
  expect(Object.fromEntries(counts)).toEqual({ 'write.': 1, 'other.': 1 })

  expect(await run(['resume', await newest(), '-y'])).toMatchObject({ code: 0, stdout: '<last.>\n' })
  expect(readFileSync(join(folder, 'new.txt'), 'utf8')).toBe('made\n')
  expect(Object.fromEntries(counts)).toEqual({ 'write.': 1, 'other.': 1, 'last.': 1 })
})

const items = core(700, 2000)

it(`${items} items are processed, and after a kill only those that were not recorded`, async () => {
  const prompt = `+++
[[workflow.step]]
id = "list"
agent = "list.lua"
[[workflow.step]]
id = "each"
needs = ["list"]
for_each = "steps.list.output"
concurrency = 16
agent = "one.lua"
[[workflow.step]]
id = "sum"
needs = ["each"]
agent = "sum.lua"
+++
`
  const files = {
    'ask.md': prompt,
    'list.lua': `local r = {} for i = 1, ${items} do r[i] = { n = i } end return r\n`,
    'one.lua': 'return { n = input.n * 2 }\n',
    'sum.lua': 'local s = 0 for _, one in ipairs(input) do s = s + one.n end return #input .. " items, " .. s\n',
  }
  const { folder, run, newest } = await world(files, () => ({ text: '' }))
  const first = await run(['ask.md', '--json'], { onOutput: killAfterItems(core(600, 700)) })
  expect(first.code).toBe(null)
  const recorded = itemsDoneIn(folder)
  expect(recorded).toBeGreaterThan(0)
  const resumed = await run(['resume', await newest(), '--json'])
  const events = jsonLines(resumed.stdout)
  expect(events.find(({ type }) => type === 'answer')).toMatchObject({ text: `${items} items, ${items * (items + 1)}` })
  const again = events.filter(({ type, agent }) => type === 'agent.started' && String(agent).includes('/item/')).length
  expect(again).toBe(items - recorded)
}, 180_000)

/** How many items of the only run are recorded as done. */
function itemsDoneIn(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /(?:^|\/)j-[^/]*$/.test(path),
  )
  // the last one may have been cut off
  const lines = files.flatMap((path) => readFileSync(join(folder, path), 'utf8').split('\n').slice(0, -1))
  return lines.filter((line) => /"k":"done".*"p":"task\/0\/step\/each\/item\/\d+"/.test(line)).length
}

function killAfterItems(count: number) {
  return (stdout: string, kill: (signal: NodeJS.Signals) => void): void => {
    if (stdout.split('"type":"step.item"').length > count) kill('SIGKILL')
  }
}

it('a plan does not need the values that an item gives the variables of a prompt file', async () => {
  const prompt = `+++
model = "offline::extractive"
[[workflow.step]]
id = "list"
agent = "list.lua"
[[workflow.step]]
id = "each"
needs = ["list"]
for_each = "steps.list.output"
agent = "child.md"
+++
`
  const child =
    '+++\n[input.title]\nrequired = true\n[input.kind]\nenum = ["a", "b"]\nrequired = true\n+++\n{{input.title}}\n'
  const { run } = await world({ 'ask.md': prompt, 'list.lua': list, 'child.md': child }, () => ({ text: '' }))
  expect(await run(['plan', 'ask.md'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('prompt file child.md'),
  })
  // the items have no "kind"
  const { code, stderr } = await run(['ask.md'])
  expect(code).toBe(1)
  expect(stderr).toContain('workflow step "each" failed: one: "child.md" needs the input variable "kind"')
})

const forty = `+++
model = "m"
[[workflow.step]]
id = "look"
for_each = 'params.files'
instructions = "look at {{item}}."
on_error = "continue"
concurrency = 1
[[workflow.step]]
id = "report"
needs = ["look"]
instructions = "report."
[params]
files = ["a.ts", "b.ts", "c.ts", "d.ts"]
+++
`

describe('a step of which one item gets an empty answer', () => {
  it('leaves the report, and the end says that it was made from a part; a resumed run repeats only that item', async () => {
    const isMended = { now: false }
    const { run, newest, counts } = await world({ 'ask.md': forty }, (text) => ({
      text:
        !isMended.now && (text === 'look at d.ts.' || text.startsWith('Your last answer')) ? '' : `answer to ${text}`,
    }))
    const ran = await run(['ask.md', '--json'])
    const end = jsonLines(ran.stdout).at(-1)
    expect({ code: ran.code, end }).toMatchObject({
      code: 1,
      end: { type: 'run.failed', stop_reason: 'partial', error: { reason: 'PARTIAL_RESULT' } },
    })
    expect(end).toMatchObject({ result: expect.stringContaining('answer to ') as string })
    const list = await run(['runs'])
    expect(list.stdout).toMatch(/ partial /)
    const shown = await run(['runs', 'show', 'last'])
    expect(shown.stdout).toMatch(/step\/look.*partial/)
    expect(shown.stdout).toMatch(/item\/3 .*d\.ts.*failed/)
    expect((await run(['ask.md', '--replay', await newest()])).code).toBe(1)

    isMended.now = true
    const before = new Map(counts)
    const mended = await run(['resume', '--last'])
    expect({ code: mended.code, stdout: mended.stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('answer to ') as string,
    })
    for (const name of ['a', 'b', 'c']) {
      expect(counts.get(`look at ${name}.ts.`)).toBe(before.get(`look at ${name}.ts.`))
    }
    expect((await run(['ask.md', '--replay', await newest()])).code).toBe(0)
  })

  it('is killed during its second try and resumed: no try is paid again', async () => {
    const file = forty
      .replace('concurrency = 1', 'concurrency = 1\nretries = 2')
      .replace(/files = .*/, 'files = ["a.ts"]')
    const isKilled = { now: false }
    const { run, newest, counts } = await world({ 'ask.md': file }, (text, count) => {
      if (text !== 'look at a.ts.') return { text: text.startsWith('Your last answer') ? '' : 'reported' }
      return count === 1 ? { text: '' } : { text: 'seen', ...(isKilled.now ? {} : { delayMs: 60_000 }) }
    })
    const killed = await run(['ask.md', '--json'], {
      onOutput(stdout, kill) {
        if (/"type":"item.started"[^\n]*retry[+/]0/.test(stdout)) kill('SIGKILL')
      },
    })
    expect(killed.code).toBe(null)
    isKilled.now = true
    const asked = (): number => [...counts.values()].reduce((sum, one) => sum + one, 0)
    const before = { first: counts.get('look at a.ts.') ?? 0, all: asked() }
    const resumed = await run(['resume', '--last'])
    expect({ code: resumed.code, stdout: resumed.stdout }).toEqual({ code: 0, stdout: 'reported\n' })
    // the second try, and the report
    expect({ first: counts.get('look at a.ts.'), all: asked() }).toEqual({
      first: before.first + 1,
      all: before.all + 2,
    })
    expect((await run(['ask.md', '--replay', await newest()])).code).toBe(0)
  })
})
