import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ErrorCode, BatonError, errorReasons, exitCodes } from '../../src/base/error.ts'
import { reserved } from '../../src/settings/keys.ts'
import { eventJsonSchema } from '../../src/event/event.ts'
import { exitCodeOf, exitCodesText, exitMeanings } from '../../src/event/exit-code.ts'
import { hostModules } from '../../src/script/host/index.ts'
import { commandTable } from '../../src/cli/command-table.ts'
import { globalFlagSpecs } from '../../src/cli/command.ts'
import { codeCache, root } from '../helpers/baton.ts'
import { type CommandServer, startCommandServer } from '../helpers/command-server.ts'
import { type ModelReply, type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

// AGENTS.md describes the convention for examples under "Examples in documents".

const tested = new Set(['docs/events.md', 'docs/requirements.md']) // these have separate tests
const guides = markdownIn('docs').filter((document) => !tested.has(document))
const documents = ['README.md', 'ARCHITECTURE.md', 'AGENTS.md', '.github/CONTRIBUTING.md', ...guides]
const everything = [...documents, ...tested, 'CHANGELOG.md', '.github/SECURITY.md', ...markdownIn('docs/decisions')]

/** Placeholder for the scripted model server in commands, files and output. */
const exampleUrl = 'https://gateway.example/v1'

function markdownIn(folder: string): readonly string[] {
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith('.md'))
  return names.toSorted().map((name) => `${folder}/${name}`)
}

function read(document: string): string {
  return readFileSync(join(root, document), 'utf8')
}

interface Block {
  readonly line: number
  readonly language: string
  readonly marks: readonly string[]
  readonly text: string
  /** The answers of the scripted model from here on, one after the other; the last one is repeated. */
  readonly answers: readonly ModelReply[]
}

/** The fenced blocks of a document. A fence is closed by at least as many backticks. */
function blocksOf(document: string): readonly Block[] {
  const blocks: Block[] = []
  let answers: readonly ModelReply[] = [{ text: 'An answer.' }]
  let open:
    | { readonly fence: string; readonly info: string; readonly line: number; readonly lines: string[] }
    | undefined
  for (const [index, line] of read(document).split('\n').entries()) {
    const [, fence, info = ''] = /^(`{3,})(.*)$/.exec(line) ?? []
    if (open === undefined) {
      answers = answersAfter(line, answers)
      if (fence !== undefined) open = { fence, info, line: index + 1, lines: [] }
    } else if (fence !== undefined && info === '' && fence.startsWith(open.fence)) {
      const [language = '', ...marks] = open.info.trim().split(/\s+/)
      blocks.push({ line: open.line, language, marks, text: `${open.lines.join('\n')}\n`, answers })
      open = undefined
    } else open.lines.push(line)
  }
  expect(open, `${document} ends inside a fence`).toBeUndefined()
  return blocks
}

/**
 * The answers of the model from a line on: a comment starts a new list, appends an answer, or adds a call to the last
 * answer.
 */
function answersAfter(line: string, answers: readonly ModelReply[]): readonly ModelReply[] {
  const [, word, does, text = ''] = /^<!-- (model|then|and) (answers|calls): (.*) -->$/.exec(line) ?? []
  if (word === undefined) return answers
  if (does === 'answers') {
    const answer = { text: text.replaceAll(String.raw`\n`, '\n') }
    return word === 'model' ? [answer] : [...answers, answer]
  }
  const calls = [...(word === 'and' ? (answers.at(-1)?.toolCalls ?? []) : []), callOf(text)]
  const reply = {
    text: '',
    toolCalls: calls.map((call, index) => ({ ...call, id: `call_${index}` })),
    finish: 'tool_calls',
  }
  return word === 'model' ? [reply] : [...(word === 'and' ? answers.slice(0, -1) : answers), reply]
}

/** `read {"path": "notes.txt"}`. */
function callOf(text: string): { readonly name: string; readonly pieces: readonly string[] } {
  const [, name = '', input = ''] = /^(\S+) (\{.*\})$/.exec(text) ?? []
  JSON.parse(input)
  return { name, pieces: [input] }
}

type Step = { readonly line: number; readonly text: string } & (
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'repository'; readonly output: string | undefined }
  | {
      readonly kind: 'run'
      readonly output: string | undefined
      readonly exit: number
      readonly answers: readonly ModelReply[]
    }
)

const exampleLanguages = /^(?:sh|bash|shell|console|toml|yaml|lua|aip|markdown|md|js|javascript|ts|typescript)$/

function stepsOf(blocks: readonly Block[]): readonly Step[] {
  return blocks.flatMap((block, index): readonly Step[] => {
    const { line, text, marks, answers } = block
    const next = blocks[index + 1]
    const output = next !== undefined && isOutput(next) ? next.text : undefined
    const path = valueOf(marks, 'file')
    if (path !== undefined) return [{ kind: 'file', line, text, path }]
    if (marks.includes('repository')) return [{ kind: 'repository', line, text, output }]
    if (!marks.includes('run')) return []
    return [{ kind: 'run', line, text, output, exit: Number(valueOf(marks, 'exit') ?? 0), answers }]
  })
}

/** Examples that no test would run, and output that belongs to no command. */
function strayBlocks(blocks: readonly Block[]): readonly Block[] {
  return blocks.filter((block, index) => {
    if (isOutput(block)) return blocks[index - 1]?.language !== 'sh'
    const isRun = block.language === 'sh' && block.marks.some((mark) => mark === 'run' || mark === 'repository')
    return exampleLanguages.test(block.language) && !isRun && valueOf(block.marks, 'file') === undefined
  })
}

function isOutput({ language, marks }: Block): boolean {
  return language === 'text' && marks.includes('output')
}

function valueOf(marks: readonly string[], name: string): string | undefined {
  return marks.find((mark) => mark.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** A line `…` matches any lines, `…` within a line matches any text in it. */
function matches(actual: string, expected: string): boolean {
  const pattern = expected
    .split('\n')
    .map((line) => (line.trim() === '…' ? '(?:.*\n)*?' : `${line.split('…').map(escaped).join('.*')}\n`))
    .join('')
  return new RegExp(`^${pattern}$`).test(actual.endsWith('\n') ? `${actual}\n` : `${actual}\n\n`)
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}

interface Shell {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What the user would see: stdout and stderr in the order in which they were written, and the exit code. */
function runShell(
  script: string,
  { cwd, env }: Shell,
): Promise<{ readonly output: string; readonly code: number | null }> {
  const child = spawn('sh', ['-c', `exec 2>&1\n${script}`], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ output, code }))
  })
}

function expectOutput(actual: string, expected: string | undefined): void {
  if (expected !== undefined && !matches(actual, expected)) expect(actual).toBe(expected)
}

let servers: { readonly baton: CommandServer; readonly node: CommandServer }
beforeAll(async () => {
  servers = { baton: await startCommandServer('baton'), node: await startCommandServer('node') }
})
afterAll(async () => {
  await Promise.all([servers.baton.stop(), servers.node.stop()])
})

/** Commands that are not simply run to their end. */
const needsOwnProcess = /&(?!&)|\bkill\b|\btimeout\b|--watch/

const withCommands = documents.filter((document) => stepsOf(blocksOf(document)).some(({ kind }) => kind !== 'file'))

describe.each(withCommands)('%s', (document) => {
  const blocks = blocksOf(document)
  const steps = stepsOf(blocks)
  const commands = steps.filter((step) => step.kind === 'run')
  let server: ModelServer
  let answers: ModelReply[] = []
  let folder = ''
  let home = ''
  let bin = ''

  beforeAll(async () => {
    server = await startModelServer(() => (answers.length > 1 ? answers.shift() : answers[0]) ?? { text: '' })
    folder = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n' })
    home = tempTree()
    bin = tempTree()
    for (const [name, { script }] of Object.entries(servers)) writeFileSync(join(bin, name), script, { mode: 0o755 })
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(root, join(folder, 'node_modules/batonrun'))
  })
  afterAll(() => server.close())

  function environment(script: string): Shell['env'] {
    const path = `${bin}:${dirname(process.execPath)}:${process.env['PATH']}`
    const openai = script.includes('OPENAI_API_KEY') ? { OPENAI_BASE_URL: server.url } : {}
    const own =
      needsOwnProcess.test(script) || process.env['BATON_TEST_OWN_PROCESS'] === '1'
        ? { BATON_TEST_OWN_PROCESS: '1' }
        : {}
    const plain = { PATH: path, HOME: home, NO_COLOR: '1', BATON_LOCAL_SERVERS: 'off', NODE_COMPILE_CACHE: codeCache }
    return { ...plain, ...openai, ...own }
  }

  function writeFilesAbove(line: number): void {
    for (const step of steps) {
      if (step.kind !== 'file' || step.line > line) continue
      const file = step.path.startsWith('~/') ? join(home, step.path.slice(2)) : join(folder, step.path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, step.text.replaceAll(exampleUrl, server.url))
    }
  }

  it.each(commands)('line $line runs as it says', async (step) => {
    writeFilesAbove(step.line)
    answers = [...step.answers]
    const shell = { cwd: folder, env: environment(step.text) }
    const { output, code } = await runShell(step.text.replaceAll(exampleUrl, server.url), shell)
    const shown = output.replaceAll(server.url, exampleUrl).replaceAll(server.host, new URL(exampleUrl).host)
    expectOutput(shown, step.output)
    expect(code, shown).toBe(step.exit)
  })

  it.each(steps.filter((step) => step.kind === 'repository'))(
    'line $line works in a clone',
    async ({ text, output }) => {
      for (const line of text.split('\n').filter((command) => command !== '')) expectRunnable(line)
      if (!text.startsWith('npm start'))
        return expect(output, 'output of a command that is not run here').toBeUndefined()
      const script = scripts()['start']?.replace(/^node scripts\/setup\.mjs && /, '') ?? ''
      const result = await runShell(script, { cwd: root, env: environment(script) })
      expectOutput(result.output, output)
      expect(result.code).toBe(0)
    },
  )
})

it('each example of a document is marked, so that it is run', () => {
  const stray = documents.flatMap((document) =>
    strayBlocks(blocksOf(document)).map(({ line, language }) => `${document}:${line} ${language}`),
  )
  expect(stray).toEqual([])
})

it('each example file of a document is used by another example of it', () => {
  expect(documents.flatMap(unusedFiles)).toEqual([])
})

function unusedFiles(document: string): readonly string[] {
  const steps = stepsOf(blocksOf(document))
  return steps.flatMap((step): readonly string[] => {
    if (step.kind !== 'file' || !/\.(?:md|aip|lua|mjs)$/.test(step.path)) return []
    const name = packOf(step.path) ?? step.path.replace(/\.(?:aip|lua)$/, '')
    const others = steps.filter((other) => other.kind !== 'file' || other.path !== step.path)
    return others.some(({ text }) => text.includes(name)) ? [] : [`${document}:${step.line} ${step.path}`]
  })
}

/** `namespace@pack` of a file in a pack: naming the pack uses its files. */
function packOf(path: string): string | undefined {
  const [, namespace, name] = /(?:^|\/)(?:packs|pack\/custom|pack\/installed)\/([^/]+)\/([^/]+)\//.exec(path) ?? []
  return namespace === undefined ? undefined : `${namespace}@${name}`
}

function scripts(): Readonly<Record<string, string>> {
  return (JSON.parse(read('package.json')) as { readonly scripts: Record<string, string> }).scripts
}

/** Everything that a command of the repository names must exist: its npm script or program, and each path. */
function expectRunnable(command: string): void {
  const [program = '', ...words] = command.replace(/\s+#.*$/, '').split(' ')
  const script = words[0] === 'run' ? words[1] : words[0]
  if (program === 'npm') expect([...Object.keys(scripts()), 'link'], command).toContain(script)
  else if (program === 'npx') expect(existsSync(join(root, 'node_modules/.bin', words[0] ?? '')), command).toBe(true)
  else if (program !== 'node') expect(existsSync(join(root, program)), command).toBe(true)
  for (const path of words.filter((word) => /^[a-z.]+\/[\w./-]+$/.test(word) && !word.startsWith('dist/'))) {
    expect(existsSync(join(root, path)), `${command}: ${path}`).toBe(true)
  }
}

it('finds examples that nothing runs, and only those', () => {
  const block = { line: 3, marks: [], text: 'x\n', answers: [] }
  const marked = [
    { ...block, language: 'sh', marks: ['run', 'exit=2'] },
    { ...block, language: 'text', marks: ['output'] },
    { ...block, language: 'lua', marks: ['file=a.lua'] },
    { ...block, language: 'text' },
  ]
  const stray = ['lua', 'sh', 'toml', 'markdown'].map((language) => ({ ...block, language }))
  const orphan = { ...block, language: 'text', marks: ['output'] }
  expect(strayBlocks([...marked, ...stray, orphan])).toEqual([...stray, orphan])
  expect(stepsOf(marked)).toMatchObject([
    { kind: 'run', exit: 2, output: 'x\n' },
    { kind: 'file', path: 'a.lua' },
  ])
})

it('compares output line by line, with … for what may differ', () => {
  expect(matches('one\ntwo\n', 'one\ntwo\n')).toBe(true)
  expect(matches('one\ntwo\n', 'one\n')).toBe(false)
  expect(matches('one 1.5s\nx\ny\ntwo\n', 'one …s\n…\ntwo\n')).toBe(true)
  expect(matches('one\nx\n', 'one\n…\ntwo\n')).toBe(false)
})

it('documents link to files that exist', () => {
  const dead = everything.flatMap((document) => {
    const links = [...read(document).matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target)
    const missing = links.filter((target) => !existsSync(join(root, dirname(document), target)))
    return missing.map((target) => `${document}: ${target}`)
  })
  expect(dead).toEqual([])
})

it('documents link to headings that exist', () => {
  const anchors = new Map<string, ReadonlySet<string>>()
  const has = (file: string, anchor: string): boolean => {
    const known = anchors.get(file) ?? anchorsOf(file)
    anchors.set(file, known)
    return known.has(anchor)
  }
  const dead = everything.flatMap((document) => {
    const links = [...read(document).matchAll(/\]\(([^)#:\s]*)#([^)\s]+)\)/g)]
    const missing = links.filter(([, target = '', anchor = '']) => {
      const file = target === '' ? document : join(dirname(document), target)
      return file.endsWith('.md') && !has(file, anchor)
    })
    return missing.map(([link]) => `${document}: ${link}`)
  })
  expect(dead).toEqual([])
})

/** The anchors of the headings of a document, as they are made where Markdown is shown. */
function anchorsOf(document: string): ReadonlySet<string> {
  const text = read(document).replaceAll(/^(`{3,})[^\n]*\n[\s\S]*?^\1$/gm, '')
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

it('docs/commands.md lists the commands and flags, all and no others', () => {
  const tables = [globalFlagSpecs, ...commandTable.map(({ flags }) => flags)]
  const shown = tables.flatMap((flags) => Object.entries(flags).filter(([, { hidden }]) => hidden === undefined))
  const flags = ['--help', '--version', ...shown.map(([name]) => `--${name}`)]
  const page = read('docs/commands.md')
  const listed = [...page.matchAll(/^\| `(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag]) => flag)
  expect(listed.toSorted()).toEqual([...new Set(flags)].toSorted())
  const commands = [...page.matchAll(/^\| `baton (\w+)/gm)].map(([, name]) => name)
  expect(commands.toSorted()).toEqual(commandTable.map(({ name }) => name).toSorted())
})

it('docs/prompt-file.md names every reserved key in its tables', () => {
  const tables = read('docs/prompt-file.md')
  const rows = new Set([...tables.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = '']) => cell.match(/\w+/g) ?? []))
  for (const [key] of reserved) {
    const plain = key.replace(/_(?:pre|post)$/, '')
    expect(rows.has(plain), `${key} in a table`).toBe(true)
  }
})

it('docs/lua.md names every function that scripts can call', () => {
  const text = read('docs/lua.md')
  for (const { name, functions, lua } of hostModules) {
    const inLua = [...(lua?.text ?? '').matchAll(/^ {2}(\w+) = function|^function (\w+)/gm)]
    const names = [...Object.keys(functions), ...inLua.map(([, field, global]) => field ?? global ?? '')]
    const missing = names.filter((item) => !new RegExp(`\\b${item}\\b`).test(sectionOf(text, name)))
    expect(missing, name).toEqual([])
  }
})

/** The row of a module in the table of functions. */
function sectionOf(text: string, name: string): string {
  const label = name === '' ? 'globals' : `\`${name}\``
  return text.split('\n').find((line) => line.startsWith(`| ${label} |`)) ?? ''
}

it('one table of exit codes is in the help, the documents, the events and the code', async () => {
  const table = Object.entries(exitMeanings)
  const rows = [...read('docs/output-and-exit-codes.md').matchAll(/^\| (\d+) \| ([^|]*) \|$/gm)]
  expect(rows.map(([, code]) => code)).toEqual(table.map(([code]) => code))
  for (const [, code = '', text = ''] of rows)
    expect(text.startsWith(exitMeanings[Number(code)] ?? '?'), code).toBe(true)

  const ofRuns = exitCodesText('of failed runs')
  expect(/^\| `exit_code` \| number \| (1 .*) \|$/m.exec(read('docs/events.md'))?.[1]).toBe(ofRuns)
  expect(JSON.stringify(eventJsonSchema())).toContain(exitCodesText('all'))
  for (const code of new Set(Object.values(exitCodes))) expect(table.map(([known]) => Number(known))).toContain(code)
  for (const file of ['src/process.ts', 'src/main.ts', 'src/base/error.ts', 'src/cli/commands/test.ts']) {
    const named = [...read(file).matchAll(/(?:SIG\w+: |exitCode = |closedPipe = |testsFailed = )(\d+)/g)]
    for (const [, code = ''] of named) expect(exitMeanings[Number(code)], `${file}: ${code}`).toBeDefined()
  }
})

it('docs/output-and-exit-codes.md names every error code with its exit code', () => {
  const codes = Object.keys(exitCodes)
  const rows = [...read('docs/output-and-exit-codes.md').matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm)]
  expect(rows.map(([, code = '']) => code).toSorted()).toEqual(codes.toSorted())
  for (const [, code, exit] of rows) expect(exitCodeOf(new BatonError(code as ErrorCode, '')), code).toBe(Number(exit))
})

it('docs/output-and-exit-codes.md names every reason of an error', () => {
  const table = /^\| Reason \|(?:.*\n)+?(?=\n|$)/m.exec(read('docs/output-and-exit-codes.md'))?.[0] ?? ''
  expect([...table.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, reason]) => reason)).toEqual([...errorReasons])
})
