import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startRun } from '../src/runner.ts'
import type { RunReport } from '../src/wiring/conduct.ts'
import { resumeRun, type ResumeOptions } from '../src/wiring/resume.ts'
import { tempTree } from './helpers/temp.ts'

const files = {
  '.git/HEAD': '',
  'f1.txt': 'one',
  'f2.txt': 'two',
  // fails after the tasks as long as a file is missing
  'need.lua': 'aip.file.load("need")',
}

function promptOf(more: string): string {
  return `+++\nmodel = "offline::extractive"\nworking_globs = ["f*.txt"]\nsub_agents = [{ name = "need.lua", stage = "post" }, { name = "./each.lua", stage = "post_task" }]\n${more}\n+++\nRead it.\n`
}

interface World {
  readonly folder: string
  readonly write: (path: string, text: string) => void
  readonly text: (path: string) => string
  readonly run: (env?: Record<string, string>) => Promise<RunReport>
  readonly resume: (options?: Partial<ResumeOptions>) => Promise<RunReport>
  /** The warnings of the last run. */
  readonly warnings: () => readonly string[]
  /** Everything that was recorded. */
  readonly journal: () => string
}

function world(more: { readonly [path: string]: string }): World {
  const folder = tempTree({ 'each.lua': '', ...files, ...more })
  const env = { BATON_HOME: join(folder, '.state'), PATH: process.env['PATH'] ?? '' }
  let runFolder = ''
  let warnings: string[] = []
  return {
    folder,
    write: (path, text) => writeFileSync(join(folder, path), text),
    text: (path) => readFileSync(join(folder, path), 'utf8'),
    run: (own = {}) =>
      startRun(
        'ask.md',
        { cwd: folder, env: { ...env, ...own }, home: join(folder, '.home'), onRecord: (kept) => (runFolder = kept) },
        () => {},
      ),
    resume({ env: own, ...options } = {}) {
      warnings = []
      return resumeRun(
        { folder: runFolder, env: { ...env, ...own }, home: join(folder, '.home'), ...options },
        (event) => {
          if (event.type === 'warning') warnings.push(event.message)
        },
      )
    },
    warnings: () => warnings,
    journal: () =>
      readdirSync(runFolder, { withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'))
        .map(({ name }) => readFileSync(join(runFolder, name), 'utf8'))
        .join(''),
  }
}

describe('a resume does not repeat paid calls', () => {
  it('after limits were raised in the file', async () => {
    const { run, resume, write } = world({ 'ask.md': promptOf('[budget]\ncalls = 1') })
    expect(await run()).toMatchObject({ exitCode: 4, usage: { calls: 1 } })
    write('ask.md', promptOf('input_concurrency = 7\n[retry]\nmax_attempts = 2\n[budget]\ncalls = 9'))
    write('need', '')
    expect(await resume({ usesCurrent: true })).toMatchObject({ exitCode: 0, usage: { calls: 2 } })
  })

  it('after an agent was changed before an earlier resume', async () => {
    const each = 'aip.file.append("log.txt", "x")'
    const { run, resume, write, text } = world({ 'ask.md': promptOf(''), 'each.lua': each })
    expect((await run()).exitCode).toBe(1)
    write('each.lua', `${each} -- changed`)
    for (const _ of [1, 2, 3]) expect((await resume({ usesCurrent: true })).exitCode).toBe(1)
    // once by the first agent and once by the changed one, for each task
    expect(text('log.txt')).toBe('xxxx')
    write('each.lua', `${each} -- changed again`)
    expect((await resume({ usesCurrent: true })).exitCode).toBe(1)
    expect(text('log.txt')).toBe('xxxxxx')
  })

  it('after settings were changed by an earlier resume', async () => {
    const { run, resume, write } = world({ 'ask.md': promptOf('') })
    expect(await run()).toMatchObject({ exitCode: 1, usage: { calls: 2 } })
    // a different temperature makes a different request
    expect(await resume({ overrides: ['temperature=0.5'] })).toMatchObject({ exitCode: 1, usage: { calls: 4 } })
    write('need', '')
    expect(await resume()).toMatchObject({ exitCode: 0, usage: { calls: 4 } })
  })
})

describe('a resume repeats calls whose recorded result could only be a failure', () => {
  it.each([
    ['returned a failure', '{ success = false, error_msg = "not yet" }', 'pre'],
    ['returned a failure behind a task', '{ success = false, error_msg = "not yet" }', 'post_task'],
    ['returned what it may not', '"text"', 'post'],
  ])('a sub-agent that %s', async (_, value, stage) => {
    const front = `sub_agents = [{ name = "look.lua", stage = "${stage}" }]`
    const { run, resume, write, text } = world({
      'ask.md': `+++\nmodel = "offline::extractive"\n${front}\n+++\nRead it.\n`,
      'look.lua': `aip.file.append("log.txt", "x")\nreturn not aip.file.exists("good") and ${value} or nil\n`,
    })
    expect((await run()).exitCode).toBe(1)
    expect((await resume()).exitCode).toBe(1)
    write('good', '')
    expect(await resume()).toMatchObject({ exitCode: 0, usage: { calls: 1 } })
    expect(text('log.txt')).toBe('xxx')
  })

  it('an agent that gave no answer', async () => {
    const { run, resume, write } = world({
      'ask.md': '+++\nagent = "answer.lua"\n+++\nRead it.\n',
      'answer.lua': 'return aip.file.exists("good") and "fine" or { no = "content" }\n',
    })
    expect((await run()).exitCode).toBe(1)
    write('good', '')
    expect(await resume()).toMatchObject({ exitCode: 0, tasks: [{ content: 'fine' }] })
  })
})

describe('a run that has used a secret', () => {
  const files = {
    'ask.md': promptOf('').replace('Read it.', 'Describe postgres://pass.'),
    'each.lua': 'aip.file.append("log.txt", "x")',
    '.state/config/config.toml': 'secrets = ["DB_URL"]\n',
  }
  const env = { DB_URL: 'postgres://pass' }

  it('is resumed only with the same secret set, and never records its value', async () => {
    const { run, resume, write, folder, journal } = world(files)
    expect((await run(env)).exitCode).toBe(1)
    write('need', '')
    const before = journal()
    await expect(resume()).rejects.toMatchObject({
      code: 'USAGE',
      message: 'this run used the secret DB_URL, which is not set now',
    })
    await expect(resume({ env: { DB_URL: 'postgres://other' } })).rejects.toMatchObject({
      message: `${join(folder, 'ask.md')} contained the value of the secret DB_URL when this run started, and that value has changed since`,
    })
    expect(journal()).toBe(before)
    expect(await resume({ env })).toMatchObject({ exitCode: 0, usage: { calls: 2 } })
    expect(journal()).not.toContain('postgres://pass')
  })
})

it('a resume reports when it continues with a file that was changed, except for changes by the run itself', async () => {
  const { run, resume, write, warnings } = world({
    'ask.md': promptOf(''),
    'need.lua': `
local text = aip.file.load("data.txt").content
aip.file.load("own.txt")
aip.file.save("own.txt", "written")
assert(text == "good", text)
`,
    'data.txt': 'bad',
    'own.txt': 'before',
  })
  expect((await run()).exitCode).toBe(1)
  write('data.txt', 'good')
  expect((await resume()).exitCode).toBe(1)
  expect(warnings()).toEqual([
    'data.txt has changed since this run read it, but post/0:need.lua/chunk continues with what it read',
  ])
  expect((await resume({ from: 'post/0:need.lua/chunk' })).exitCode).toBe(0)
})
