import { chmodSync, linkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findProgram } from '../../../src/base/program.ts'
import { tempTree } from '../../helpers/temp.ts'
import { toolHost } from '../../helpers/tool-call.ts'

const PATH = process.env['PATH'] ?? ''
const tree = {
  'src/a.ts': 'import x\n\nexport function first() {}\n// first\nlast\n',
  'src/b.ts': 'first\n',
  'src/in/c.md': 'First\n',
  '.env': 'first=secret\n',
  'node_modules/d.ts': 'first\n',
  'build/e.ts': 'first\n',
  '.gitignore': 'build\n',
}

describe('glob', () => {
  it('finds files in the order of their paths, except ignored or denied ones', async () => {
    const { call } = toolHost(tempTree(tree))
    const found = async (pattern: string, path?: string): Promise<string> =>
      (await call('glob', { pattern, ...(path !== undefined && { path }) })).text
    expect(await found('**')).toBe('.gitignore\nsrc/a.ts\nsrc/b.ts\nsrc/in/c.md')
    expect(await found('**/*.{md,ts}')).toBe('src/a.ts\nsrc/b.ts\nsrc/in/c.md')
    expect(await found('*.ts', 'src')).toBe('src/a.ts\nsrc/b.ts')
    expect(await found('src/in/c.md')).toBe('src/in/c.md')
    expect(await found('src/in/../*.ts')).toBe('src/a.ts\nsrc/b.ts')
    expect(await found('node_modules/**')).toBe('node_modules/d.ts')
    expect(await found('.env')).toBe('[no file matches]')
    expect(await found('*', 'none')).toBe('Error in tool "glob": there is no folder none.')
    expect(await found('[x', 'src')).toContain('has an unclosed [')
    expect(await found('src/*/../*.ts')).toContain('climbs out')
  })

  it('treats an existing path as that path', async () => {
    const { call } = toolHost(tempTree({ 'p/[slug].tsx': 'first\n', 'p/s.tsx': 'first\n', 'q/[slug].tsx': 'first\n' }))
    expect((await call('glob', { pattern: 'p/[slug].tsx' })).text).toBe('p/[slug].tsx')
    const grep = async (input: { readonly [key: string]: string }): Promise<string> =>
      (await call('grep', { pattern: 'first', output: 'files', ...input })).text
    expect(await grep({ glob: 'p/[slug].tsx' })).toContain('p/[slug].tsx\n[1 matching')
    expect(await grep({ glob: '[slug].tsx' })).toContain('p/[slug].tsx\np/s.tsx\nq/[slug].tsx')
    expect(await grep({ path: 'p/[slug].tsx' })).toContain('p/[slug].tsx\n[1 matching')
  })

  it('is checked by the folder that the pattern starts from', async () => {
    const folder = tempTree(tree)
    const { call } = toolHost(folder)
    expect((await call('glob', { pattern: join(folder, 'src/*.ts') })).text).toBe('src/a.ts\nsrc/b.ts')
    for (const pattern of ['/etc/*', '../*', '/*', '../../etc/passwd']) {
      expect((await call('glob', { pattern })).isDenied, pattern).toBe(true)
    }
    expect((await call('glob', { pattern: '*', path: '/etc' })).isDenied).toBe(true)
  })
})

const engines = [
  ['with ripgrep', PATH],
  ['without ripgrep', ''],
] as const

describe.each(engines)('grep %s', (name, path) => {
  const isMissing = path !== '' && findProgram('rg', { PATH }, '/nowhere') === undefined
  const host = (files: { readonly [path: string]: string | Uint8Array }) =>
    toolHost(tempTree(files), { services: { env: { PATH: path } } })

  it.skipIf(isMissing)(`shows lines, files and counts (${name})`, async () => {
    const { call } = host(tree)
    const found = async (input: { readonly [key: string]: string | number | boolean }): Promise<string> =>
      (await call('grep', { pattern: 'first', ...input })).text
    expect(await found({})).toBe(
      'src/a.ts\n3:export function first() {}\n4:// first\n\nsrc/b.ts\n1:first\n[3 matching lines in 2 files]',
    )
    expect(await found({ output: 'files' })).toBe('src/a.ts\nsrc/b.ts\n[3 matching lines in 2 files]')
    expect(await found({ output: 'count', ignore_case: true })).toBe(
      'src/a.ts:2\nsrc/b.ts:1\nsrc/in/c.md:1\n[4 matching lines in 3 files]',
    )
    expect(await found({ path: 'src/b.ts' })).toBe('src/b.ts\n1:first\n[1 matching line in 1 file]')
    expect(await found({ glob: '*.md', ignore_case: true })).toBe('src/in/c.md\n1:First\n[1 matching line in 1 file]')
    expect(await found({ glob: '!*.md', pattern: '(?i)FIRST', output: 'files' })).toContain('src/a.ts\nsrc/b.ts\n[')
    expect(await found({ limit: 1 })).toBe(
      'src/a.ts\n3:export function first() {}\n[the first 1 of 3 matching lines in 2 files; narrow the search, or raise limit]',
    )
    expect(await found({ limit: 1, output: 'files' })).toBe(
      'src/a.ts\n[the first 1 files of 3 matching lines in 2 files; narrow the search, or raise limit]',
    )
    expect(await found({ path: 'build' })).toContain('build/e.ts\n1:first')
    expect(await found({ pattern: 'no such' })).toBe('[nothing matches]')
    expect(await found({ path: '.env' })).toMatch(/^permission denied: /)
    expect(await found({ path: 'none' })).toBe('Error in tool "grep": there is no file or folder none.')
    expect(await found({ pattern: '(' })).toContain('is not valid: missing closing ): `(`')
  })

  it.skipIf(isMissing)(`shows context lines, with gaps, and truncates long ones (${name})`, async () => {
    const text = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`).join('\n')
    const { call } = host({ 'a.txt': text, 'b.min.js': `x${'y'.repeat(4000)}`, 'c.bin': Buffer.from('line 7\n\0') })
    expect((await call('grep', { pattern: 'line (7|9|20)$', context: 1 })).text).toBe(
      'a.txt\n6-line 6\n7:line 7\n8-line 8\n9:line 9\n10-line 10\n--\n19-line 19\n20:line 20\n21-line 21\n[3 matching lines in 1 file]',
    )
    expect((await call('grep', { pattern: 'line 30', before: 2, after: 3 })).text).toBe(
      'a.txt\n28-line 28\n29-line 29\n30:line 30\n[1 matching line in 1 file]',
    )
    expect((await call('grep', { pattern: '^xy' })).text).toBe(
      `b.min.js\n1:x${'y'.repeat(499)}… [cut: the line has 4001 bytes]\n[1 matching line in 1 file]`,
    )
  })

  it.skipIf(isMissing)(`shows nothing of files that only read is denied (${name})`, async () => {
    const rules = [{ tool: 'read', pattern: 'src/b.ts', effect: 'ask', origin: 'x' }] as const
    const { call } = toolHost(tempTree(tree), { rules, services: { env: { PATH: path } } })
    expect((await call('grep', { pattern: 'first', output: 'files' })).text).toBe(
      'src/a.ts\n[2 matching lines in 1 file]',
    )
  })
})

describe('a rule for `read`', () => {
  const grep = (path: string) => ({ pattern: 'first', path })

  it.each([
    ['deny', { pattern: 'src/b.ts' }],
    ['deny', {}],
    ['ask', { pattern: 'src/*.ts' }],
  ] as const)('that says %s applies to grep of that one file (%o)', async (effect, rule) => {
    const rules = [{ tool: 'read', ...rule, effect, origin: 'x' }] as const
    const { call } = toolHost(tempTree(tree), { rules })
    const { text, isDenied } = await call('grep', grep('src/b.ts'))
    expect(isDenied).toBe(true)
    expect(text).not.toContain('1:first')
    expect(text).toMatch(/\[permission\] read/)
  })

  it('applies to other names of the file: a hard link, and for keys different case', async () => {
    const folder = tempTree({ ...tree, '.ENV.local': 'first\n', 'secret/x.txt': 'first\n' })
    linkSync(join(folder, 'secret/x.txt'), join(folder, 'copy.txt'))
    linkSync(join(folder, '.env'), join(folder, 'notes.txt'))
    const rules = [{ tool: 'read', pattern: 'secret/**', effect: 'deny', origin: 'x' }] as const
    const { call } = toolHost(folder, { rules })
    for (const path of ['copy.txt', 'notes.txt', '.ENV.local']) {
      expect(await call('read', { path }), path).toMatchObject({ isDenied: true })
      expect(await call('grep', grep(path)), path).toMatchObject({ isDenied: true })
    }
    expect((await call('grep', { pattern: 'first', output: 'files' })).text).not.toMatch(/copy|notes|ENV|secret/)
  })
})

it('what only ripgrep can search is reported, if it is missing', async () => {
  const { call } = toolHost(tempTree({ 'a.txt': 'Öl\noil\n' }), { services: { env: { PATH: '' } } })
  expect((await call('grep', { pattern: String.raw`\bÖl` })).text).toContain(
    String.raw`without ripgrep, \b and \B cannot be used with characters beyond ASCII`,
  )
  expect((await call('grep', { pattern: String.raw`\boil|\\B` })).text).toContain('2:oil')
  expect((await call('grep', { pattern: String.raw`Ö|\\b` })).text).toContain('1:Öl')
})

it('no program of the workspace runs in place of ripgrep', () => {
  const folder = tempTree({ 'bin/rg': '#!/bin/sh\n' })
  chmodSync(join(folder, 'bin/rg'), 0o755)
  expect(findProgram('rg', { PATH: join(folder, 'bin') }, '/nowhere')).toBe(join(folder, 'bin/rg'))
  expect(findProgram('rg', { PATH: join(folder, 'bin') }, folder)).toBe(undefined)
  expect(findProgram('rg', { PATH: 'bin:.' }, '/nowhere')).toBe(undefined)
})
