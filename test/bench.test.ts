import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { root } from './helpers/baton.ts'

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
it('a benchmark imports only what the build contains', async () => {
  const wrong: string[] = []
  for (const file of readdirSync(join(root, 'bench')).filter((name) => name.endsWith('.mjs'))) {
    const text = readFileSync(join(root, 'bench', file), 'utf8')
    for (const [, names = '', path = ''] of text.matchAll(/\{([^{}]*)\} = await import\(`\$\{library\}\/([^`]+)`\)/g)) {
      const module = (await import(join(root, 'dist', path)).catch(() => ({}))) as Readonly<Record<string, unknown>>
      const wanted = names.split(',').map((name) => name.split(':')[0]?.trim() ?? '')
      wrong.push(
        ...wanted.filter((name) => name !== '' && !(name in module)).map((name) => `${file}: ${name} of ${path}`),
      )
    }
  }
  expect(wrong).toEqual([])
})
