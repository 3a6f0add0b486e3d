import { describe, expect, it } from 'vitest'
import type { Action, Grant, RangeGrant } from '../../src/event/permission.ts'
import { createApprovals } from '../../src/journal/approvals.ts'
import { commandSubject } from '../../src/tool/command-line.ts'
import { type OfferedRange, offeredRanges } from '../../src/load/grant-ranges.ts'
import { toolVerdict } from '../../src/tool/tool-rules.ts'
import { lineOf, mutated, randomFrom } from '../helpers/shell-lines.ts'

type Call = Extract<Action, { readonly kind: 'tool' }>

const line = (command: string, folder = '.'): Call => ({
  kind: 'tool',
  tool: 'bash',
  input: { command },
  subject: commandSubject(command),
  about: { folder },
})
const change = (path: string, tool = 'edit'): Call => ({
  kind: 'tool',
  tool,
  input: { path },
  subject: { kind: 'path', path },
})

const rangeOf = (call: Call, kind: OfferedRange['kind'], rule?: string): Grant => {
  const found = offeredRanges(call, rule).find((range) => range.kind === kind)
  if (found === undefined) throw new Error(`no range ${kind}`)
  return found.grant
}

/** Whether nobody is asked about an action, because this was allowed before. */
function isCovered(grant: Grant, action: Action, rule?: string): boolean {
  const { open } = createApprovals({ approver: 'deny', before: { places: [], grants: [grant] } })
  try {
    open(action, { at: [], place: '', since: undefined, rule })
    return true
  } catch {
    return false
  }
}

const wordsOf = (command: string): string | undefined => {
  const found = offeredRanges(line(command), undefined).find(({ kind }) => kind === 'commands')
  return found === undefined ? undefined : (found.grant as RangeGrant & { readonly words: string }).words
}

describe('the pattern that is offered for a command line', () => {
  it.each([
    ['git status --short', 'git status'],
    ['git status', 'git status'],
    ['npm run build -- --watch', 'npm run build'],
    ['cargo test parser', 'cargo test'],
    ['ls -la src', 'ls'],
    ['NO_COLOR=1 git log -3', 'git log'],
  ])('%s: %s *', (command, words) => {
    expect(wordsOf(command)).toBe(words)
  })

  it.each([
    'git status | cat',
    'git status; git log',
    'git status && ls',
    'git status $(ls)',
    'git status $x',
    'ls *.ts',
    'git status > a.txt',
    'git status\nls',
    'A=1 git status',
    './git status',
    '/usr/bin/git status',
    'git "sta tus"',
    'git -c core.pager=x log',
    'git rebase -x ls',
    'git push',
    'git config alias.x !ls',
    'npx tsc',
    'npm exec x',
    'node a.js',
    'python3 a.py',
    'sh -c ls',
    'bash a.sh',
    'env ls',
    'sudo ls',
    'xargs ls',
    'find . -delete',
    'rm a',
    'curl example.com',
    'make test',
    'docker run x',
    'npm run',
    'npm run -s',
    'ssh host ls',
    'eval ls',
    '',
    '$x',
    'gít status',
  ])('none for %j', (command) => {
    expect(wordsOf(command)).toBe(undefined)
  })
})

describe('an accepted pattern', () => {
  const grant = rangeOf(line('git status --short'), 'commands')

  it('covers lines of one command that begin with its words, in the same folder', () => {
    for (const command of ['git status', 'git status -s src', 'git  status', 'LANG=C git status']) {
      expect(isCovered(grant, line(command)), command).toBe(true)
    }
    expect(isCovered(grant, line('git status', 'sub'))).toBe(false)
    expect(isCovered(grant, { ...line('git status'), tool: 'other' })).toBe(false)
  })

  it.each([
    'git statusx',
    'git',
    'git log',
    'git "status x"',
    'git status; rm a',
    'git status | sh',
    'git status && rm a',
    'git status & rm a',
    'git status\nrm a',
    'git status $(rm a)',
    'git status `rm a`',
    'git status <(rm a)',
    'git status $x',
    'git status > a',
    'git status "$(rm a)"',
    'PATH=. git status',
    'X=1 git status',
    './git status',
    'git() { rm a; }; git status',
    'git status <<EOF\n$(rm a)\nEOF',
    'git status ${x:-$(rm a)}',
    'git\u00a0status',
  ])('does not cover %j', (command) => {
    expect(isCovered(grant, line(command))).toBe(false)
  })

  it('covers nothing of generated lines that a rule with the same words would not allow', () => {
    const random = randomFrom(7)
    const words: Grant = { range: 'commands', tool: 'bash', words: 'p0', folder: '.' }
    const rules = [{ tool: 'bash', pattern: 'p0 *', effect: 'allow', origin: '1' }] as const
    let covered = 0
    for (let number = 0; number < 2000; number += 1) {
      const call = line(mutated(lineOf(random), random))
      if (!isCovered(words, call)) continue
      covered += 1
      expect(toolVerdict([rules], call, '/w').kind, JSON.stringify(call.input)).toBe('allow')
    }
    expect(covered).toBeGreaterThan(5)
  })
})

describe('an accepted range of changes', () => {
  it('of a file covers all changes of this file, and no other', () => {
    const grant = rangeOf(change('/w/a.ts'), 'file')
    expect(isCovered(grant, change('/w/a.ts', 'write'))).toBe(true)
    expect(isCovered(grant, { kind: 'write', path: '/w/a.ts', named: '/w/a.ts' })).toBe(true)
    expect(isCovered(grant, change('/w/b.ts'))).toBe(false)
    expect(isCovered(grant, change('/w/a.ts', 'read'))).toBe(false)
    expect(isCovered(grant, { kind: 'delete', path: '/w/a.ts', named: '/w/a.ts' })).toBe(false)
  })

  it('of all files covers no deletion, no command, no other tool, and nothing that a rule with a pattern asks about', () => {
    const grant = rangeOf(change('/w/a.ts'), 'edits')
    expect(isCovered(grant, change('/w/b.ts', 'write'))).toBe(true)
    expect(isCovered(grant, { kind: 'write', path: '/w/b.ts', named: '/w/b.ts' })).toBe(true)
    expect(isCovered(grant, change('/w/b.ts'), 'edit."secret/**" = "ask"')).toBe(false)
    expect(isCovered(grant, { kind: 'delete', path: '/w/b.ts', named: '/w/b.ts' })).toBe(false)
    expect(isCovered(grant, line('ls'))).toBe(false)
    expect(isCovered(grant, { ...change('/w/b.ts'), tool: 'files__write' })).toBe(false)
    expect(isCovered(grant, { kind: 'command', program: 'edit', caller: 'edit' })).toBe(false)
  })

  it('that was given where a rule with a pattern asked covers only what that rule asks about', () => {
    const grant = rangeOf(change('/w/src/a.ts'), 'edits', 'edit."src/**" = "ask"')
    expect(isCovered(grant, change('/w/src/b.ts'), 'edit."src/**" = "ask"')).toBe(true)
    expect(isCovered(grant, change('/w/src/k.ts'), 'edit."**/k.ts" = "ask"')).toBe(false)
  })
})
