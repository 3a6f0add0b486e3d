import { mkdirSync, realpathSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { readTomlFile } from '../../src/base/toml.ts'
import { collectDefinitions, type Definitions } from '../../src/config/collect-definitions.ts'
import type { AgentDefinition } from '../../src/config/agent-definitions.ts'
import type { Layer, Origin } from '../../src/config/layers.ts'
import { tempTree, writeTree } from '../helpers/temp.ts'

describe('the built-in agents (R40)', () => {
  it('are four, and the known command-line agents', async () => {
    const { byName } = await definitions({})
    const [lines, prompts] = [true, false].map((isLine) =>
      [...byName.values()].filter(({ agent }) => (agent.kind === 'command') === isLine),
    ) as [AgentDefinition[], AgentDefinition[]]
    expect(lines.map(({ name, agent }) => [name, agent])).toEqual(
      ['claude', 'codex', 'gemini', 'opencode'].map((preset) => [
        preset,
        expect.objectContaining({ line: { preset, command: preset, args: [], env: {}, stdinOver: 1024 } }),
      ]),
    )
    const rows = prompts.map(({ name, tools, disallowedTools, forkContext, reminder, settings }) => [
      name,
      tools?.join(' '),
      disallowedTools.join(' '),
      forkContext,
      reminder !== undefined,
      settings['model'] ?? 'inherit',
    ])
    const readOnly = 'task enter_plan exit_plan edit write'
    expect(rows).toEqual([
      ['Bash', 'bash', '', false, false, 'inherit'],
      ['general-purpose', '*', 'task', true, false, 'inherit'],
      ['Explore', '*', readOnly, false, true, 'inherit'],
      ['Plan', 'glob grep read bash', readOnly, false, true, 'inherit'],
    ])
    expect(byName.get('Explore')?.instructions).toMatch(/quick.*medium.*very thorough/s)
    for (const { description, agent } of prompts) {
      expect(description).not.toBe('')
      expect(agent).toMatchObject({ kind: 'prompt', defined: { sources: [], isTrusted: true } })
    }
  })
})

it('a command-line agent has the time limit of its definition, and the rights it grants', async () => {
  const { byName } = await definitions({
    user: '[agents.own]\ncommand = "./own"\ntimeout = "90s"\nsandbox = { mode = "danger-full-access" }\n',
  })
  expect(byName.get('own')?.agent).toMatchObject({ line: { timeoutMs: 90_000, mode: 'danger-full-access' } })
})

describe('definitions of one name', () => {
  it('override each other key by key, lists as a whole', async () => {
    const { byName } = await definitions({
      user: '[agents.reader]\ndescription = "reads"\nmodel = "fast"\ntools = ["read", "grep"]\n',
      flag: '[agents.reader]\ntools = ["read"]\n',
    })
    expect(byName.get('reader')).toMatchObject({
      description: 'reads',
      tools: ['read'],
      settings: { model: 'fast', tools: ['read'] },
      origin: '-c, user.toml:1',
    })
  })

  it('are a command line or a model: one replaces the other, except for its description', async () => {
    const line = '[agents.x]\ncommand = "prog"\nargs = ["{prompt}"]\n'
    const { byName } = await definitions({
      user: '[agents.x]\ndescription = "d"\ninstructions = "i"\ntools = ["read"]\n',
      flag: line,
    })
    const { agent, tools, description } = byName.get('x') ?? {}
    expect([agent?.kind, tools, description]).toEqual(['command', undefined, 'd'])
    expect(agent).toMatchObject({ line: { command: 'prog', args: ['{prompt}'], stdinOver: 1024 } })
    expect(agent).toHaveProperty('line.env', {})
    const again = await definitions({ user: line, flag: '[agents.x]\ninstructions = "i"\n' })
    expect(again.byName.get('x')?.agent.kind).toBe('prompt')
  })

  it('a program of an untrusted file does not inherit rights that the user gives to his own one', async () => {
    const line = '[agents.x]\ncommand = "sh"\nargs = ["-c", "id"]\n'
    for (const user of ['command = "./own"\nsandbox.mode = "danger-full-access"\n', 'preset = "claude"\n']) {
      const { byName } = await definitions({ user: `[agents.x]\n${user}`, prompt: line })
      expect(byName.get('x')?.agent).toMatchObject({
        line: { command: 'sh', args: ['-c', 'id'], stdinOver: 1024 },
      })
      expect(byName.get('x')?.agent).toHaveProperty('line.env', {})
      expect(byName.get('x')?.agent).not.toHaveProperty('line.preset')
      expect(byName.get('x')?.agent).not.toHaveProperty('line.mode')
    }
    const { byName } = await definitions({
      user: '[agents.x]\npreset = "claude"\nargs = ["--verbose"]\n',
      prompt: '[agents.x]\npreset = "claude"\nmodel = "opus"\n',
    })
    expect(byName.get('x')?.agent).toMatchObject({ line: { preset: 'claude', args: ['--verbose'], model: 'opus' } })
  })

  it('a known program accepts keys for programs, and becomes a model with keys for models', async () => {
    const ofProgram = await definitions({ user: '[agents.claude]\nmodel = "opus"\ntimeout = "5m"\n' })
    const line = { preset: 'claude', command: 'claude', model: 'opus', timeoutMs: 300_000 }
    expect(ofProgram.byName.get('claude')?.agent).toMatchObject({ kind: 'command', line })
    const ofModel = await definitions({ user: '[agents.claude]\nmodel = "opus"\ninstructions = "Be brief."\n' })
    expect(ofModel.byName.get('claude')?.agent).toMatchObject({ kind: 'prompt' })
    const other = await definitions({ user: '[agents.claude]\ncommand = "own"\n' })
    expect(other.byName.get('claude')?.agent).not.toHaveProperty('line.preset')
  })

  it('of a file alone is that file', async () => {
    const text = '+++\ndescription = "reviews"\nmodel = "fast"\n+++\nReview.\n'
    const { byName } = await definitions({ files: { 'agents/reviewer.md': text, '.baton/agents/other.md': text } })
    expect(byName.get('reviewer')).toMatchObject({
      description: 'reviews',
      instructions: 'Review.',
      origin: 'agents/reviewer.md',
      agent: { kind: 'prompt', name: 'reviewer', text },
    })
    expect(byName.get('reviewer')?.agent.defined).toBeUndefined()
    expect(byName.has('other')).toBe(true)
  })

  it('written for Claude Code are read', async () => {
    const text = `---
name: fixer
description: fixes
tools: Read, Grep, Bash, NotebookEdit, mcp__docs__search
model: inherit
color: red
maxTurns: 4
---
Fix it.
`
    const { byName } = await definitions({ files: { 'agents/fixer.md': text } })
    const { tools, maxTurns, settings, instructions } = byName.get('fixer') ?? {}
    expect([tools, maxTurns, instructions]).toEqual([['read', 'grep', 'bash', 'docs__search'], 4, 'Fix it.'])
    expect(settings).not.toHaveProperty('model')
    const plain = text.replace('fixes', 'Use when: it\'s "broken"').replace('Grep', 'Glob')
    const unquoted = (await definitions({ files: { 'agents/fixer.md': plain } })).byName.get('fixer')
    expect([unquoted?.description, unquoted?.tools?.[1]]).toEqual(['Use when: it\'s "broken"', 'glob'])
    const { broken } = await definitions({ files: { 'agents/x.md': text.replace('Bash', 'Bash(git *)') } })
    expect(broken.get('fixer')).toMatchObject({ place: { line: 4 }, message: expect.stringContaining('Bash(git *)') })
  })

  it('use the name in a file of Claude Code, also in subfolders', async () => {
    const foreign = (name: string, text = 'Go.'): string => `---\nname: ${name}\ndescription: d\n---\n${text}\n`
    const { byName, broken, notes } = await definitions({
      files: {
        'agents/team/2-review.md': foreign('reviewer', 'Below.'),
        'agents/team/deep/x.md': foreign('reviewer', 'Deeper.'),
        'agents/team/README.md': 'About the team.\n',
        'agents/team/notes.md': '---\ntitle: notes\n---\nx\n',
        'agents/.hidden/h.md': foreign('hidden'),
        'agents/node_modules/m.md': foreign('module'),
        'agents/spaced.md': foreign('Code Reviewer'),
        'agents/old.md': foreign('young'),
        'agents/toml.md': '+++\nname = "other"\n+++\nx\n',
        '.baton/agents/own/o.md': foreign('own'),
      },
    })
    const own = [...byName.values()]
      .filter(({ from }) => from === 'workspace')
      .map(({ name, origin }) => [name, origin])
    expect(own).toEqual([
      ['young', 'agents/old.md'],
      ['spaced', 'agents/spaced.md'],
      ['toml', 'agents/toml.md'],
      ['reviewer', 'agents/team/2-review.md'],
      ['own', '.baton/agents/own/o.md'],
    ])
    expect(byName.get('reviewer')?.instructions).toBe('Below.')
    expect([...broken.keys()]).toEqual([])
    expect(notes.map(({ message }) => message)).toEqual([
      'agents/spaced.md is known as "spaced": its name "Code Reviewer" cannot be the name of an agent',
      'agents/team/deep/x.md is not used: agents/team/2-review.md has the same name, "reviewer"',
    ])
  })

  it('are refused by the name in the file, or by the file name if it cannot be parsed', async () => {
    const files = {
      'agents/a/b.md': '---\nname: Plan\ndescription: d\n---\nMine.\n',
      'agents/a/Explore.md': '---\nname: x\ndescription: d\nmodel: [\n---\nMine.\n',
    }
    const { broken } = await definitions({ files })
    expect([...broken.values()].map(({ message }) => message)).toEqual(['hidden: Explore', 'hidden: Plan'])
  })

  it('are not searched behind a link that leads out of the folder', async () => {
    const home = tempTree({ 'shared/inner.md': '---\nname: inner\ndescription: d\n---\nx\n' })
    const { byName, broken } = await definitions({ links: { 'agents/out': join(home, 'shared'), 'agents/loop': '.' } })
    expect([byName.has('inner'), broken.has('inner')]).toEqual([false, false])
  })

  it.each([
    ['tools: *', ['*'], []],
    ['tools: "*"', ['*'], []],
    ['tools: [*]', ['*'], []],
    ['tools:\n  - *\n  - Read', ['*', 'read'], []],
    ['tools: Read, WebSearch, mcp__none', ['read', 'none__*'], ['WebSearch']],
    ['tools: Skill', [], ['Skill']],
    ['tools: [mcp__a__b, mcp__c]', ['a__b', 'c__*'], []],
    ['tools:', undefined, []],
  ])('map names of Claude Code tools: %s', async (line, tools, foreignTools) => {
    const text = `---\nname: x\ndescription: d\n${line}\n---\nGo.\n`
    const { byName } = await definitions({ files: { 'agents/x.md': text } })
    expect(byName.get('x')?.tools).toEqual(tools)
    expect(byName.get('x')?.agent.defined?.foreignTools).toEqual(tools && foreignTools)
  })

  it('of a folder are refused if they hide others', async () => {
    const { byName, broken } = await definitions({ files: { 'agents/Plan.md': 'Mine.\n' } })
    expect(byName.has('Plan')).toBe(false)
    expect(broken.get('Plan')?.message).toBe('hidden: Plan')
    const wrong = await definitions({ files: { 'agents/Plan.md': '+++\nnot toml\n+++\n' } })
    expect(wrong.broken.get('Plan')?.message).toBe('hidden: Plan')
  })

  it('of a folder may not use the name of a known program', async () => {
    const text = '+++\ndescription = "x"\n+++\nGo.\n'
    const names = ['claude', 'codex', 'gemini', 'opencode']
    const files = Object.fromEntries(names.map((name) => [`agents/${name}.md`, text]))
    const { byName, broken } = await definitions({ files })
    for (const name of names) {
      expect(byName.has(name)).toBe(false)
      expect(broken.get(name)?.message).toBe(`hidden: ${name}`)
    }
  })

  it('of a folder are refused if a link leads out of it', async () => {
    const home = tempTree({ secret: 'root:x:0\n', 'shared/inner.md': 'Inner.\n' })
    const { byName, broken } = await definitions({
      files: { 'own/kept.md': 'Kept.\n' },
      links: {
        'agents/passwd.md': join(home, 'secret'),
        'agents/kept.md': '../own/kept.md',
        '.baton/agents': join(home, 'shared'),
      },
    })
    expect([...byName.keys()]).not.toContain('passwd')
    expect(byName.get('kept')?.instructions).toBe('Kept.')
    expect(broken.get('passwd')).toMatchObject({
      code: 'OUTSIDE_WORKSPACE',
      message: 'agents/passwd.md leads outside the workspace through the link agents/passwd.md',
    })
    expect(broken.get('inner')?.message).toContain('through the link .baton/agents')
  })

  it('that start a program need trust', async () => {
    const { broken } = await definitions({ files: { 'agents/x.md': '+++\ncommand = "prog"\n+++\n' } })
    expect(broken.get('x')).toMatchObject({
      code: 'UNTRUSTED',
      message: '"command" may not be set by agents/x.md: the file is not trusted',
      place: { line: 2, column: 1 },
    })
  })
})

interface World {
  readonly user?: string
  readonly prompt?: string
  readonly flag?: string
  readonly files?: { readonly [path: string]: string }
  /** Links with their targets. */
  readonly links?: { readonly [path: string]: string }
}

async function definitions({ user, prompt, flag, files = {}, links = {} }: World): Promise<Definitions> {
  const home = realpathSync(tempTree({ 'work/.keep': '' }))
  const workspace = join(home, 'work')
  writeTree(workspace, files)
  for (const [path, target] of Object.entries(links)) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true })
    symlinkSync(target, join(workspace, path))
  }
  const layers = [
    ...(user === undefined ? [] : [await layer({ kind: 'user', file: 'user.toml' }, user)]),
    ...(prompt === undefined ? [] : [await layer({ kind: 'front matter', file: 'ask.md' }, prompt)]),
    ...(flag === undefined ? [] : [await layer({ kind: 'flag', name: '-c' }, flag)]),
  ]
  return collectDefinitions({
    cwd: workspace,
    env: {},
    home,
    workspace,
    layers,
    builtInDir: join(home, 'built-in'),
    packs: [],
    areOffered: false,
    refuseHidden({ name }) {
      throw new BatonError('UNTRUSTED', `hidden: ${name}`)
    },
  })
}

async function layer(origin: Origin, text: string): Promise<Layer> {
  const { data, locate } = await readTomlFile('x', text)
  const isTrusted = origin.kind === 'user'
  return { origin, values: data, locate, ...(origin.kind === 'flag' ? {} : { text, isTrusted }) }
}
