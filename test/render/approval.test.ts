import { expect, it } from 'vitest'
import { actionView } from '../../src/event/action-view.ts'
import type { Action } from '../../src/event/permission.ts'
import { callLines, grantText } from '../../src/render/approval.ts'
import { createPaint } from '../../src/render/style.ts'
import { commandSubject } from '../../src/tool/command-line.ts'

const paint = createPaint({ env: { NO_COLOR: '1' }, isTerminal: false })

function bash(command: string, more: { readonly [field: string]: string } = {}): Action {
  return { kind: 'tool', tool: 'bash', input: { ...more, command }, subject: commandSubject(command) }
}

it('a call is shown with its command first, and each command that was parsed from it', () => {
  const { lines } = callLines(actionView(bash('ls | xargs -n1 rm -f; env A=1 make', { description: 'Look' })), paint)
  expect(lines).toEqual([
    '  command: ls | xargs -n1 rm -f; env A=1 make',
    '  description: Look',
    '  commands in it:',
    '    ls',
    '    xargs -n1 rm -f',
    expect.stringMatching(/^ {4}rm -f/),
    '    env A=1 make',
    '    make',
  ])
})

it('a single command is not repeated, unless its text differs', () => {
  expect(callLines(actionView(bash('echo "a  b"')), paint).lines).toEqual(['  command: echo "a  b"'])
  const { lines } = callLines(actionView(bash(String.raw`$'\x72m' -rf x`)), paint)
  expect(lines).toEqual([String.raw`  command: $'\x72m' -rf x`, '  commands in it:', '    rm -rf x'])
})

it('a shortened call keeps its beginning and its end, and says that text is hidden', () => {
  const extent = { lines: 30, columns: 400 }
  const { lines, hides } = callLines(actionView(bash(`ls ${'a '.repeat(6_000)}; touch end`)), paint, extent)
  expect(hides).toBe(true)
  expect(lines[0]).toMatch(/^ {2}command: ls a a .* … 11\d+ more … .* a ; touch end$/)
  expect(lines.at(-1)).toBe('    touch end')
  // what fits is shown whole
  const shorter = `ls ${'a '.repeat(3_000)}; touch end`
  const whole = callLines(actionView(bash(shorter)), paint, extent)
  expect([whole.lines[0], whole.hides]).toEqual([`  command: ${shorter}`, false])
  const many = callLines({ input: { text: Array.from({ length: 100 }, (_, at) => `line ${at}`).join('\n') } }, paint, {
    lines: 8,
  })
  expect(many.lines).toEqual([
    '  text:',
    ...[0, 1, 2, 3, 4].map((at) => `    line ${at}`),
    '  … 93 more lines',
    '    line 98',
    '    line 99',
  ])
})

it('invisible characters are shown in the input, the diff, the commands and the target of a link', () => {
  const { lines } = callLines(
    {
      input: { path: 'a\u200b.ts' },
      diff: '@@ -1 +1 @@\n-a\n+a\ufe0f\u00a0b\n',
      commands: ['rm\u3000x'],
      target: '/else/\u202egpj',
    },
    paint,
  )
  expect(lines).toEqual([
    '  path: a<U+200B>.ts',
    '  -> /else/<U+202E>gpj (the path leads there through a link)',
    '  commands in it:',
    '    rm<U+3000>x',
    '@@ -1 +1 @@',
    '-a',
    '+a<U+FE0F><U+00A0>b',
  ])
})

it('a change of a manifest names the install scripts that it adds', () => {
  const diff = '--- a/package.json\n+++ b/package.json\n@@ -1 +1 @@\n-{}\n+{"scripts":{"postinstall":"node x"}}\n'
  const action: Action = { kind: 'write', path: '/w/package.json', named: '/w/package.json', diff }
  expect(callLines({ ...actionView(action), input: {} }, paint).lines.slice(0, 2)).toEqual([
    '  package managers then run by themselves:',
    '    postinstall: node x',
  ])
})

it('a permission for a command line always names the folder', () => {
  const subject = commandSubject('make')
  const text = (folder: string): string => grantText({ tool: 'bash', subject, folder }, (path) => path)
  expect(text('.')).toBe('bash with exactly this command in the folder of the workspace')
  expect(text('sub')).toBe('bash with exactly this command in the folder sub')
})
