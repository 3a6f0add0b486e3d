import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  cutsOf,
  goldenRunNames,
  readGoldenRun,
  requestsOf,
  resumeAt,
  shapeOf,
  someCutsOf,
  viewsOf,
} from '../helpers/durable/golden-runs.ts'
import { root } from '../helpers/baton.ts'
import { runShapes } from '../helpers/durable/golden-run-shapes.ts'
import { changedWord, wordedBuild } from '../helpers/durable/worded-build.ts'
import { tempTree } from '../helpers/temp.ts'
import { createWarmCommand, type WarmCommand } from '../helpers/warm-command.ts'

// A later version may word everything that it says to models differently. It resumes and replays the runs of the version
// before nevertheless: those of test/fixtures/golden-runs. BATON_GOLDEN=whole (npm run soak -- golden) tries every record.
const isWhole = process.env['BATON_GOLDEN'] === 'whole'

let folder: string
let later: WarmCommand
let withoutTodo: WarmCommand
beforeAll(() => {
  folder = wordedBuild()
  later = createWarmCommand(`${folder}/main.js`)
  withoutTodo = createWarmCommand(`${folder}/without-todo.js`)
})
afterAll(async () => {
  await Promise.all([later.end(), withoutTodo.end()])
  rmSync(dirname(folder), { recursive: true })
})

/** Names, states, markup, and what the parsers of others say: no sentences of this program. */
const signs = new Set(
  `file path lines line first_line first instruction structure answer member no_answer no changes part status js ts txt
  string number boolean null function input void any unknown type object properties items required enum minimum maximum
  array Array files system reminder task context assessment old text new all offset limit todos pending in progress completed
  default worker orchestrator timed out false submission id agent teammate self Bash Explore Plan general purpose
  tmp golden journals home state runs work tasks md json diff git index made patch replace
  nothing is not defined hunks failed its and removed are found must be at least but of the adds warns ships`.split(
    /\s+/,
  ),
)

interface Said {
  readonly role: string
  readonly content: string
}

/** The recorded answers of models. */
function answersIn(journals: Readonly<Record<string, string>>): readonly unknown[] {
  const lines = Object.values(journals).flatMap((text) => text.split('\n').slice(0, -1))
  return lines.filter((line) => line.includes('"k":"ended"') && line.includes('"kind":"model"'))
}

/** Names of tools and parameters are no texts. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]: [string, unknown]) => {
    if (typeof one === 'string') return ['content', 'description', 'text'].includes(key) ? [one] : []
    return textsIn(one)
  })
}

function wordsIn(text: string): readonly string[] {
  return text.replaceAll(/[0-9a-f]+(?:-[0-9a-f]+)+|\b\w*\d\w*\b|\\n/g, ' ').match(/\p{L}{2,}/gu) ?? []
}

for (const name of goldenRunNames()) {
  const golden = readGoldenRun(name)
  const shape = shapeOf(name)
  const missing = (shape.needs ?? []).filter((program) => spawnSync(program, ['--version']).status !== 0)

  describe.skipIf(missing.length > 0)(`${name}${missing.map((program) => `, which needs ${program}`).join('')}`, () => {
    it('is replayed by a version with other texts for models', async () => {
      const views = golden.views.filter(({ args }) => args.includes('--replay') && !args.includes('--json'))
      const [replay] = await viewsOf(name, { golden: { ...golden, views }, command: later })
      expect({ code: replay?.code, stdout: replay?.stdout }, replay?.stderr).toEqual({
        code: views[0]?.code,
        stdout: views[0]?.stdout,
      })
    })

    it.each(isWhole ? cutsOf(name, golden) : someCutsOf(name, golden, 1))('goes on there after $at', async (cut) => {
      const { result, calls, unpaid, said } = await resumeAt(name, cut, { golden, command: later })
      expect(result, said).toEqual(golden.result)
      if (shape.isRace === true) expect(calls, said).toBeLessThanOrEqual(unpaid)
      else expect(calls, said).toBe(unpaid)
    })

    it('says nothing to models that is not marked as its text', async () => {
      const requests = await requestsOf(name, later)
      const messages = requests.flatMap((body) => body.messages as readonly Said[])
      const answers = [messages.filter(({ role }) => role === 'assistant'), answersIn(golden.journals)]
      const offered = requests.flatMap(({ tools }) => JSON.stringify(tools ?? []).match(/(?<="name":")[^"]+/g) ?? [])
      // programs may call them, before requests carry them
      const names = [...offered, 'bash_output', 'kill']
      const functions = names.map((one) => one.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()))
      const written = [shape.files, shape.steps, answers, names, functions]
      const known = new Set([...signs, ...wordsIn(JSON.stringify(written))])
      const told = [...messages.filter(({ role }) => role !== 'assistant'), ...requests.map(({ tools }) => tools)]
      const words = told.flatMap(textsIn).flatMap(wordsIn)
      expect(words.length).toBeGreaterThan(0)
      expect([...new Set(words)].filter((word) => !word.startsWith(changedWord) && !known.has(word))).toEqual([])
    })
  })
}

describe('a run with a tool that a later version no longer has', () => {
  const golden = readGoldenRun('tools')
  const warning = 'this version of Baton no longer has a tool of this run: todo'
  const views = golden.views.filter(({ args }) => args.includes('--replay') && !args.includes('--json'))

  it('is replayed, with one warning', async () => {
    const [replay] = await viewsOf('tools', { golden: { ...golden, views }, command: withoutTodo })
    expect({ code: replay?.code, stdout: replay?.stdout }, replay?.stderr).toEqual({
      code: 0,
      stdout: views[0]?.stdout,
    })
    expect(replay?.stderr.split(warning)).toHaveLength(2)
  })

  it.each(isWhole ? cutsOf('tools', golden) : someCutsOf('tools', golden, 2))('goes on after $at', async (cut) => {
    const { result, calls, unpaid, said } = await resumeAt('tools', cut, {
      golden,
      command: withoutTodo,
    })
    expect(result, said).toEqual(golden.result)
    expect(calls, said).toBe(unpaid)
  })

  it('is not replayed with a file that names a tool that no version had', async () => {
    const prompt = runShapes['tools']?.files['ask.md'] ?? ''
    const change = { 'ask.md': prompt.replace('"todo"', '"todo", "toodo"') }
    const [replay] = await viewsOf('tools', {
      golden: { ...golden, views },
      command: withoutTodo,
      change,
    })
    expect(replay?.code).toBe(2)
    expect(replay?.stderr).toContain('unknown tool "toodo"')
  })
})

it('tells a change of the author from texts that are worded differently', async () => {
  const golden = readGoldenRun('tools')
  const views = golden.views.filter(({ args }) => args.includes('--replay') && !args.includes('--json'))
  const prompt = runShapes['tools']?.files['ask.md'] ?? ''
  const change = { 'ask.md': prompt.replace('count the lines', 'count the words') }
  const [replay] = await viewsOf('tools', { golden: { ...golden, views }, command: later, change })
  expect(replay?.code).toBe(5)
  expect(replay?.stderr).toMatch(/^\+ +text: Set the port in notes.txt to 8080, then count the words.$/m)
  // which is all that is shown as different
  expect(replay?.stderr).not.toContain(changedWord)
})

it('passes the tests of prompt files with the cassettes of the version before', async () => {
  const files = readdirSync(join(root, 'pipelines')).filter(
    (file) => file.endsWith('.md') && readFileSync(join(root, 'pipelines', file), 'utf8').includes('[[test]]'),
  )
  const env = { HOME: tempTree(), BATON_HOME: tempTree(), PATH: process.env['PATH'], NO_COLOR: '1' }
  const args = ['test', ...files.map((file) => `pipelines/${file}`)]
  const ended = await later.run({ args, cwd: root, env })
  expect(files.length).toBeGreaterThan(5)
  expect(ended, ended?.stdout).toMatchObject({ code: 0 })
})
