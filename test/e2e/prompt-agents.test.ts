import { expect, it } from 'vitest'
import { baton, type BatonResult, jsonLines, snapshot } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

interface Ran extends BatonResult {
  readonly files: Readonly<Record<string, string>>
  readonly requests: readonly { readonly model: string; readonly messages: readonly string[] }[]
}

interface Start {
  readonly files: { readonly [path: string]: string }
  /** Answers by the last message; any other message is answered with itself in brackets. */
  readonly answers?: { readonly [message: string]: string }
}

/** Runs the command in a folder with these files. */
async function run({ files, answers = {} }: Start, ...args: readonly string[]): Promise<Ran> {
  const folder = tempTree({ '.git/HEAD': 'ref: refs/heads/main\n', 'baton.toml': 'model = "m"\n', ...files })
  const server = await startModelServer(({ body }) => {
    const last = body?.messages.at(-1)?.content ?? ''
    return { text: answers[last] ?? `[${last}]` }
  })
  try {
    const env = { BATON_GATEWAY_URL: server.url, BATON_GATEWAY_KEY: 'the-key-of-a-test' }
    const result = await baton(args, { cwd: folder, env })
    const requests = server.requests.map(({ body }) => ({
      model: body?.model ?? '',
      messages: body?.messages.map(({ content }) => content) ?? [],
    }))
    return { ...result, files: snapshot(folder), requests }
  } finally {
    await server.close()
  }
}

it('runs prompt files as sub-agents, whose answers are used as their entries say; only the main answer is printed', async () => {
  const files = {
    'ask.md': `+++
tone = "dry"
sub_agents = [
  { name = "prompts/tone.md", as = "params" },
  { name = "prompts/plan.md", options = { model = "planner" } },
  "show.lua",
  { name = "prompts/review.md", stage = "post_task" },
  { name = "report.lua", stage = "post" },
]
+++
Rewrite it.
`,
    'prompts/tone.md': '+++\nmodel = "own"\nsub_agents = ["./brief.lua"]\n+++\nWhich tone?\n',
    'prompts/brief.lua': 'return { coder_prompts_append = "As TOML." }',
    'prompts/plan.md': 'Plan it.\n\n====\n\n> its own transcript\n',
    'prompts/review.md': 'Is it right?\n',
    'show.lua': 'return { coder_prompts_append = "Tone: " .. input.coder_params.tone }',
    'report.lua': 'aip.file.save("review.txt", input.coder_responses[1].agent_result)',
  }
  const answers = { 'Which tone?\n\nAs TOML.': '```toml\ntone = "calm"\n```' }
  const ran = await run({ files, answers }, 'ask.md', '-m', 'main')
  expect(ran.stderr).toMatch(/^1 file changed · .*\n$/)
  expect(ran.code).toBe(0)
  expect(ran.stdout).toBe('[Rewrite it.\n\n[Plan it.]\n\nTone: calm]\n')
  expect(ran.requests.map(({ model }) => model)).toEqual(['own', 'planner', 'main', 'm'])
  expect(ran.requests[1]?.messages.slice(1)).toEqual(['# Input\n\nRewrite it.', 'Plan it.'])
  expect(ran.requests[3]?.messages.at(-2)).toContain('<answer lines="5">\n[Rewrite it.')
  expect(ran.files['review.txt']).toBe('[Is it right?]')
  expect(ran.files['prompts/plan.md']).toBe(files['prompts/plan.md'])
})

it('lets -c set the model of all agents that name none themselves', async () => {
  const aip = '# Options\n\n```toml\nOPTIONS\n```\n\n# User\n\nNAME\n\n# Output\n\n```lua\nreturn nil\n```\n'
  const script = (name: string, options = ''): string => aip.replace('OPTIONS', options).replace('NAME', name)
  const files = {
    'baton.toml': '',
    'ask.md': '+++\nmodel = "main"\nsub_agents = ["a.aip", "own.aip", "b.md", "call.lua"]\n+++\nHi\n',
    'a.aip': script('a'),
    'own.aip': script('own', 'model = "own"'),
    'b.md': '+++\nsub_agents = ["deep/c.aip"]\n+++\nB\n',
    'deep/c.aip': script('c'),
    'call.lua': 'aip.agent.run("d.aip")\naip.agent.run("b.md", { input = "x" })',
    'd.aip': script('d'),
  }
  const ran = await run({ files }, 'ask.md', '-c', 'model=run')
  expect(ran.stderr).toBe('')
  expect(ran.requests.map(({ model }) => model)).toEqual(['run', 'own', 'run', 'run', 'run', 'run', 'run', 'run'])
  const flag = await run({ files: { ...files, 'call.lua': '' } }, 'a.aip', '-c', 'model=run')
  expect(flag.requests.map(({ model }) => model)).toEqual(['run'])
})

it('lets an agent answer in place of the main one, once for each task', async () => {
  const files = {
    'ask.md': '+++\nagent = "answer.aip"\nsub_agents = [{ name = "sign.lua", stage = "post_task" }]\n+++\nExplain.\n',
    'answer.aip': `# User

{{input.instruction}} {{input.input}}

# Output

\`\`\`lua
return { content = ai_response.content, author = "x" }
\`\`\`
`,
    'sign.lua': 'return { ai_response = input.ai_response.content .. " by " .. input.ai_response.author }',
  }
  const ran = await run({ files }, 'ask.md', '-i', 'one', '-i', 'two', '--json')
  expect(ran.code).toBe(0)
  const answers = jsonLines(ran.stdout).filter(({ type }) => type === 'answer')
  expect(answers.map(({ text }) => String(text).trim().replaceAll(/\s+/g, ' '))).toEqual([
    '[ Explain. one ] by x',
    '[ Explain. two ] by x',
  ])
  expect(jsonLines(ran.stdout).at(-1)).toMatchObject({ type: 'run.completed', usage: { calls: 2 } })
})

it('lets a prompt file answer for another, with the model of the file that is run', async () => {
  const files = {
    'ask.md': '+++\nagent = "expert.md"\nmodel = "wanted"\n+++\nExplain.\n',
    'expert.md': '+++\nmodel = "own"\n+++\nYou know it all. Answer the input.\n',
  }
  const ran = await run({ files }, 'ask.md')
  expect(ran.stdout).toBe('[You know it all. Answer the input.]\n')
  expect(ran.requests).toMatchObject([{ model: 'wanted' }])
  expect(ran.requests[0]?.messages[1]).toBe('# Input\n\nExplain.')
})

it('runs prompt files from scripts without printing their answers', async () => {
  const files = {
    'all.lua': `
local result = aip.agent.run("ask.md", { inputs = { "one", "two" } })
print(table.concat(result.outputs, " + "))
`,
    'ask.md': '+++\ntemplate = true\n+++\nSay {{input}}.\n',
  }
  const ran = await run({ files }, 'all.lua')
  expect(ran.stderr).toBe('')
  expect(ran.stdout).toBe('[Say one.] + [Say two.]\n')
})

it('reports errors in a prompt file before anything runs, at their place', async () => {
  const files = {
    'ask.md': '+++\nsub_agents = ["a.md"]\n+++\nHi\n',
    'a.md': '+++\nsub_agents = [{ name = "ask.md" }]\n+++\nHi\n',
  }
  const ran = await run({ files }, 'ask.md')
  expect(ran.code).toBe(2)
  expect(ran.stderr).toContain('error: prompt files run each other in a cycle: ask.md → a.md → ask.md')
  expect(ran.stderr).toContain('at a.md:2:')
  expect(ran.requests).toEqual([])
  expect((await run({ files }, 'check', 'ask.md')).code).toBe(2)
})
