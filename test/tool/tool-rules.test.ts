import { symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { realPath } from '../../src/base/files.ts'
import type { ToolRule, ToolSubject } from '../../src/event/permission.ts'
import { toolRules } from '../../src/tool/rule-list.ts'
import { toolVerdict } from '../../src/tool/tool-rules.ts'
import { tempTree } from '../helpers/temp.ts'

type Effect = ToolRule['effect']

const workspace = realPath(tempTree({ 'src/a.ts': '', 'keys/a.pem': '' }))
const elsewhere = realPath(tempTree({ 'a.ts': '', '.env': '' }))
symlinkSync(elsewhere, join(workspace, 'link'))
symlinkSync('keys', join(workspace, 'shown'))

/** `tool`, `tool pattern`, or `tool pattern` of a folder's file: `tool pattern @file`. */
function rules(...written: readonly (readonly [about: string, effect: Effect])[]): readonly ToolRule[] {
  return written.map(([about, effect], index) => {
    const [, tool = '', pattern, file] = /^(\S+)(?: ([^@]+?))?(?: ?@(\S+))?$/.exec(about) ?? []
    return {
      tool,
      ...(pattern === undefined ? {} : { pattern }),
      effect,
      origin: `${file ?? 'mine'}:${index + 1}`,
      ...(file === undefined ? {} : { tightens: file }),
    }
  })
}

function verdict(list: readonly ToolRule[], tool: string, subject?: ToolSubject): string {
  const found = toolVerdict(
    [toolRules(list)],
    { kind: 'tool', tool, input: null, ...(subject && { subject }) },
    workspace,
  )
  return found.kind === 'deny' ? `deny: ${found.reason}` : found.kind
}

const file = (path: string): ToolSubject => ({ kind: 'path', path: join(workspace, path) })
const named = (name: string): ToolSubject => ({ kind: 'name', name })

describe('the rule that decides', () => {
  it('is a default when there is no other: unknown tools are asked about', () => {
    expect(verdict([], 'todo')).toBe('allow')
    expect(verdict([], 'server__tool')).toBe('ask')
  })

  it('is the last that matches, whatever its pattern', () => {
    const list = rules(['read', 'deny'], ['read src/**', 'allow'], ['read src/*.pem', 'ask'], ['write src/**', 'deny'])
    expect(verdict(list, 'read', file('src/a.ts'))).toBe('allow')
    expect(verdict(list, 'read', file('src/a.pem'))).toBe('ask')
    expect(verdict(list, 'read', file('other'))).toBe('deny: [permission] read = "deny" (mine:1)')
    expect(verdict(list, 'write', file('src/a'))).toBe('deny: [permission] write."src/**" = "deny" (mine:4)')
  })

  it('may name tools by * and those of servers in both forms', () => {
    const list = rules(['*', 'deny'], ['git__*', 'allow'], ['mcp__web__get', 'ask'], ['agent re*er', 'allow'])
    expect(['todo', 'git__log', 'web__get', 'web__put'].map((tool) => verdict(list, tool).slice(0, 5))).toEqual([
      'deny:',
      'allow',
      'ask',
      'deny:',
    ])
    expect(verdict(list, 'agent', named('reviewer'))).toBe('allow')
    expect(verdict(list, 'agent', named('writer')).slice(0, 5)).toBe('deny:')
  })

  it('with a pattern never matches a call without a subject, and "any call" is a call that is not denied', () => {
    const list = rules(['bash', 'deny'], ['bash git *', 'allow'])
    expect(verdict(list, 'bash').slice(0, 4)).toBe('deny')
    expect(verdict(list, 'bash', { kind: 'any' })).toBe('allow')
    expect(verdict(rules(['bash rm *', 'deny']), 'bash', { kind: 'any' })).toBe('ask')
    expect(verdict(rules(['bash git *', 'allow'], ['bash', 'deny']), 'bash', { kind: 'any' }).slice(0, 4)).toBe('deny')
  })
})

describe('rules of an untrusted folder', () => {
  it('apply if they are stricter than those before them', () => {
    const list = rules(['read', 'ask'], ['read @baton.toml', 'allow'], ['todo @baton.toml', 'deny'])
    expect(verdict(list, 'read', file('a'))).toBe('ask')
    expect(verdict(list, 'todo')).toBe('deny: [permission] todo = "deny" (baton.toml:3)')
  })

  it('of one file apply among themselves: it may open again only what it closed', () => {
    const list = rules(
      ['read', 'ask'],
      ['read src/**', 'allow'],
      ['read @baton.toml', 'deny'],
      ['read src/** @baton.toml', 'allow'],
      ['read docs/** @baton.toml', 'allow'],
    )
    expect(verdict(list, 'read', file('src/a.ts'))).toBe('allow')
    expect(verdict(list, 'read', file('docs/a'))).toBe('ask')
    expect(verdict(list, 'read', file('keys/a')).slice(0, 4)).toBe('deny')
  })

  it('do not open what another file of the folder closed', () => {
    const list = rules(['todo @baton.toml', 'deny'], ['todo @ask.md', 'allow'])
    expect(verdict(list, 'todo')).toBe('deny: [permission] todo = "deny" (baton.toml:1)')
  })

  it('have lower priority than flags of the user', () => {
    const list = rules(['todo @baton.toml', 'deny'], ['todo', 'ask'])
    expect(verdict(list, 'todo')).toBe('ask')
  })
})

describe('several lists', () => {
  it('are as strict as the strictest, and an empty one does not count', () => {
    const lists = [toolRules(), rules(['read', 'deny']), rules(['todo src', 'deny']), []]
    const of = (tool: string): string => toolVerdict(lists, { kind: 'tool', tool, input: null }, workspace).kind
    expect(['todo', 'read', 'other'].map(of)).toEqual(['allow', 'deny', 'ask'])
    expect(toolVerdict([], { kind: 'tool', tool: 'todo', input: null }, workspace)).toEqual({ kind: 'ask' })
  })
})

describe('patterns', () => {
  it.each<readonly [pattern: string, path: string, matches: boolean]>([
    ['src/**', `${workspace}/src/a.ts`, true],
    ['./src/*.ts', `${workspace}/src/a.ts`, true],
    ['src/**', `${workspace}/other/src/a.ts`, false],
    ['**/*.ts', `${workspace}/src/a.ts`, true],
    ['*.ts', `${workspace}/src/a.ts`, false],
    ['{src,docs}/*', `${workspace}/docs/a`, true],
    ['src/**', `${elsewhere}/src/a.ts`, false],
    ['../**', `${elsewhere}/a.ts`, true],
    [`${elsewhere}/**`, `${elsewhere}/a.ts`, true],
    [`${elsewhere}/**`, `${workspace}/a.ts`, false],
    ['/**', `${elsewhere}/a.ts`, true],
    ['~/**', join(homedir(), 'x/y'), true],
    ['~/.ssh/*', join(homedir(), '.ssh/id'), true],
    ['~/.ssh/*', `${workspace}/.ssh/id`, false],
    // the target of a link
    ['link/**', `${elsewhere}/a.ts`, true],
    ['shown/*.pem', `${workspace}/keys/a.pem`, true],
    ['shown', `${workspace}/keys`, true],
    // paths that do not exist yet
    ['new/**', `${workspace}/new/a`, true],
  ])('of paths: %s and %s', (pattern, path, matches) => {
    const list = rules(['read', 'ask'], [`read ${pattern}`, 'allow'])
    expect(verdict(list, 'read', { kind: 'path', path })).toBe(matches ? 'allow' : 'ask')
  })

  it('that are an existing path match this path, whatever characters it has', () => {
    const folder = realPath(tempTree({ 'p/[slug].tsx': '', 'p/s.tsx': '' }))
    const of = (effect: Effect, path: string): string =>
      toolVerdict(
        [toolRules(rules(['edit **', effect === 'deny' ? 'allow' : 'deny'], ['edit p/[slug].tsx', effect]))],
        { kind: 'tool', tool: 'edit', input: null, subject: { kind: 'path', path: join(folder, path) } },
        folder,
      ).kind
    expect([of('deny', 'p/[slug].tsx'), of('deny', 'p/s.tsx')]).toEqual(['deny', 'allow'])
    expect([of('allow', 'p/[slug].tsx'), of('allow', 'p/s.tsx')]).toEqual(['allow', 'deny'])
    const later = [toolRules(rules(['edit **', 'allow'], ['edit new/[id].ts', 'deny']))]
    const subject = { kind: 'path', path: join(folder, 'new/[id].ts') } as const
    expect(toolVerdict(later, { kind: 'tool', tool: 'edit', input: null, subject }, folder).kind).toBe('deny')
  })

  it('of paths that begin with **/ deny also outside the workspace, but allow only inside', () => {
    const env: ToolSubject = { kind: 'path', path: join(elsewhere, '.env') }
    expect(verdict(rules(['read **/.env', 'deny']), 'read', env).slice(0, 4)).toBe('deny')
    expect(verdict(rules(['read', 'ask'], ['read **/.env', 'allow']), 'read', env)).toBe('ask')
  })

  it.each<readonly [pattern: string, host: string, port: number | undefined, matches: boolean]>([
    ['example.com', 'example.com', undefined, true],
    ['Example.com', 'example.com', undefined, true],
    ['example.com', 'www.example.com', undefined, false],
    ['*.example.com', 'www.example.com', undefined, true],
    ['*.example.com', 'example.com', undefined, false],
    ['*.example.com', 'badexample.com', undefined, false],
    ['*', 'example.com', undefined, true],
    ['example.com', 'example.com', 8080, true],
    ['example.com:8080', 'example.com', 8080, true],
    ['example.com:8080', 'example.com', undefined, false],
    ['example.com:443', 'example.com', undefined, true],
    ['127.0.0.1', '127.0.0.1', undefined, true],
    ['::1', '::1', undefined, true],
  ])('of hosts: %s and %s %s', (pattern, host, port, matches) => {
    const list = rules(['webfetch', 'ask'], [`webfetch ${pattern}`, 'allow'])
    const subject: ToolSubject = { kind: 'host', host, ...(port === undefined ? {} : { port }) }
    expect(verdict(list, 'webfetch', subject)).toBe(matches ? 'allow' : 'ask')
  })
})
