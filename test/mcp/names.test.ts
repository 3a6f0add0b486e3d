import { describe, expect, it } from 'vitest'
import { unknownDisallowed, unknownTools } from '../../src/agent/tool-names.ts'
import type { McpTool } from '../../src/event/mcp.ts'
import { mayPass, nameTools, serverNamed, writtenServer } from '../../src/mcp/names.ts'
import { passesFilters } from '../../src/tool/tool-filter.ts'

function named(server: string, ...tools: readonly string[]): readonly string[] {
  const list = tools.map((name): McpTool => ({ name, input: { type: 'object' } }))
  return nameTools(server, list).map(({ name }) => name)
}

describe('the name of a tool of a server (R308)', () => {
  it('consists of the server, two underscores, and its own name', () => {
    expect(named('filesystem', 'read_file', 'list-all', '_hidden')).toEqual([
      'filesystem__read_file',
      'filesystem__list-all',
      'filesystem___hidden',
    ])
  })

  it('contains only characters that all hosts accept, and stays unique', () => {
    const [dotted, plain, slashed, letters] = named('s', 'a.b', 'a_b', 'a/b', 'größe')
    expect(plain).toBe('s__a_b')
    expect(dotted).toMatch(/^s__a_b_[0-9a-f]{8}$/)
    expect(slashed).toMatch(/^s__a_b_[0-9a-f]{8}$/)
    expect(letters).toBe('s__gr__e')
    expect(new Set([dotted, plain, slashed]).size).toBe(3)
    // whatever precedes it in the list
    expect(named('s', 'a/b', 'a.b')[0]).toBe(slashed)
  })

  it('has 64 characters at most, and long ones differ', () => {
    const long = 'x'.repeat(60)
    const [first = '', second = ''] = named('server', `${long}1`, `${long}2`)
    expect([first.length, second.length, first === second]).toEqual([64, 64, false])
    expect(first.startsWith('server__xxx')).toBe(true)
  })

  it('is unique: the first of several equally named tools of a server counts', () => {
    expect(named('s', 'a', 'a', 'b')).toEqual(['s__a', 's__b'])
    expect(named('s', '')).toEqual([expect.stringMatching(/^s___[0-9a-f]{8}$/)])
  })
})

describe('a filter', () => {
  it.each([
    ['github__create_issue', 'github__*', true],
    ['github__create_issue', 'mcp__github__*', true],
    ['github__create_issue', 'mcp__github__create_issue', true],
    ['github__create_issue', '*', true],
    ['github__create_issue', 'mcp__*', true],
    ['github__create_issue', 'git__*', false],
    // patterns for servers match nothing else
    ['bash', 'mcp__*', false],
    ['read', 'mcp__read', false],
    // of a server named mcp
    ['mcp__read', 'mcp__read', true],
    ['mcp__read', 'mcp__mcp__read', true],
  ])('with %s allows %s: %s', (tool, pattern, passes) => {
    expect(passesFilters(tool, [{ tools: [pattern] }])).toBe(passes)
    expect(passesFilters(tool, [{ tools: ['*'], disallowed_tools: [pattern] }])).toBe(!passes)
  })

  it.each([
    [['*'], [], true],
    [['read', 'git*'], [], true],
    [['mcp__github__*'], [], true],
    [['mcp__*'], [], true],
    [['github__a'], [], true],
    [['read', 'web*', 'gitlab__*'], [], false],
    [['*'], ['github__*'], false],
    [['*'], ['mcp__*'], false],
    [['*'], ['github__delete*'], true],
  ])('with tools %j without %j may allow tools of github: %s', (tools, disallowed_tools, may) => {
    expect(mayPass({ tools, disallowed_tools }, 'github')).toBe(may)
  })

  it('can apply to one server, or to several', () => {
    const servers = ['git', 'git-hub', 'mcp']
    const names = ['git__log', 'git-hub__x', 'mcp__git__*', 'mcp__x', 'git*', '*', 'svn__x']
    expect(names.map((name) => serverNamed(name, servers))).toEqual([
      'git',
      'git-hub',
      'git',
      'mcp',
      undefined,
      undefined,
      undefined,
    ])
    expect(serverNamed('mcp__git__*', ['git'])).toBe('git')
    expect(['svn__x', 'mcp__svn__*', 'mcp__x', 'mcp__*', 's*__x', 'read'].map(writtenServer)).toEqual([
      'svn',
      'svn',
      'mcp',
      undefined,
      undefined,
      undefined,
    ])
  })
})

describe('a missing server', () => {
  const others = { servers: ['github', 'docs'] }

  it('is reported with a suggestion', () => {
    const said = (names: readonly string[]) => unknownTools(names, ['tools'], others).map(({ hint }) => hint)
    expect(said(['github__x', 'mcp__docs__*', '*', 'read'])).toEqual([])
    expect(said(['githb__x'])).toEqual(['Did you mean "github"?'])
    expect(said(['mcp__doc__*'])).toEqual(['Did you mean "docs"?'])
    expect(said(['weather__x'])).toEqual(['Configured servers: github, docs; see baton mcp list.'])
    // if the servers are not known
    expect(unknownTools(['weather__x'], [])).toEqual([])
  })

  it('cannot be named alone: its tools must be', () => {
    expect(unknownTools(['github'], [], others)).toMatchObject([
      { message: 'unknown tool "github"', hint: 'Write "github__*" for all tools of the server.' },
    ])
  })

  it('may be disallowed, unless it is a spelling mistake', () => {
    expect(unknownDisallowed(['weather__*'], [], others)).toEqual([])
    expect(unknownDisallowed(['githb__*'], [], others)).toMatchObject([{ hint: 'Did you mean "github"?' }])
  })
})
