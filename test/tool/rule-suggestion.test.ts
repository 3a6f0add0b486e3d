import { expect, it } from 'vitest'
import type { ToolRule, ToolSubject } from '../../src/event/permission.ts'
import { commandSubject } from '../../src/tool/command-line.ts'
import { approvalAdvice } from '../../src/tool/rule-suggestion.ts'

const asks = (tool: string, more: Partial<ToolRule> = {}): ToolRule => ({
  tool,
  effect: 'ask',
  origin: 'default',
  ...more,
})

function told(tool: string, subject?: ToolSubject, ...lists: readonly (readonly ToolRule[])[]): string {
  const action = { kind: 'tool', tool, input: null, ...(subject === undefined ? {} : { subject }) } as const
  return approvalAdvice(action, { lists: [[asks('*')], ...lists].slice(lists.length > 0 ? 1 : 0), workspace: '/w' })
}

it.each<readonly [tool: string, subject: ToolSubject | undefined, rule: string]>([
  ['todo', undefined, 'todo = "allow"'],
  ['server__tool', undefined, 'server__tool = "allow"'],
  ['read', { kind: 'path', path: '/w/src/a.ts' }, 'read."src/a.ts" = "allow"'],
  ['read', { kind: 'path', path: '/w/[a]' }, String.raw`read."\\[a\\]" = "allow"`],
  ['read', { kind: 'path', path: '/else/a' }, 'read."/else/a" = "allow"'],
  ['webfetch', { kind: 'host', host: 'a.example' }, 'webfetch."a.example" = "allow"'],
  ['webfetch', { kind: 'host', host: 'a.example', port: 8080 }, 'webfetch."a.example:8080" = "allow"'],
  ['task', { kind: 'name', name: 'reviewer' }, 'task.reviewer = "allow"'],
  ['bash', commandSubject('npm test -- -u'), 'bash."npm test*" = "allow"'],
  ['bash', commandSubject('npm run build x'), 'bash."npm run build*" = "allow"'],
  ['bash', commandSubject('make'), 'bash.make = "allow"'],
  ['bash', commandSubject('ls -la src'), 'bash."ls *" = "allow"'],
  [
    'bash',
    commandSubject('git log && npm test; git log -1'),
    'bash."git log*" = "allow" and bash."npm test*" = "allow"',
  ],
])('suggests a rule that would allow a call of %s: %j', (tool, subject, rule) => {
  expect(told(tool, subject)).toBe(`permission denied; to allow it set [permission] ${rule}`)
})

it('names a rule that allows the call but comes from an untrusted folder, because writing it again would not help', () => {
  const given = { ...asks('bash', { origin: 'ask.md:6', tightens: 'ask.md' }), effect: 'allow' } as const
  expect(told('bash', commandSubject('make'), [asks('*'), given])).toBe(
    'permission denied: ask.md:6 allows it, which counts only once that file is trusted (baton trust)',
  )
  const other = { ...given, pattern: 'npm *' }
  expect(told('bash', commandSubject('make'), [asks('*'), other])).toContain('bash.make = "allow"')
})

it('names only the commands of a line that are not allowed yet', () => {
  const rules = [asks('*'), { tool: 'bash', pattern: 'cd *', effect: 'allow', origin: 'mine:1' } as const]
  expect(told('bash', commandSubject('cd x && npm test'), rules)).toBe(
    'permission denied; to allow it set [permission] bash."npm test*" = "allow"',
  )
})

it('reports that no pattern would help', () => {
  expect(told('bash', commandSubject('npm test > x'))).toBe(
    'permission denied: the line contains a redirect into a file, and no pattern allows that; leave it out, or let the user be asked',
  )
  const mine = { ...asks('bash'), effect: 'allow', origin: 'mine:1' } as const
  const held = [mine, asks('bash', { origin: 'baton.toml:3', tightens: 'baton.toml' })]
  expect(told('bash', commandSubject('npm test'), held)).toBe(
    "permission denied by baton.toml:3; to allow it use -c 'permission.bash.npm test*=allow'",
  )
  expect(told('todo', undefined, [{ ...asks('*'), effect: 'allow' }], [asks('todo', { origin: 'child.md:4' })])).toBe(
    'permission denied: child.md:4 asks about it, and nobody can be asked',
  )
  expect(told('edit', undefined, [{ ...asks('*'), effect: 'allow' }])).toBe(
    'permission denied: changes are shown to the user first (write_mode = "ask"), and nobody can be asked',
  )
})

it('names a rule that denies and may match an unknown part, and suggests writing the line without it', () => {
  const rules: readonly ToolRule[] = [
    { tool: 'bash', effect: 'allow', origin: 'mine:1' },
    { tool: 'bash', pattern: 'rm *', effect: 'deny', origin: 'mine:2' },
  ]
  expect(told('bash', commandSubject('$X y'), rules)).toBe(
    'permission denied: [permission] bash."rm *" = "deny" (mine:2) may apply, because a part of the line is not known before it runs, and nobody can be asked; write the line without variables, wildcards and constructs that hide its commands',
  )
})
