import { describe, expect, it } from 'vitest'
import { type PromptTarget } from '../../src/load/prompt-target.ts'
import { loadPromptFile } from '../helpers/agents.ts'
import { tempTree } from '../helpers/temp.ts'

/** Loads ask.md without running it. */
async function load(files: { readonly [path: string]: string }): Promise<PromptTarget> {
  const folder = tempTree({ '.git/HEAD': 'x', ...files })
  const target = await loadPromptFile('ask.md', folder, { env: { BATON_MODEL: 'env' } })
  return target
}

describe('the agents that a prompt file names', () => {
  it('are all found, also those of the prompt files among them', async () => {
    const target = await load({
      'ask.md': '+++\nagent = "x.md"\nsub_agents = ["a.md", "b.lua", { name = "off.md", enabled = false }]\n+++\nHi\n',
      'a.md': '+++\nsub_agents = ["b.lua", "./deep/c.md"]\n+++\nA\n',
      'deep/c.md': '+++\nsub_agents = ["d.aip"]\n+++\nC\n',
      'b.lua': '',
      'd.aip': '',
      'x.md': 'X\n',
    })
    expect(target.agents.map(({ name }) => name).toSorted()).toEqual(['./deep/c.md', 'a.md', 'b.lua', 'd.aip', 'x.md'])
    expect(target.answerAgent).toMatchObject({ kind: 'prompt', name: 'x.md' })
    expect(target.settings.model).toBe('env')
  })

  it.each([
    ['sub_agents = ["missing.md"]', {}, 'AGENT_NOT_FOUND', 'there is no agent "missing.md"', 'ask.md', 2],
    ['x = 1\nagent = "missing"', {}, 'AGENT_NOT_FOUND', 'there is no agent "missing"', 'ask.md', 3],
    ['sub_agents = ["a.md"]', { 'a.md': '+++\nmodel = 1\n+++\nA\n' }, 'CONFIG_INVALID', '"model" must be', 'a.md', 2],
    [
      'sub_agents = ["a.md"]',
      { 'a.md': '+++\nx = 1\nsub_agents = ["none.lua"]\n+++\nA\n' },
      'AGENT_NOT_FOUND',
      'there is no agent "none.lua"',
      'a.md',
      3,
    ],
    [
      'sub_agents = [\n  "b.lua",\n  { name = "b.lua", as = "append" },\n]',
      { 'b.lua': '' },
      'CONFIG_INVALID',
      'sub_agents[1]: as = "append", but "b.lua" does not answer with text',
      'ask.md',
      4,
    ],
    [
      'sub_agents = [\n  { name = "a.md", options = { modle = "x" } },\n]',
      { 'a.md': 'A\n' },
      'CONFIG_INVALID',
      'options of "a.md": unknown key "modle"',
      'ask.md',
      3,
    ],
  ] as const)('are checked before anything runs: %s', async (keys, files, code, message, file, line) => {
    await expect(load({ 'ask.md': `+++\n${keys}\n+++\nHi\n`, ...files })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
      place: { file: expect.stringMatching(new RegExp(`${file}$`)), ...(line === undefined ? {} : { line }) },
    })
  })

  it.each([
    [{ 'ask.md': '+++\nsub_agents = ["ask.md"]\n+++\nHi\n' }, 'ask.md → ask.md', 'ask.md'],
    [{ 'ask.md': '+++\nagent = "ask.md"\n+++\nHi\n' }, 'ask.md → ask.md', 'ask.md'],
    [
      {
        'ask.md': '+++\nsub_agents = ["a.md"]\n+++\nHi\n',
        'a.md': '+++\nsub_agents = ["deep/b.md"]\n+++\nHi\n',
        'deep/b.md': '+++\nsub_agents = ["a.md"]\n+++\nHi\n',
      },
      'a.md → deep/b.md → a.md',
      'deep/b.md',
    ],
  ] as const)('may not run each other in a cycle', async (files, circle, file) => {
    await expect(load(files)).rejects.toMatchObject({
      code: 'AGENT_CYCLE',
      message: `prompt files run each other in a cycle: ${circle}`,
      place: { file, line: 2 },
    })
  })
})
