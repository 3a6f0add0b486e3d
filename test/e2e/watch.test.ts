import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { baton, type BatonResult, jsonLines } from '../helpers/baton.ts'
import { type ModelScript, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { inTerminal } from '../helpers/pty.ts'
import { tempTree } from '../helpers/temp.ts'

const open: ModelServer[] = []
const running: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((end) => end()))
  await Promise.all(open.splice(0).map((server) => server.close()))
})

interface World {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly server: ModelServer
  /** Writes a file in one step. */
  readonly save: (path: string, content: string) => void
  /** What the model was asked last. */
  readonly asked: () => string
}

async function world(files: { readonly [path: string]: string }, script?: ModelScript): Promise<World> {
  const server = await startModelServer(script ?? ((_request, index) => ({ text: `answer ${index + 1}` })))
  open.push(server)
  const cwd = tempTree({ '.git/HEAD': '', ...files })
  return {
    cwd,
    env: { BATON_GATEWAY_URL: server.url },
    server,
    save(path, content) {
      mkdirSync(dirname(join(cwd, path)), { recursive: true })
      writeFileSync(join(cwd, path), content)
    },
    asked: () => (server.requests.at(-1)?.body?.messages ?? []).map(({ content }) => content).join('\n'),
  }
}

interface Watching {
  readonly stderr: () => string
  /** Resolves once stderr contains a text this many times. */
  readonly says: (text: string, times?: number) => Promise<void>
  readonly end: (signal?: NodeJS.Signals) => Promise<BatonResult>
}

function startWatching(args: readonly string[], { cwd, env }: World): Watching {
  let stderr = ''
  let kill: (signal: NodeJS.Signals) => void = () => {}
  let told: () => void = () => {}
  let isOver = false
  const result = baton([...args, '--watch'], {
    cwd,
    env,
    onOutput: (_stdout, killer) => (kill = killer),
    onError(text, killer) {
      stderr = text
      kill = killer
      told()
    },
  })
  void result.finally(() => {
    isOver = true
    told()
  })
  const end: Watching['end'] = (signal = 'SIGTERM') => {
    kill(signal)
    return result
  }
  running.push(end)
  return {
    stderr: () => stderr,
    async says(text, times = 1) {
      while (stderr.split(text).length - 1 < times) {
        if (isOver) throw new Error(`it has ended without "${text}" ${times} times:\n${stderr}`)
        await new Promise<void>((resolve) => (told = resolve))
      }
    },
    end,
  }
}

const prompt = (text: string, keys = ''): string => `+++\nmodel = "gpt-5-mini"\n${keys}+++\n${text}\n\n====\n`

describe('baton run --watch', () => {
  it('runs again for whatever the run has read, and for nothing else', async () => {
    const at = await world({
      'ask.md': prompt('Explain.', 'context_globs = ["src/**/*.ts"]\nsub_agents = ["agents/note"]\n'),
      'src/a.ts': 'export const a = 1\n',
    })
    const { cwd, server, save, asked } = at
    const watched = startWatching(['ask.md'], at)
    let rests = 0
    const rest = (): Promise<void> => watched.says('watching ', (rests += 1))

    await watched.says('there is no agent "agents/note"')
    await rest()
    expect(server.requests).toHaveLength(0)

    const steps: readonly (readonly [change: string, act: () => void, seen: string])[] = [
      ['agents/note.lua', () => save('agents/note.lua', agent), 'note: none'],
      ['agents/lua/words.lua', () => save('agents/lua/words.lua', 'return "some"\n'), 'note: some'],
      ['agents/lua/words.lua', () => save('agents/lua/words.lua', 'return "more"\n'), 'note: more'],
      ['agents/note.lua', () => save('agents/note.lua', agent.replace('note:', 'noted:')), 'noted: more'],
      // as editors do: a new file replaces the old one
      [
        'ask.md',
        () => {
          save('.ask.md.new', prompt('Explain shortly.', readKeys(cwd)))
          renameSync(join(cwd, '.ask.md.new'), join(cwd, 'ask.md'))
        },
        'Explain shortly.',
      ],
      // as others do: the old file is kept under a different name
      [
        'src/a.ts',
        () => {
          renameSync(join(cwd, 'src/a.ts'), join(cwd, 'src/a.ts~'))
          save('src/a.ts', 'export const a = 2\n')
        },
        'a = 2',
      ],
      ['src/new/b.ts', () => save('src/new/b.ts', 'export const b = 1\n'), 'b = 1'],
      ['baton.toml', () => save('baton.toml', 'temperature = 0.5\n'), 'b = 1'],
    ]
    for (const [index, [change, act, seen]] of steps.entries()) {
      act()
      await rest()
      expect(watched.stderr()).toContain(`changed ${change}\n`)
      expect(server.requests).toHaveLength(index + 1)
      expect(asked()).toContain(seen)
    }
    expect(server.requests.at(-1)?.body?.['temperature']).toBe(0.5)

    save('ask.md', prompt('Explain.').replace('+++\nE', 'E'))
    await rest()
    expect(watched.stderr()).toContain('is not closed')
    // unrelated files start nothing: the next run is that of the corrected file
    save('notes.txt', 'x')
    save('src/notes.txt', 'x')
    save('ask.md', prompt('Explain again.'))
    await rest()
    expect(server.requests).toHaveLength(steps.length + 1)
    expect(readFileSync(join(cwd, 'ask.md'), 'utf8')).toContain(`answer ${steps.length + 1}`)

    const { code, stdout } = await watched.end()
    expect(code).toBe(143)
    expect(stdout.trim().split('\n')).toEqual(server.requests.map((_request, index) => `answer ${index + 1}`))
  })

  it('turns twenty saves during a run into exactly one more run, which sees the last of them', async () => {
    let answer = (): void => {}
    const gate = new Promise<void>((resolve) => (answer = resolve))
    let asked = (): void => {}
    const isAsked = new Promise<void>((resolve) => (asked = resolve))
    const at = await world({ 'ask.md': prompt('Save 0.') }, (_request, index) => {
      asked()
      return index === 0 ? { text: 'first', gate } : { text: 'second' }
    })
    const watched = startWatching(['ask.md'], at)
    await isAsked
    for (let save = 1; save <= 20; save += 1) at.save('ask.md', prompt(`Save ${save}.`))
    answer()
    await watched.says('watching ')
    expect(watched.stderr().match(/^changed/gm)).toHaveLength(1)
    expect(at.server.requests).toHaveLength(2)
    expect(at.asked()).toContain('Save 20.')
    expect((await watched.end('SIGINT')).code).toBe(130)
  })

  it('does not run because of what the run itself has changed', async () => {
    const change =
      '<FILE_CHANGES>\n<FILE_NEW file_path="src/made.ts">\nexport const made = 1\n</FILE_NEW>\n</FILE_CHANGES>'
    const keys = `write_mode = true\ncontext_globs = ["src/*.ts"]\nsub_agents = [{ name = "agents/format", stage = "post_task" }]\n`
    const at = await world(
      {
        'ask.md': prompt('Make it.', keys),
        'src/a.ts': 'export const a = 1\n',
        // every run leaves something different
        'agents/format.lua': `aip.cmd.exec("sh", { "-c", "for file in src/*.ts; do echo // formatted >> $file; done" })\n`,
      },
      (_request, index) => ({ text: index === 0 ? change : 'Nothing more.' }),
    )
    const watched = startWatching(['ask.md'], at)
    await watched.says('watching ')
    expect(read(at, 'src/a.ts')).toBe('export const a = 1\n// formatted\n')
    expect(at.server.requests).toHaveLength(1)

    at.save('src/made.ts', 'export const made = 2\n')
    await watched.says('watching ', 2)
    expect(watched.stderr()).toContain('changed src/made.ts\n')
    expect(at.asked()).toContain('made = 2')
    expect(read(at, 'src/a.ts')).toBe('export const a = 1\n// formatted\n// formatted\n')
    expect(at.server.requests).toHaveLength(2)
  })

  it('pauses after three runs in a row that were started during runs, until another file changes', async () => {
    const at: World = await world(
      { 'ask.md': prompt('Ask.', 'context_globs = ["*.txt"]\n'), 'a.txt': '' },
      (_request, index) => {
        at.save('a.txt', `written by somebody else ${index}`)
        return { text: 'answer' }
      },
    )
    const watched = startWatching(['ask.md', '--json'], at)
    await watched.says('paused')
    expect(watched.stderr()).toContain('changes made during runs: a.txt\n')
    expect(at.server.requests).toHaveLength(4)
    at.save('a.txt', 'written once more')
    at.save('b.txt', 'saved by a person')
    await watched.says('paused', 2)
    expect(at.server.requests).toHaveLength(8)

    const { stdout, stderr } = await watched.end()
    expect(stderr.split('\n').filter((line) => !/^(?:paused|hint)/.test(line))).toEqual([''])
    const ends = jsonLines(stdout).filter(({ type }) => type === 'run.started' || type === 'run.completed')
    const ids = [...new Set(ends.map(({ run_id: id }) => id))]
    expect(ids).toHaveLength(8)
    expect(ends.map(({ run_id: id, type }) => [id, type])).toEqual(
      ids.flatMap((id) => [
        [id, 'run.started'],
        [id, 'run.completed'],
      ]),
    )
  })

  it('runs an agent again for its modules, and for files that begin to match -f', async () => {
    const at = await world({
      'count.aip': '# Output\n\n```lua\nreturn input.path .. require("mark")\n```\n',
      'lua/mark.lua': 'return "!"\n',
      'a.txt': '',
    })
    const watched = startWatching(['count.aip', '-f', '*.txt'], at)
    await watched.says('watching ')
    at.save('b.txt', '')
    await watched.says('watching ', 2)
    at.save('lua/mark.lua', 'return "?"\n')
    await watched.says('watching ', 3)
    expect((await watched.end()).stdout.split('\n')).toEqual(['a.txt!', 'a.txt!', 'b.txt!', 'a.txt?', 'b.txt?', ''])
  })

  it('asks again where somebody has changed what the run before has recorded', async () => {
    // checksums and lengths stay correct
    const forge = `const fs = require("fs"), { crc32 } = require("zlib")
      for (const name of fs.readdirSync(".runs", { recursive: true }).filter((one) => one.endsWith("j-000001.jsonl"))) {
        const forged = fs.readFileSync(".runs/" + name, "utf8").split("\\n").map((line) => {
          const json = line.slice(9).replaceAll("answer 1", "forged 1")
          return line === "" ? "" : crc32(json).toString(16).padStart(8, "0") + " " + json
        })
        const bytes = Buffer.from(forged.join("\\n"))
        fs.writeSync(fs.openSync(".runs/" + name, "r+"), bytes, 0, bytes.length, 0)
      }`
    const files = {
      'ask.md': '+++\nmodel = "any"\nsub_agents = [{ name = "last.lua", stage = "post" }]\n+++\nSay it.\n',
      'forge.js': forge,
      'last.lua': `aip.cmd.exec("${process.execPath}", { "forge.js" })`,
    }
    const here = await world(files)
    const watching = startWatching(['ask.md', '-c', 'runs.dir=.runs'], here)
    await watching.says('watching ')
    expect(here.server.requests).toHaveLength(1)
    here.save('last.lua', '-- nothing')
    await watching.says('watching ', 2)
    expect(here.server.requests).toHaveLength(2)
    const { stdout } = await watching.end()
    expect(stdout).not.toContain('forged')
    expect(stdout).toContain('answer 2')
  })

  it('limits all runs together', async () => {
    const at = await world({ 'ask.md': prompt('One.', '[budget]\ncalls = 2\n') })
    const watched = startWatching(['ask.md'], at)
    await watched.says('watching ')
    at.save('ask.md', prompt('Two.', '[budget]\ncalls = 2\n'))
    await watched.says('watching ', 2)
    at.save('ask.md', prompt('Three.', '[budget]\ncalls = 2\n'))
    await watched.says('watching ', 3)
    expect(watched.stderr()).toMatch(/^error: .*2 calls/m)
    at.save('ask.md', prompt('Four.', '[budget]\ncalls = 3\n'))
    await watched.says('watching ', 4)
    expect(at.server.requests).toHaveLength(3)
    expect(at.asked()).toContain('Four.')
  })

  it.each([
    [['ask.md', '-i', 'x', '-f', '*.ts'], '-i and -f cannot be combined'],
    [['ask.md', '--max-cost', 'much'], 'not an amount'],
  ])('ends where the command line itself is wrong: %j', async (args, message) => {
    const { code, stderr } = await baton([...args, '-w'], { cwd: tempTree({ 'ask.md': prompt('Ask.') }) })
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})

const madeFile = `Done.

<FILE_CHANGES>
<FILE_NEW file_path="a.txt">
made
</FILE_NEW>
</FILE_CHANGES>`

/** Its commands share their state. */
const withHome = (at: World): World => ({ ...at, env: { ...at.env, BATON_HOME: join(tempTree(), 'baton') } })

describe('what Baton itself changes while --watch waits', () => {
  it('starts no run when it is an undo, until somebody saves the file', async () => {
    const keys = 'write_mode = true\ncontext_globs = ["*.txt"]\n'
    const at = withHome(await world({ 'ask.md': prompt('Make it.', keys), 'b.txt': 'b' }, () => ({ text: madeFile })))
    const watched = startWatching(['ask.md'], at)
    await watched.says('watching ')
    const undone = await baton(['undo', 'last'], at)
    expect([undone.code, undone.stdout]).toEqual([0, 'removed a.txt\n'])
    await watched.says('no run for what Baton itself has changed: a.txt')
    expect(at.server.requests).toHaveLength(1)
    at.save('a.txt', 'mine')
    await watched.says('changed a.txt')
    await watched.says('watching ', 2)
    expect(at.server.requests).toHaveLength(2)
  })

  it('starts no run when it was approved, and keeps the transcript of the approved run', async () => {
    const keys = 'write_mode = "ask"\ncontext_globs = ["*.txt"]\n'
    const at = withHome(await world({ 'ask.md': prompt('Make it.', keys), 'b.txt': 'b' }, () => ({ text: madeFile })))
    const watched = startWatching(['ask.md', '--on-ask', 'suspend'], at)
    await watched.says('watching ')
    expect((await baton(['approve'], at)).code).toBe(0)
    await watched.says('no run for what Baton itself has changed: a.txt')
    expect(read(at, 'a.txt')).toBe('made\n')
    expect(read(at, 'ask.md')).toMatch(/====\n> .*\n\nDone\.\n/)
    expect(at.server.requests).toHaveLength(1)
  })
})

const reader = `local data = aip.file.load("data.txt").content
local notes = aip.file.list_load({"notes/*.md"})
aip.file.save("cache/last.txt", data)
aip.file.load("cache/last.txt")
return { coder_prompts_append = { "data: " .. data .. ", notes: " .. #notes } }
`

const readerFiles = {
  'ask.md': prompt('Explain.', 'context_globs = ["src/*"]\nsub_agents = ["reader"]\n'),
  'reader.lua': reader,
  'data.txt': 'one',
  'notes/a.md': 'a',
  'src/a.ts': '1',
}

describe('the files that scripts read', () => {
  it('start a run when they are saved or a further one matches, and not when the run itself writes them', async () => {
    const at = await world(readerFiles)
    const watched = startWatching(['ask.md'], at)
    await watched.says('watching ')
    at.save('data.txt', 'two')
    await watched.says('changed data.txt')
    await watched.says('watching ', 2)
    at.save('notes/b.md', 'b')
    await watched.says('changed notes/b.md')
    await watched.says('watching ', 3)
    expect(at.asked()).toContain('data: two, notes: 2')
    const { stderr } = await watched.end()
    expect(stderr.split('\nchanged ')).toHaveLength(3)
    expect(stderr).toMatch(/── run 1 · \d{4}-\d\d-\d\d \d\d:\d\d:\d\d ──\n/)
    expect(stderr).toMatch(/\nsession: 3 runs · .* tokens in, .* out\n$/)
  })

  it.each([
    ['the flag', ['--watch=prompt'], ''],
    ['the file', [], 'watch = "prompt"\n'],
  ])('start none if %s says that only the prompt counts, whose agents still do', async (_, flags, keys) => {
    const at = await world({ ...readerFiles, 'ask.md': readerFiles['ask.md'].replace('context', `${keys}context`) })
    const watched = startWatching(['ask.md', ...flags], at)
    await watched.says('watching 2 files')
    at.save('data.txt', 'two')
    at.save('src/a.ts', '2')
    at.save('notes/b.md', 'b')
    at.save('reader.lua', `${reader}-- changed`)
    await watched.says('watching 2 files', 2)
    expect(watched.stderr()).toContain('changed reader.lua\n')
    expect(at.asked()).toContain('data: two, notes: 2')
    expect(at.server.requests).toHaveLength(2)
  })
})

describe('a run of --watch that fails', () => {
  it('leaves its failure where the answer would be', async () => {
    const at = await world({ 'ask.md': prompt('Ask.') }, (_request, index) =>
      index === 0 ? { text: 'The answer.' } : { status: 400, body: { error: { message: 'refused' } } },
    )
    const watched = startWatching(['ask.md'], at)
    await watched.says('watching ')
    expect(read(at, 'ask.md')).toContain('The answer.')
    at.save('ask.md', read(at, 'ask.md').replace('Ask.', 'Ask more.'))
    await watched.says('watching ', 2)
    expect(read(at, 'ask.md')).toMatch(/Ask more\.\n\n====\n> .*ask\.md.*\n\nerror: /)
    expect(read(at, 'ask.md')).not.toContain('The answer.')
    expect((await watched.end()).stderr).toContain('session: 2 runs, 1 failed')
  })
})

describe('the keys of --watch', () => {
  it('run again for Enter and r, stop a run for Ctrl-C, and end with 0 for q', async () => {
    const at = await world({ 'ask.md': prompt('Ask.') }, (_request, index) =>
      index === 2 ? { text: 'never', stallAfter: 1 } : { text: `answer ${index + 1}` },
    )
    const keys = ['\r', 'r', 'q']
    let rests = 0
    let isStopped = false
    const { code, terminal } = await inTerminal('baton ask.md -w', {
      ...at,
      onScreen(screen, type) {
        const text = screen.everything().join('\n')
        const count = text.split('press r or Enter to rerun, q to quit').length - 1
        while (rests < count) type(keys[(rests += 1) - 1] ?? '')
        if (isStopped || at.server.requests.length < 3) return
        isStopped = true
        type('\u0003')
      },
    })
    expect(code).toBe(0)
    expect(at.server.requests).toHaveLength(3)
    expect(terminal.everything().join('\n')).toContain('stopped')
    expect(terminal.cursorShown).toBe(true)
  })

  it('are lent to a question, which takes only what is typed after it, and work again afterwards', async () => {
    const change = (text: string) => ({
      text: `Why not.\n\n<FILE_CHANGES>\n<FILE_NEW file_path="new.txt">\n${text}\n</FILE_NEW>\n</FILE_CHANGES>`,
    })
    const at = await world({ 'ask.md': prompt('Ask.', 'write_mode = "ask"\n') }, () => change('made'))
    let [asked, rests, isEarly] = [0, 0, false]
    const { code, terminal } = await inTerminal('baton ask.md -w', {
      ...at,
      onScreen(screen, type) {
        const text = screen.everything().join('\n')
        if (!isEarly && at.server.requests.length === 1) {
          isEarly = true
          type('x')
        }
        const questions = text.split('[e]dit:').length - 1
        // the second run is asked about once more
        while (asked < questions) type(['n\n', 'y\n'][(asked += 1) - 1] ?? 'n\n')
        const count = text.split('press r or Enter to rerun, q to quit').length - 1
        while (rests < count) type(['r', 'q'][(rests += 1) - 1] ?? '')
      },
    })
    expect([code, asked, at.server.requests.length]).toEqual([0, 2, 2])
    expect(terminal.everything().join('\n')).toContain('│ Why not.\n')
    expect(read(at, 'new.txt')).toBe('made\n')
  })

  it('end with 130 for Ctrl-C while no run is going, and leave the terminal as it was', async () => {
    const at = await world({ 'ask.md': prompt('Ask.') })
    let isTyped = false
    const { code, output } = await inTerminal(
      'stty -a > before; baton ask.md -w; code=$?; stty -a > after; exit $code',
      {
        ...at,
        onScreen(screen, type) {
          if (isTyped || !screen.everything().join('\n').includes('q to quit')) return
          isTyped = true
          type('\u0003')
        },
      },
    )
    expect(code).toBe(130)
    expect(output).toContain('answer 1')
    expect(read(at, 'after')).toBe(read(at, 'before'))
  })
})

const agent = `local ok, words = pcall(require, "words")
return { coder_prompts_append = { "note: " .. (ok and words or "none") } }
`

function readKeys(cwd: string): string {
  return readFileSync(join(cwd, 'ask.md'), 'utf8').split('+++')[1]?.replace('\nmodel = "gpt-5-mini"\n', '') ?? ''
}

function read({ cwd }: World, path: string): string {
  try {
    return readFileSync(join(cwd, path), 'utf8')
  } catch {
    return ''
  }
}
