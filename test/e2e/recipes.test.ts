import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { root } from '../helpers/baton.ts'
import { buildInto, copyBuild } from '../helpers/changed-build.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { createWarmCommand, type WarmCommand } from '../helpers/warm-command.ts'

// The recipes of ARCHITECTURE.md, each followed in a copy of the build.

let dist: string
let command: WarmCommand
beforeEach(() => {
  dist = copyBuild('recipes')
  command = createWarmCommand(join(dist, 'main.js'))
})
afterEach(async () => {
  await command.end()
  rmSync(dirname(dist), { recursive: true })
})

const sourceOf = (file: string): string => readFileSync(join(root, 'src', file), 'utf8')

/** A source file with text after the first line that ends like this. */
function withAfter(file: string, line: string, text: string): string {
  const source = sourceOf(file)
  expect(source).toContain(`${line}\n`)
  return source.replace(`${line}\n`, `${line}\n${text}`)
}

/** Runs the changed build in a folder. */
function runIn(folder: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const home = { PATH: process.env['PATH'], HOME: folder, BATON_HOME: join(folder, 'home'), BATON_LOCAL_SERVERS: 'off' }
  return command.run({ args, cwd: folder, env: { ...home, ...env } })
}

it('a tool is a row and a file, and what it touches is closed by default', async () => {
  const row = `  count: {
    summary: 'counts the lines of a file',
    touches: 'reads',
    subject: 'path',
    initial: 'allow',
    load: async () => (await import('./count.ts')).count,
  },
`
  buildInto(dist, 'tool/toolbox/rows.ts', withAfter('tool/toolbox/rows.ts', 'const rows = {', row))
  buildInto(
    dist,
    'tool/toolbox/count.ts',
    `import { readFileSync } from 'node:fs'
import { defineTool } from './kind.ts'
import { pathSubject, permittedPath } from './paths.ts'
export const count = defineTool<{ readonly path: string }>({
  name: 'count',
  description: 'Count the lines of a file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  subject: ({ path }, box) => pathSubject(path, box),
  run: (input, { permit }) =>
    Promise.resolve({ text: \`\${readFileSync(permittedPath(permit), 'utf8').split('\\n').length - 1} lines\` }),
})
`,
  )
  const paths = ['a.txt', '.env', '/etc/passwd', '../other.txt']
  const toolCalls = paths.map((path, index) => ({
    id: `c${index}`,
    name: 'count',
    pieces: [JSON.stringify({ path })],
  }))
  const server = await startModelServer([{ text: '', toolCalls }, { text: 'Done.' }])
  const folder = tempTree({
    'work/ask.md': '+++\nmodel = "m"\ntools = ["count"]\n+++\nCount.\n',
    'work/baton.toml': '',
    'work/a.txt': '1\n2\n3\n',
    'work/.env': 'KEY=1\n',
    'other.txt': 'x\n',
  })
  const end = await runIn(join(folder, 'work'), ['run', 'ask.md'], { BATON_GATEWAY_URL: server.url })
  expect(end?.code, end?.stderr).toBe(0)
  const body = server.requests[1]?.body as {
    readonly messages: readonly { readonly role: string; readonly content: string }[]
  }
  const results = body.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  expect(results[0]).toBe('3 lines')
  for (const result of results.slice(1)) expect(result).toContain('permission denied: [permission] count.')
  expect(results).toHaveLength(paths.length)
  expect((await runIn(folder, ['list', 'tools']))?.stdout).toMatch(/count +counts the lines of a file/)
  await server.close()
})

it('a command is a description, a row and a file', async () => {
  const description = `  greet: {
    summary: 'greet somebody',
    words: [{ name: 'who', count: 'one', describe: 'whom to greet' }],
    flags: { loud: { kind: 'switch', describe: 'in capital letters' } },
  },
`
  const row = `  greet: async (flags, io) => (await import('./commands/greet.ts')).greetCommand(flags, io),
`
  const file = `import type { Flags } from '../command-specs.ts'
import type { CommandIo } from '../io.ts'
export async function greetCommand({ who, loud }: Flags<'greet'>, { out }: Pick<CommandIo, 'out'>): Promise<number> {
  const text = \`hello \${who}\`
  out(\`\${loud ? text.toUpperCase() : text}\\n\`)
  return 0
}
`
  const [specs, table] = ['cli/command-specs.ts', 'cli/command-table.ts']
  buildInto(dist, specs, withAfter(specs, 'export const commandSpecs = {', description))
  const firstRow =
    'const runs: { readonly [Name in CommandName]: (flags: Flags<Name>, io: CommandIo) => Promise<number> } = {'
  buildInto(dist, table, withAfter(table, firstRow, row))
  buildInto(dist, 'cli/commands/greet.ts', file)
  const folder = tempTree({})
  expect(await runIn(folder, ['greet', 'Ada', '--loud'])).toMatchObject({ code: 0, stdout: 'HELLO ADA\n' })
  expect((await runIn(folder, ['greet']))?.code).toBe(2)
  expect((await runIn(folder, ['help', 'greet']))?.stdout).toContain('--loud')
  expect((await runIn(folder, ['completion', 'bash']))?.stdout).toContain('greet')
})
