import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { parseAst } from 'vitest/node'
import { root } from '../helpers/baton.ts'

const runFile = promisify(execFile)
const bench = join(root, 'bench/run.mjs')

// Those that measure processes and servers wait for each other and are not part of the tests:
// docs/decisions/2026-11-22-benchmarks-apart-from-tests.md
it('prints the figures of each benchmark relative to a named reference', async () => {
  const names = ['code', 'cpu', 'changes', 'durable', 'turns', 'path']
  const { stdout } = await runFile(process.execPath, [bench, ...names, '--small'])

  const lines = stdout.trimEnd().split('\n')
  expect(lines.filter((line) => !/^\w+ +\S.* +\d+\.\d\d x \S/.test(line))).toEqual([])
  expect([...new Set(lines.map((line) => line.split(' ')[0]))]).toEqual(names)
})

it('refuses a benchmark that does not exist, and names the existing ones', async () => {
  await expect(runFile(process.execPath, [bench, 'speed'])).rejects.toMatchObject({
    code: 2,
    stderr:
      'no benchmark speed; the benchmarks are start, inputs, steps, context, streams, tools, cached, calls, lua, code, cpu, aip, changes, watch, check, durable, turns, resume, runs, iterate, ensemble, collab, subagents, grep, edit, bash, mcp, serve, path\n',
  })
})

// most of them are not run by the tests
it('a benchmark imports only what the build contains', () => {
  const wrong: string[] = []
  for (const file of readdirSync(join(root, 'bench')).filter((name) => name.endsWith('.mjs'))) {
    const text = readFileSync(join(root, 'bench', file), 'utf8')
    for (const [, names = '', path = ''] of text.matchAll(/\{([^{}]*)\} = await import\(`\$\{library\}\/([^`]+)`\)/g)) {
      const exported = exportsOf(join(root, 'dist', path))
      const wanted = names.split(',').map((name) => name.split(':')[0]?.trim() ?? '')
      wrong.push(
        ...wanted.filter((name) => name !== '' && !exported.has(name)).map((name) => `${file}: ${name} of ${path}`),
      )
    }
  }
  expect(wrong).toEqual([])
})

/** The names that a built module exports, without loading it: that would load most of the program. */
function exportsOf(file: string): ReadonlySet<string> {
  if (!existsSync(file)) return new Set()
  const names = parseAst(readFileSync(file, 'utf8')).body.flatMap((statement) => {
    if (statement.type === 'ExportAllDeclaration') return [...exportsOf(join(dirname(file), statement.source.value))]
    if (statement.type !== 'ExportNamedDeclaration') return []
    const { declaration, specifiers } = statement
    const given = specifiers.flatMap(({ exported }) => (exported.type === 'Identifier' ? [exported.name] : []))
    if (declaration?.type === 'VariableDeclaration')
      return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []))
    if (declaration?.type !== 'FunctionDeclaration' && declaration?.type !== 'ClassDeclaration') return given
    return declaration.id === null ? [] : [declaration.id.name]
  })
  return new Set(names)
}
