import { describe, expect, it } from 'vitest'
import type { PromptTarget } from '../../src/load/prompt-target.ts'
import { loadTarget, warningsOf } from '../../src/load/target.ts'
import { builtInDir } from '../helpers/agents.ts'
import { tempTree } from '../helpers/temp.ts'
import { strategies } from '../../src/strategies/strategies.ts'

const task = '+++\ntools = ["task"]\n+++\nSay.\n'

function load(files: { readonly [path: string]: string }) {
  const cwd = tempTree({ '.git/HEAD': '', 'p.md': task, ...files })
  return loadTarget({ strategies, cwd, env: {}, home: cwd, builtInDir, flags: { overrides: [] }, file: 'p.md' })
}

describe('an invalid agent definition', () => {
  it('ends the run before it begins if a folder redefines a name', async () => {
    const loading = load({ 'agents/Explore.md': '+++\ndescription = "x"\n+++\nMine.\n' })
    await expect(loading).rejects.toMatchObject({
      code: 'UNTRUSTED',
      message: expect.stringMatching(/agents\/Explore\.md shadows the built-in agent Explore/),
    })
  })

  it('is reported with its line if a model may start agents, and only then', async () => {
    const wrong = { 'agents/one.md': '---\ntools: Bash(git *)\n---\nx\n', 'agents/two.md': '+++\nnot toml\n+++\nx\n' }
    const warnings = await warningsOf(await load(wrong))
    expect(warnings).toHaveLength(2)
    expect(warnings[0]).toMatch(/^agents\/one\.md:2: no model can start "one": the tool "Bash\(git \*\)" has a pattern/)
    expect(warnings[1]).toMatch(/^agents\/two\.md:2: no model can start "two": /)
    expect(await warningsOf(await load({ ...wrong, 'p.md': 'Say.\n' }))).toEqual([])
  })

  it('with unapproved scripts cannot be started by a model, but by whoever names it', async () => {
    const chained = '+++\ndescription = "Helps."\nsub_agents = ["./evil.lua"]\n+++\nHelp.\n'
    const files = { 'agents/helper.md': chained, 'agents/evil.lua': 'return {}' }
    const { definitions } = (await load(files)) as PromptTarget
    expect((await definitions()).byName.get('helper')).toMatchObject({ heldBack: 'sub_agents' })
    expect(await warningsOf(await load(files))).toEqual([
      'no model can start "helper": its "sub_agents" starts more than a model, and agents/helper.md is not trusted',
    ])
    const named = await load({ ...files, 'p.md': '+++\nsub_agents = ["helper"]\n+++\nSay.\n' })
    expect(await warningsOf(named)).toEqual([])
  })
})

describe('an agent of another program with tools that Baton lacks', () => {
  const tools = 'Read, WebSearch, mcp__none, Raed'
  const files = { 'agents/team/x.md': `---\nname: web\ndescription: d\ntools: ${tools}\n---\nGo.\n` }
  const warning = 'agents/team/x.md:4: left out tools that Baton does not have: WebSearch, mcp__none, Raed'

  it.each([
    ['where a model may start it', task],
    ['as a sub-agent', '+++\nsub_agents = ["web", "web"]\n+++\nSay.\n'],
    ['as the agent that answers', '+++\nagent = "web"\n+++\nSay.\n'],
    ['as a role', '+++\n[collab.roles.one]\nagent = "web"\n+++\nSay.\n'],
  ])('works without them, which is reported once %s', async (_, prompt) => {
    expect(await warningsOf(await load({ ...files, 'p.md': prompt }))).toEqual([warning])
  })

  it('has no tools if none is left, while unknown tools in our own definitions are errors', async () => {
    const none = '---\nname: p\ndescription: d\ntools: Skill, Raed\n---\nGo.\n'
    const cwd = tempTree({ '.git/HEAD': '', 'agents/p.md': none, 'agents/own.md': '---\ntools: [Raed]\n---\nGo.\n' })
    const given = { cwd, env: {}, home: cwd, builtInDir, flags: { overrides: [] } }
    const target = (await loadTarget({ strategies, ...given, file: 'agents/p.md' })) as PromptTarget
    expect([target.settings.tools, target.settingsFor(target.spec.params).tools]).toEqual([[], []])
    await expect(loadTarget({ strategies, ...given, file: 'agents/own.md' })).rejects.toMatchObject({
      message: 'unknown tool "Raed"',
    })
  })
})
