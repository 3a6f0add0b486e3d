import { describe, expect, it } from 'vitest'
import { shapesOf } from '../../src/plan/planner.ts'
import { planTree } from '../../src/plan/text.ts'
import { strategies } from '../../src/strategies/strategies.ts'
import { createPaint } from '../../src/render/style.ts'
import { allRights, type ToolFilter, type ToolRule } from '../../src/event/permission.ts'
import { planTools } from '../../src/plan/tools.ts'
import { toolRules } from '../../src/tool/rule-list.ts'
import { planIn, workspaceOf } from './helpers.ts'

const paint = createPaint({ env: {}, isTerminal: false })

/** The lines of a plan that name tools, and the parts that a test checks. */
async function planned(files: Readonly<Record<string, string>>, file = 'ask.md') {
  const folder = workspaceOf(files)
  const plan = await planIn(folder, { file })
  const shapes = await shapesOf(strategies)
  const lines = planTree(plan.target, {
    paint,
    limits: plan.limits,
    linesOf: (answer, options) => shapes.get(answer.by)?.lines(answer, options) ?? [],
  })
  return { lines: lines.map((line) => line.trim()).filter((line) => line.startsWith('tools')), plan }
}

const prompt = (keys: string): string => `+++\nmodel = "gpt-5-mini"\n${keys}\n+++\nLook.\n`

describe('the plan of a file with tools', () => {
  it('shows the tools of a mode that offers none as functions of its programs, as many as the model writes', async () => {
    const code = 'mode = "code"\ntools = ["todo", "read"]'
    const folder = workspaceOf({
      'ask.md': prompt(code),
      'step.md': `+++\nmodel = "gpt-5-mini"\n${code}\n[[workflow.step]]\nid = "a"\ninstructions = "Look."\n+++\n`,
      'none.md': prompt('mode = "code"'),
      'a.aip': `# Options\n\n\`\`\`toml\nmodel = "gpt-5-mini"\n${code}\n\`\`\`\n\n# User\n\nLook.\n`,
    })
    const shapes = await shapesOf(strategies)
    const functions = [expect.objectContaining({ name: 'read' }), expect.objectContaining({ name: 'todo' })]
    const given = { tools: [], functions: expect.arrayContaining(functions) }
    for (const [file, part] of [
      ['ask.md', { answer: given }],
      ['step.md', { answer: { steps: [given] } }],
      ['a.aip', given],
    ] as const) {
      const plan = await planIn(folder, { file })
      expect(plan.target).toMatchObject(part)
      const lines = planTree(plan.target, {
        paint,
        limits: plan.limits,
        linesOf: (answer, options) => shapes.get(answer.by)?.lines(answer, options) ?? [],
      }).join('\n')
      expect(lines).toMatch(/functions of programs {2}(?:read · todo|todo · read)/)
      expect(lines).not.toMatch(/\btools {2}/)
    }
    expect((await planIn(folder, { file: 'none.md' })).total.requests).toMatchObject({ as_written: 1, at_most: null })
  })

  it('says what calls of each tool need, or why it is not offered', async () => {
    const rules = '[permission.webfetch]\n"secret.example" = "deny"\n'
    const all = prompt('write_mode = false\ntools = ["todo", "webfetch", "read"]\ndisallowed_tools = ["read"]')
    const { lines, plan } = await planned({ 'ask.md': all, 'baton.toml': rules })
    expect(lines).toEqual(['tools  todo · webfetch (ask, 1 rule by pattern) · not offered: read (disallowed_tools)'])
    expect(plan.target).toMatchObject({
      answer: {
        tools: expect.arrayContaining([
          { name: 'todo', permission: 'allow', patterns: 0, not_offered: null },
          { name: 'webfetch', permission: 'ask', patterns: 1, not_offered: null },
        ]),
      },
    })
    const denied = await planned({
      'ask.md': prompt('tools = ["todo"]'),
      'baton.toml': '[permission]\ntodo = "deny"\n',
    })
    expect(denied.lines).toEqual([
      expect.stringMatching(/^tools {2}not offered: todo \(\[permission\] todo = "deny" \(.*baton\.toml:2\)\)$/),
    ])
    expect((await planned({ 'ask.md': prompt('') })).lines).toEqual([])
  })

  it('includes the descriptions of the agents that a model may start, and names the first ones of many', async () => {
    const tokens = async (agents: Readonly<Record<string, string>>) => {
      const { lines, plan } = await planned({ 'ask.md': prompt('tools = ["task"]'), ...agents })
      return { lines, input: plan.total.input_tokens.as_written }
    }
    const agent = `+++\ndescription = "${'looks '.repeat(100)}"\n+++\nLook.\n`
    const [none, one] = [await tokens({}), await tokens({ 'agents/looker.md': agent })]
    expect(one.input - none.input).toBeGreaterThan(150)
    const names = Array.from({ length: 40 }, (_, index) => [`agents/a${index}.md`, agent])
    const [line] = (await tokens(Object.fromEntries(names))).lines
    expect(line).toMatch(/task \(starts Bash, .*, a\d+, and 14 more\)/)
  })

  it('reports a missing sandbox once, as a run would', async () => {
    const noted = async (files: Readonly<Record<string, string>>): Promise<readonly string[]> =>
      (await planned(files)).plan.notes.filter((note) => note.includes('sandbox'))
    const missing = 'there is no sandbox for "read-only": bwrap not found'
    expect(await noted({ 'ask.md': prompt('tools = ["bash"]') })).toEqual([missing])
    expect(await noted({ 'ask.md': prompt('[sandbox]\nscripts = true') })).toEqual([missing])
    const agent = '# Options\n\n```toml\ntools = ["*"]\n```\n\n# User\n\nLook.\n'
    const chain = prompt('tools = ["*"]\nsub_agents = ["a.aip"]')
    expect(await noted({ 'ask.md': chain, 'a.aip': agent })).toEqual([`bash is not offered to models: ${missing}`])
    expect(await noted({ 'ask.md': prompt('tools = ["read"]') })).toEqual([])
  })

  it('includes the tools of agents, which have at most those of their caller', async () => {
    const agent = '# Options\n\n```toml\ntools = ["todo", "webfetch"]\n```\n\n# User\n\nLook.\n'
    expect((await planned({ 'a.aip': agent }, 'a.aip')).lines).toEqual(['tools  todo · webfetch (ask)'])
    const chain = prompt('tools = ["todo"]\nsub_agents = ["a.aip"]')
    expect((await planned({ 'ask.md': chain, 'a.aip': agent })).lines.length).toBe(2)
  })

  it('includes the tools of workflow steps, and that a file gives its agents no others', async () => {
    const steps = [
      '[permission]\ngrep = "deny"',
      '[[workflow.step]]\nid = "one"\ninstructions = "Look."',
      '[[workflow.step]]\nid = "two"\nagent = "child.md"',
      '[[workflow.step]]\nid = "three"\nagent = "a.aip"',
    ]
    const { lines, plan } = await planned({
      'ask.md': prompt(`tools = ["read", "todo", "grep"]\n${steps.join('\n')}`),
      'child.md': prompt('tools = ["read", "webfetch"]'),
      'a.aip': '# Options\n\n```toml\ntools = ["todo"]\n```\n\n# User\n\nLook.\n',
    })
    expect(lines).toEqual([
      'tools  read · todo · not offered: grep ([permission] grep = "deny" (ask.md:5))',
      'tools  read · not offered: webfetch (the file that runs it does not have it)',
      'tools  todo',
    ])
    expect(plan.target).toMatchObject({
      answer: { steps: [{ id: 'one', tools: [{ name: 'read' }, { name: 'grep' }, { name: 'todo' }] }, {}, {}] },
    })
  })

  it('includes the descriptions of tools, and says that the number of model calls is unknown', async () => {
    const without = (await planned({ 'ask.md': prompt('') })).plan.total
    const { total } = (await planned({ 'ask.md': prompt('tools = ["todo"]') })).plan
    expect(total.input_tokens.as_written).toBeGreaterThan(without.input_tokens.as_written)
    expect(without.requests.at_most).not.toBeNull()
    expect(total.requests).toMatchObject({ at_least: 1, as_written: 1, at_most: null })
  })
})

describe('the plan of a file with tools of servers', () => {
  const rules = (...own: readonly ToolRule[]) => [toolRules(own)]
  const planned = (filter: ToolFilter, own: readonly ToolRule[] = [], tools?: readonly ToolFilter[]) => {
    const rights = { ...allRights, rules: rules(...own), ...(tools && { tools }) }
    const folders = { workspace: '/nowhere', cwd: '/nowhere', packRoots: [] }
    return planTools(filter, { names: ['github', 'docs'] }, { scope: { rights, folders }, services: {} })
  }

  it('names servers by the names in the file', async () => {
    expect(await planned({ tools: ['github__*', 'mcp__docs__search'] })).toEqual([
      { name: 'github__*', permission: 'ask', patterns: 0, not_offered: null },
      { name: 'docs__search', permission: 'ask', patterns: 0, not_offered: null },
    ])
    expect((await planned({ tools: ['todo', 'mcp__*'] })).map(({ name }) => name)).toEqual([
      'todo',
      'github__*',
      'docs__*',
    ])
  })

  it('says what calls need, how many rules apply to some of them, and why none is offered', async () => {
    const rule = (tool: string, effect: ToolRule['effect'], pattern?: string): ToolRule => {
      return { tool, effect, origin: 'baton.toml:3', ...(pattern && { pattern }) }
    }
    const own = [rule('mcp', 'allow', 'github__*'), rule('github__create_*', 'ask'), rule('docs__*', 'deny')]
    expect(await planned({ tools: ['*__*'] }, own)).toEqual([
      { name: 'github__*', permission: 'allow', patterns: 1, not_offered: null },
      {
        name: 'docs__*',
        permission: 'deny',
        patterns: 0,
        not_offered: '[permission] "docs__*" = "deny" (baton.toml:3)',
      },
    ])
    const reasons = async (filter: ToolFilter, tools?: readonly ToolFilter[]) =>
      (await planned(filter, [], tools)).map(({ not_offered: reason }) => reason)
    expect(await reasons({ tools: ['docs__a'], disallowed_tools: ['docs__*'] })).toEqual(['disallowed_tools'])
    expect(await reasons({ tools: ['docs__*'] }, [{ tools: ['todo'] }])).toEqual([
      'the file that runs it does not have it',
    ])
  })
})
