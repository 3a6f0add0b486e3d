import { describe, expect, it } from 'vitest'
import type { PromptTarget } from '../../src/run/prompt-target.ts'
import { loadTarget, warningsOf } from '../../src/run/target.ts'
import { builtInDir } from '../helpers/agents.ts'
import { tempTree } from '../helpers/temp.ts'

const task = '+++\ntools = ["task"]\n+++\nSay.\n'

function load(files: { readonly [path: string]: string }) {
  const cwd = tempTree({ '.git/HEAD': '', 'p.md': task, ...files })
  return loadTarget({ cwd, env: {}, home: cwd, builtInDir, flags: { overrides: [] }, file: 'p.md' })
}

describe('a definition that cannot be used', () => {
  it('ends the run before it begins where a folder takes a name', async () => {
    const loading = load({ 'agents/Explore.md': '+++\ndescription = "x"\n+++\nMine.\n' })
    await expect(loading).rejects.toMatchObject({
      code: 'UNTRUSTED',
      message: expect.stringMatching(/agents\/Explore\.md shadows the built-in agent Explore/),
    })
  })

  it('is told with its line where a model may start agents, and only there', async () => {
    const wrong = { 'agents/one.md': '---\ntools: Bash(git *)\n---\nx\n', 'agents/two.md': '+++\nnot toml\n+++\nx\n' }
    const warnings = await warningsOf(await load(wrong))
    expect(warnings).toHaveLength(2)
    expect(warnings[0]).toMatch(/^agents\/one\.md:2: no model can start "one": the tool "Bash\(git \*\)" has a pattern/)
    expect(warnings[1]).toMatch(/^agents\/two\.md:2: no model can start "two": /)
    expect(await warningsOf(await load({ ...wrong, 'p.md': 'Say.\n' }))).toEqual([])
  })

  it('is started by no model where it runs scripts that nobody has agreed to, and by whoever names it', async () => {
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
