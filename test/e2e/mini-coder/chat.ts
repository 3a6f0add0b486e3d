import { expect, it } from 'vitest'
import { aip } from '../../helpers/agents.ts'
import { createWorld, type WorldOptions } from './world.ts'

const chat = `# System

Be brief.

# Assistant

I will be.

# Instruction

{{input}}
`

const files = {
  '.aipack/config.toml': '[options]\nmodel = "talk-high"\n\n[options.model_aliases]\ntalk = "mock-chat"\n',
  'agents/chat.aip': chat,
  'agents/on-file.aip': `# Data

\`\`\`lua
return { file = aip.file.load(input.path) }
\`\`\`

# User

\`\`\`\`rust
{{data.file.content}}
\`\`\`\`

# Output

\`\`\`lua
local code = aip.md.outer_block_content_or_raw(ai_response.content)
aip.file.save(input.path, code)
return "saved " .. input.name
\`\`\`
`,
  'agents/parent.aip': aip({
    Output: 'return "child said " .. tostring(aip.agent.run("chat", { input = "hi" }).outputs[1])',
  }),
  'other/hello.txt': 'fn hello() {}\n',
}

/** P13: roles, files as inputs, dry runs. */
export function chatScenarios(engine: WorldOptions['engine']): void {
  it('sends the roles in file order, uses an alias with an effort, and prints the answer', async () => {
    const run = await createWorld(files, { engine }).run(['agents/chat', '-i', 'Why is the sky blue?'], {
      'mock-chat': 'SKY',
    })
    expect(run.stderr).toBe('')
    expect(run.stdout).toBe('SKY\n')
    expect(run.code).toBe(0)
    expect(run.asked).toHaveLength(1)
    expect(run.asked[0]?.messages.map(({ role, content }) => [role, String(content).trim()])).toEqual([
      ['system', 'Be brief.'],
      ['assistant', 'I will be.'],
      ['user', 'Why is the sky blue?'],
    ])
    expect(run.asked[0]?.body).toMatchObject({ model: 'mock-chat', reasoning_effort: 'high' })
  })

  it('asks no model with --dry req, also in child agents', async () => {
    const world = createWorld(files, { engine })
    const run = await world.run(['agents/chat', '-i', 'x', '--dry', 'req'], { 'mock-chat': 'SKY' })
    expect([run.code, run.asked, run.stdout]).toEqual([0, [], ''])
    const parent = await world.run(['agents/parent', '--dry', 'req'], { 'mock-chat': 'SKY' })
    expect([parent.code, parent.asked, parent.stdout]).toEqual([0, [], 'child said nil\n'])
  })

  it('omits the answer with --dry res', async () => {
    const run = await createWorld(files, { engine }).run(['agents/chat', '-i', 'x', '--dry', 'res'], {
      'mock-chat': 'SKY',
    })
    expect([run.code, run.asked.length, run.stdout]).toEqual([0, 1, ''])
  })

  it('passes files as inputs and preserves fences of four backticks in a prompt', async () => {
    const world = createWorld(files, { engine })
    const run = await world.run(['agents/on-file', '-f', 'other/hello.txt'], { 'mock-chat': '```rust\n// fixed\n```' })
    expect(run.stderr).toMatch(/^1 file changed · .*\n$/)
    expect(run.stdout).toBe('saved hello.txt\n')
    expect(String(run.asked[0]?.messages[0]?.content).trim()).toBe('````rust\nfn hello() {}\n\n````')
    expect(world.read('other/hello.txt')).toBe('// fixed\n')
  })

  it('runs Output without an answer with --dry req, so one that needs it fails', async () => {
    const world = createWorld(files, { engine })
    const run = await world.run(['agents/on-file', '-f', 'other/hello.txt', '--dry', 'req'])
    expect(run.code).toBe(1)
    expect(run.asked).toEqual([])
    expect(run.stderr).toMatch(/attempt to index a nil value \((?:global|upvalue|local|field) 'ai_response'\)/)
    expect(world.read('other/hello.txt')).toBe('fn hello() {}\n')
  })
}
