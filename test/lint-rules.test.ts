import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempTree } from './helpers/temp.ts'

const root = join(import.meta.dirname, '..')

/** The lines of a test that the rules of this repository find wrong, as `npm run check` does. */
function wrongLines(rule: string, source: string): readonly number[] {
  const config = readFileSync(join(root, '.oxlintrc.json'), 'utf8').replace('./scripts/', `${root}/scripts/`)
  const cwd = tempTree({ '.oxlintrc.json': config, 'test/a.test.ts': source })
  const { stdout, stderr } = spawnSync(join(root, 'node_modules/.bin/oxlint'), ['--format', 'json'], {
    cwd,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  const { diagnostics } = JSON.parse(stdout) as { readonly diagnostics: readonly Diagnostic[] }
  expect(diagnostics.filter(({ code }) => code !== `baton(${rule})`)).toEqual([])
  return diagnostics.map(({ labels }) => labels[0]?.span.line ?? 0).toSorted((one, other) => one - other)
}

interface Diagnostic {
  readonly code: string
  readonly labels: readonly { readonly span: { readonly line: number } }[]
}

it('baton/match-by-keys refuses what toMatchObject does not compare: regular expressions, URLs, {} as a value', () => {
  const imported = `import { expect } from 'vitest'\n`
  const wrong = [
    'expect(1).toMatchObject({ a: /x/ })',
    'expect(1).toMatchObject([1, { a: { b: [/x/] } }])',
    'expect(1).toMatchObject([/x/])',
    "expect(1).toMatchObject({ a: new RegExp('x') })",
    "expect(1).toMatchObject({ a: RegExp('x') as unknown })",
    "expect(1).not.toMatchObject({ a: new URL('http://a') })",
    'expect(1).toMatchObject({ a: {} })',
    'expect(1).toMatchObject({})',
    'expect(1).toMatchObject({ a: 1, ...(Date.now() > 2 ? { b: /x/ } : {}) })',
    'await expect(1).resolves.toMatchObject({ a: Date.now() > 2 ? /x/ : 1 })',
    'const pattern = /x/; expect(1).toMatchObject({ pattern })',
    'const all = { a: [/x/] }; expect(1).toMatchObject(all)',
  ]
  expect(wrongLines('match-by-keys', imported + wrong.join('\n'))).toEqual(wrong.map((_, index) => index + 2))
  const right = [
    'expect(1).toMatchObject({ a: expect.stringMatching(/x/) as string })',
    'expect(1).toMatchObject({ a: expect.objectContaining({ b: {} }) as object })',
    'expect(1).toMatchObject([{}, { a: 1 }])',
    'expect(1).toMatchObject({ a: /x/.exec("x")?.[0] })',
    'expect(1).toEqual({ a: {} })',
    'expect(1).toMatchObject({ a: 1, ...(Date.now() > 2 ? { b: 2 } : {}) })',
    'const text = "a"; expect(1).toMatchObject({ text })',
  ]
  expect(wrongLines('match-by-keys', imported + right.join('\n'))).toEqual([])
})

it('baton/patient-wait refuses waits that give up after one second', () => {
  const source = `import { expect, vi } from 'vitest'
await vi.waitFor(() => expect(1).toBe(1))
await vi.waitUntil(() => Date.now() > 1)
await vi.waitFor(() => expect(1).toBe(1), { timeout: 20_000 })
const patient = { timeout: 20_000 }
await vi.waitUntil(() => Date.now() > 1, patient)
await expect.poll(() => 1).toBe(1)
`
  expect(wrongLines('patient-wait', source)).toEqual([2, 3])
})
