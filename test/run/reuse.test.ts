import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { RunEvent } from '../../src/event/event.ts'
import { hashPrompt } from '../../src/prompt/document.ts'
import { openSigningKey } from '../../src/journal/signing.ts'
import { createReuseSession, type ReuseCounts } from '../../src/run/reuse.ts'
import { createSourceLog } from '../../src/run/source-log.ts'
import { startRun } from '../../src/runner.ts'
import { comparePlan, type WatchPlan } from '../../src/watch/plan.ts'
import { createPrints } from '../../src/watch/prints.ts'
import { type ModelReply, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const open: ModelServer[] = []
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())))

interface Ran {
  readonly counts: ReuseCounts
  readonly events: readonly RunEvent[]
  readonly answers: readonly string[]
  /** Why parts were run again, with the label of each. */
  readonly again: readonly string[]
  /** The requests of this run. */
  readonly calls: readonly string[]
  readonly usd: number | null
  readonly totalCalls: number
  /** What would immediately start another run. */
  readonly differs: readonly string[]
}

interface RunOptions {
  readonly repeats?: 'everything'
  readonly overrides?: readonly string[]
  /** Default: 0. */
  readonly exitCode?: number
}

interface World {
  readonly at: (path: string) => string
  readonly read: (path: string) => string
  readonly save: (path: string, text: string) => void
  readonly run: (options?: RunOptions) => Promise<Ran>
}

type Answer = (prompt: string, index: number) => ModelReply

/** A watch session without the waiting: each `run` is a later run of it. */
async function world(files: { readonly [path: string]: string }, answer: Answer = echo): Promise<World> {
  const server = await startModelServer(({ body }, index) =>
    answer((body?.messages ?? []).map(({ content }) => content).join('\n'), index),
  )
  open.push(server)
  const root = tempTree({ '.git/HEAD': '', ...files })
  const prints = createPrints({ hashPrompt, now: () => Date.now() })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: join(root, '.state') }
  const session = createReuseSession({ openKey: () => openSigningKey({ env, home: root }) })
  let before: WatchPlan | undefined
  return {
    at: (path) => join(root, path),
    read: (path) => readFileSync(join(root, path), 'utf8'),
    save: (path, text) => writeFileSync(join(root, path), text),
    async run({ repeats, overrides = [], exitCode = 0 } = {}) {
      const asked = server.requests.length
      const events: RunEvent[] = []
      const log = createSourceLog({ prints, before })
      const reuse = session.next({ log, repeats: repeats ?? 'what changed' })
      const options = { cwd: root, env, home: join(root, '.home'), log, reuse, overrides }
      const report = await startRun('ask.md', options, (event) => events.push(event))
      expect(report.exitCode, String(report.error)).toBe(exitCode)
      const counts = { ...(await reuse.end()) }
      before = log.plan({ keep: report.exitCode !== 0 })
      return {
        counts,
        events,
        answers: events.flatMap((event) => (event.type === 'answer' ? [event.text] : [])),
        again: events.flatMap((event) => (event.type === 'again' ? [`${event.label}: ${event.reason}`] : [])),
        calls: server.requests
          .slice(asked)
          .map(({ body }) => (body?.messages ?? []).map(({ content }) => content).join('\n')),
        usd: report.costUsd,
        totalCalls: report.usage.calls,
        differs: comparePlan(before).changed.map((path) => path.slice(root.length + 1)),
      }
    },
  }
}

const echo: Answer = (prompt) => ({ text: `seen ${/content (\w+)/.exec(prompt)?.[1] ?? 'nothing'}` })

const prompt = (keys: string, text = 'Explain.'): string => `+++\nmodel = "gpt-5-mini"\n${keys}\n+++\n${text}\n`
const ten = Object.fromEntries(
  Array.from({ length: 10 }, (_, n) => [`src/f${String(n).padStart(2, '0')}.ts`, `content c${n}\n`]),
)
const perFile = 'working_globs = ["src/*.ts"]'

describe('a later run of a watch session', () => {
  it('pays for the one task whose file was edited, and gives all answers', async () => {
    const { run, save } = await world({ 'ask.md': prompt(perFile), ...ten })
    const first = await run()
    expect(first).toMatchObject({ counts: { reused: 0, rerun: 0 }, differs: [] })
    expect(first.calls).toHaveLength(10)

    expect(await run()).toMatchObject({
      counts: { reused: 10, rerun: 0 },
      calls: [],
      answers: first.answers,
      totalCalls: 0,
      usd: 0,
      differs: [],
    })

    save('src/f07.ts', 'content edited\n')
    const third = await run()
    expect(third.again).toEqual(['src/f07.ts: src/f07.ts changed'])
    expect(third.calls).toHaveLength(1)
    expect(third.counts).toEqual({ reused: 9, rerun: 1 })
    expect(third.answers).toEqual(first.answers.map((text, index) => (index === 7 ? 'seen edited' : text)))
    expect(third.differs).toEqual([])
    // reused from a run that has reused it itself, and from the run that did it again
    expect((await run()).counts).toEqual({ reused: 10, rerun: 0 })
  })

  it('pays for nothing but the new task when there is a new file, wherever it stands', async () => {
    const { run, save, at } = await world({
      'ask.md': prompt(perFile),
      'src/b.ts': 'content b',
      'src/c.ts': 'content c',
    })
    await run()
    save('src/a.ts', 'content a')
    const second = await run()
    expect(second).toMatchObject({ counts: { reused: 2, rerun: 0 }, answers: ['seen a', 'seen b', 'seen c'] })
    expect(second.calls).toHaveLength(1)
    rmSync(at('src/b.ts'))
    expect(await run()).toMatchObject({ counts: { reused: 2 }, calls: [], answers: ['seen a', 'seen c'] })
  })

  it('does everything again when the prompt, the model or a param is another one, and says so', async () => {
    const files = { 'src/a.ts': 'content a', 'src/b.ts': 'content b' }
    const { run, save } = await world({ 'ask.md': prompt(perFile), ...files })
    await run()
    save('ask.md', prompt(perFile, 'Explain more.'))
    expect((await run()).again).toEqual(['src/a.ts: its prompts changed', 'src/b.ts: its prompts changed'])
    save('baton.toml', 'model = "gpt-5"\n')
    expect((await run()).counts).toEqual({ reused: 2, rerun: 0 })
    expect((await run({ overrides: ['model="gpt-5"'] })).again).toEqual([
      'src/a.ts: its settings changed',
      'src/b.ts: its settings changed',
    ])
    save('ask.md', prompt(`${perFile}\nsub_agents = ["pass"]\n[params]\ntone = "dry"`, 'Explain more.'))
    save('pass.lua', 'return nil')
    const last = await run()
    expect(last.again).toHaveLength(2)
    expect(last.calls).toHaveLength(2)
  })

  it('repeats everything when that is wanted, and reads back from that run afterwards', async () => {
    const { run } = await world({ 'ask.md': prompt(perFile), 'src/a.ts': 'content a', 'src/b.ts': 'content b' })
    await run()
    expect(await run({ repeats: 'everything' })).toMatchObject({ counts: { reused: 0, rerun: 0 }, again: [] })
    expect((await run()).counts).toEqual({ reused: 2, rerun: 0 })
  })

  it('does a part that failed again, and no other', async () => {
    let isBroken = true
    const { run } = await world(
      { 'ask.md': prompt(perFile), 'src/a.ts': 'content a', 'src/b.ts': 'content b' },
      (text, index) =>
        isBroken && text.includes('content b')
          ? { status: 400, body: { error: { message: 'no' } } }
          : echo(text, index),
    )
    await run({ overrides: ['input_concurrency=1'], exitCode: 1 })
    isBroken = false
    const second = await run({ overrides: ['input_concurrency=1'] })
    expect(second).toMatchObject({ counts: { reused: 1, rerun: 0 } })
    expect(second.calls).toHaveLength(1)
  })
})

describe('the agents of a part', () => {
  const chain = `${perFile}\nsub_agents = ["plan", { name = "note", stage = "pre_task" }]`
  const files = {
    'ask.md': prompt(chain),
    'plan.lua': 'local words = require("words")\nprint("planned " .. words)\nreturn { coder_prompts_append = words }',
    'lua/words.lua': 'return "shortly"',
    'note.lua': 'return nil',
    'src/a.ts': 'content a',
  }

  it('make it new when a comment in them is another one, also in a module', async () => {
    const { run, at } = await world(files)
    await run()
    expect(await run()).toMatchObject({ counts: { reused: 2, rerun: 0 }, calls: [] })
    appendFileSync(at('note.lua'), '\n-- nothing new')
    expect((await run()).again).toEqual(['src/a.ts: note.lua changed'])
    appendFileSync(at('plan.lua'), '\n-- nothing new')
    expect((await run()).again).toEqual(['plan: plan.lua changed'])
    appendFileSync(at('lua/words.lua'), '\n-- nothing new')
    expect((await run()).again).toEqual(['plan: lua/words.lua changed'])
    expect((await run()).counts).toEqual({ reused: 2, rerun: 0 })
  })

  it('show again what they have printed', async () => {
    const { run } = await world(files)
    const printed = ({ events }: Ran): readonly string[] =>
      events.flatMap((event) => (event.type === 'print' ? [event.text] : []))
    const first = await run()
    expect(printed(first)).toEqual(['planned shortly'])
    expect(printed(await run())).toEqual(printed(first))
    expect(printed(await run())).toEqual(printed(first))
  })

  it.each([
    ['runs a command', 'aip.cmd.exec("true", {})', 'it runs a command'],
    ['hides that by pcall', 'pcall(aip.cmd.exec, "true", {})', 'it runs a command'],
    ['reads the time', 'aip.time.now_iso_utc_micro()', 'aip.time.now_iso_utc_micro() returns something else'],
  ])('are done again always when one %s', async (_, code, reason) => {
    const { run } = await world({ ...files, 'note.lua': code, 'src/b.ts': 'content b' })
    await run()
    expect(await run()).toMatchObject({
      counts: { reused: 1, rerun: 2 },
      again: [`src/a.ts: ${reason}`, `src/b.ts: ${reason}`],
    })
  })

  it.each([
    ['a file that one reads', 'aip.file.load("extra.md")', 'extra.md changed'],
    ['what one lists', 'aip.file.list("extra*")', 'aip.file.list("extra*") returns something else'],
    ['data that one reads', 'aip.file.load_yaml("extra.md")', 'extra.md changed'],
  ])('are done again when %s differs', async (_, code, reason) => {
    const { run, save } = await world({ ...files, 'note.lua': code, 'extra.md': 'a: 1' })
    await run()
    expect((await run()).counts).toEqual({ reused: 2, rerun: 0 })
    save('extra.md', 'a: 1000')
    expect((await run()).again).toEqual([`src/a.ts: ${reason}`])
  })

  it('may use random numbers', async () => {
    const { run } = await world({ ...files, 'note.lua': 'return { coder_prompts_append = tostring(math.random()) }' })
    const first = await run()
    expect(await run()).toMatchObject({ counts: { reused: 2 }, answers: first.answers })
  })
})

describe('what the parts are given', () => {
  it('makes a task new when a context file appears, differs or goes', async () => {
    const { run, save, at } = await world({
      'ask.md': prompt('context_globs = ["*.txt"]'),
      'a.txt': 'content a',
    })
    await run()
    save('b.txt', 'content b')
    expect((await run()).again).toEqual(['ask.md: it did not read b.txt before'])
    save('b.txt', 'content bb')
    expect((await run()).again).toEqual(['ask.md: b.txt changed'])
    rmSync(at('b.txt'))
    expect((await run()).again).toEqual(['ask.md: b.txt is no longer among its files'])
    expect(await run()).toMatchObject({ counts: { reused: 1, rerun: 0 }, calls: [] })
  })

  it('is the cost of an answer also where that is read back', async () => {
    const { run, save, read } = await world({
      'ask.md': prompt('agent = "main.aip"\nsub_agents = [{ name = "log", stage = "post_task" }]'),
      'main.aip': '# Instruction\n\nSay hi.\n',
      'log.lua': 'local usage = input.ai_response.usage\naip.file.save("out.txt", tostring(usage.prompt_tokens))',
    })
    await run()
    expect(read('out.txt')).toBe('10')
    expect(await run()).toMatchObject({ again: [], counts: { reused: 1, rerun: 0 }, totalCalls: 0 })
    save('out.txt', 'theirs')
    expect((await run()).again).toEqual(['ask.md: out.txt has changed since'])
  })

  it('may come from a prompt file that runs as an agent', async () => {
    const { run, save } = await world({
      'ask.md': prompt('sub_agents = ["child.md"]'),
      'child.md': '+++\nmodel = "gpt-5-mini"\ncontext_globs = ["*.txt"]\n+++\nLook at it.\n',
      'a.txt': 'content a',
    })
    const first = await run()
    expect(first.calls).toHaveLength(2)
    expect(await run()).toMatchObject({ counts: { reused: 2, rerun: 0 }, answers: first.answers, calls: [] })
    save('a.txt', 'content b')
    expect((await run()).again[0]).toMatch(/^child\.md: /)
  })
})

describe('files that a part writes', () => {
  const files = {
    'ask.md': prompt('sub_agents = ["write"]'),
    'write.lua':
      'local old = aip.file.exists("out.txt") and aip.file.load("out.txt").content or ""\n' +
      'aip.file.save("out.txt", "made from " .. aip.file.load("in.txt").content)\n' +
      'aip.file.append("log.txt", "line\\n")\nreturn { coder_prompts_append = old }',
    'in.txt': 'one',
  }

  it('are not written again as long as they are as they were left', async () => {
    const { run, read } = await world(files)
    await run()
    const second = await run()
    expect(second).toMatchObject({ again: [], counts: { reused: 2, rerun: 0 }, differs: [] })
    expect((await run()).counts).toEqual({ reused: 2, rerun: 0 })
    expect(read('log.txt')).toBe('line\n')
  })

  it.each([
    ['changed', 'theirs'],
    ['put back to what they were before', ''],
  ])('are written again when somebody has %s', async (_, theirs) => {
    const { run, read, save, at } = await world(files)
    await run()
    await run()
    if (theirs === '') rmSync(at('out.txt'))
    else save('out.txt', theirs)
    const third = await run()
    expect(third.again[0]).toMatch(/^write: (out\.txt changed|out\.txt has changed since|aip)/)
    expect(read('out.txt')).toBe('made from one')
    expect((await run()).counts.rerun).toBe(0)
  })

  it('are written again when what they are made of differs', async () => {
    const { run, read, save } = await world(files)
    await run()
    save('in.txt', 'two')
    expect((await run()).again[0]).toBe('write: in.txt changed')
    expect(read('out.txt')).toBe('made from two')
  })

  it('are compared with what their own run left, not with what a later one did', async () => {
    const { run, save, read } = await world({
      ...files,
      'write.lua':
        'local from = aip.file.load("in.txt").content\naip.file.save("out.txt", from)\nif from == "two" then error("no") end',
    })
    await run()
    save('in.txt', 'two')
    await run({ exitCode: 1 })
    expect(read('out.txt')).toBe('two')
    save('in.txt', 'one')
    // the time of the file also differs, and a script sees it
    await run()
    expect(read('out.txt')).toBe('one')
  })

  it('are written again when somebody has changed them during a run that read the part back', async () => {
    const { run, save, read } = await world(
      {
        ...files,
        'ask.md': prompt('sub_agents = ["write"]\ncontext_globs = ["c.txt"]'),
        'write.lua': 'aip.file.save("out.txt", "mine")',
        'c.txt': 'one',
      },
      (text) => {
        if (text.includes('two')) save('out.txt', 'theirs')
        return { text: 'done' }
      },
    )
    await run()
    save('c.txt', 'two')
    expect(await run()).toMatchObject({ counts: { reused: 1, rerun: 1 } })
    expect(read('out.txt')).toBe('theirs')
    expect((await run()).again).toEqual(['write: out.txt has changed since'])
    expect(read('out.txt')).toBe('mine')
  })

  describe('by adding to one file, as other parts do', () => {
    const shared = {
      'ask.md': prompt(`${perFile}\ninput_concurrency = 1\nsub_agents = [{ name = "log", stage = "pre_task" }]`),
      'log.lua': 'aip.file.append("log.txt", "one more\\n")',
      ...Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`src/${name}.ts`, `content ${name}`])),
    }

    it('are as they were left, too, when a part of this run has added to them before', async () => {
      const { run, save, read } = await world(shared)
      await run()
      for (const name of ['d', 'a', 'c', 'a']) {
        save(`src/${name}.ts`, `content ${name}${name}`)
        expect(await run()).toMatchObject({
          again: [`src/${name}.ts: src/${name}.ts changed`],
          counts: { reused: 3, rerun: 1 },
          differs: [],
        })
        save(`src/${name}.ts`, `content ${name}`)
        expect((await run()).counts.rerun).toBe(1)
      }
      expect(read('log.txt')).toBe('one more\n'.repeat(12))
    })

    it('are as they were left also for parts that only an older run has done', async () => {
      const { run, save } = await world(shared, (text, index) =>
        text.includes('content bad') ? { status: 400, body: { error: { message: 'no' } } } : echo(text, index),
      )
      await run()
      save('src/d.ts', 'content bad')
      await run({ exitCode: 1 })
      save('src/d.ts', 'content d')
      expect(await run()).toMatchObject({ again: [], calls: [], counts: { reused: 4, rerun: 0 } })
    })

    it.each([
      ['added to them', (text: string) => `${text}theirs\n`],
      ['changed what is in them', (text: string) => text.replace('one', 'two')],
    ])('are written again when somebody has %s', async (_, change) => {
      const { run, save, read } = await world(shared)
      await run()
      save('log.txt', change(read('log.txt')))
      expect((await run()).again).toEqual([
        'src/a.ts: log.txt has changed since',
        'src/b.ts: log.txt has changed since',
        'src/c.ts: log.txt has changed since',
        'src/d.ts: log.txt has changed since',
      ])
      expect((await run()).counts).toEqual({ reused: 4, rerun: 0 })
    })

    it('are another thing to a part that reads them', async () => {
      const { run, save } = await world({ ...shared, 'log.lua': `${shared['log.lua']}\naip.file.load("log.txt")` })
      await run()
      expect((await run()).counts.rerun).toBe(0)
      save('src/a.ts', 'content aa')
      expect((await run()).again).toContain('src/b.ts: log.txt changed')
    })

    it('are written again when a part of this run has put another content into them', async () => {
      const { run, save, read } = await world({
        ...shared,
        'log.lua': 'aip.file.save("log.txt", input.task.label)',
      })
      await run()
      expect((await run()).counts.rerun).toBe(0)
      save('src/a.ts', 'content aa')
      expect((await run()).again).toContain('src/d.ts: log.txt has changed since')
      expect(read('log.txt')).toBe('src/d.ts')
    })
  })

  it('count for a copy as its source', async () => {
    const { run, save, read } = await world({
      ...files,
      'write.lua': 'aip.file.copy("in.txt", "out.txt", { overwrite = true })',
    })
    await run()
    expect((await run()).counts.rerun).toBe(0)
    save('in.txt', 'three')
    expect((await run()).again).toEqual(['write: in.txt changed'])
    expect(read('out.txt')).toBe('three')
  })
})

describe('tasks that patch the files they read', () => {
  const patch: Answer = (text) => {
    const [, name, content] = /<file path="(src\/\w\.ts)"[^>]*>\n?(.*)/.exec(text) ?? []
    const hunk = `<FILE_PATCH file_path="${name}">\n@@\n-${content}\n+${content}!\n</FILE_PATCH>`
    return { text: `Done.\n\n<FILE_CHANGES>\n${hunk}\n</FILE_CHANGES>` }
  }
  const files = {
    'ask.md': prompt(`${perFile}\nwrite_mode = true`, 'Shout.'),
    'src/a.ts': 'content a\n',
    'src/b.ts': 'content b\n',
  }

  it('are read back, but for the one whose file was edited', async () => {
    const { run, save, read } = await world(files, patch)
    expect(await run()).toMatchObject({ differs: [] })
    expect([read('src/a.ts'), read('src/b.ts')]).toEqual(['content a!\n', 'content b!\n'])
    expect(await run()).toMatchObject({ again: [], counts: { reused: 2, rerun: 0 }, calls: [], differs: [] })

    save('src/b.ts', 'content new\n')
    const third = await run()
    expect(third).toMatchObject({ again: ['src/b.ts: src/b.ts changed'], differs: [] })
    expect(third.calls).toHaveLength(1)
    expect([read('src/a.ts'), read('src/b.ts')]).toEqual(['content a!\n', 'content new!\n'])
    expect(await run()).toMatchObject({ again: [], calls: [] })
  })
})
