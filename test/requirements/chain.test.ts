import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { textOf } from '../../src/event/message.ts'
import { createFakeProvider, type FakeProvider } from '../helpers/fake-model.ts'
import type { ModelRequest } from '../../src/model/provider.ts'
import { runPrompt } from '../../src/run/prompt-run.ts'
import { agentWorld, loadPromptFile } from '../helpers/agents.ts'
import { textIn } from '../helpers/messages.ts'
import { strategies } from '../../src/strategies/strategies.ts'
import type { TaskOutcome } from '../../src/run/strategy.ts'

interface Ran {
  readonly folder: string
  readonly delivered: readonly TaskOutcome[]
  readonly requests: readonly ModelRequest[]
  readonly sent: readonly { readonly type: string }[]
}

/** Runs a prompt file with real agents; the model repeats its instruction. */
async function run(files: { readonly [path: string]: string }, inputs: readonly string[] = []): Promise<Ran> {
  const provider: FakeProvider = createFakeProvider(({ messages }) => ({ text: [textIn(messages.at(-1))] }))
  const [file = ''] = Object.keys(files)
  const { folder, context } = agentWorld({ '.git/HEAD': 'x', ...files }, { provider })
  const target = await loadPromptFile(file, folder)
  const delivered: TaskOutcome[] = []
  await runPrompt({ strategies, target, inputs, onOutcome: (task) => delivered.push(task) }, context)
  return { folder, delivered, requests: provider.requests, sent: context.sent }
}

/** A script that notes a value as a line of JSON. */
function noting(expression: string): string {
  return `aip.file.append("notes", aip.json.stringify(${expression}) .. "\\n")\n`
}

function notes(folder: string): readonly unknown[] {
  const lines = readFileSync(join(folder, 'notes'), 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as unknown)
}

describe('the post stage', () => {
  it('runs once, after every task and its post_task agents, and sees all answers (R226)', async () => {
    const { folder, sent } = await run(
      {
        'ask.md':
          '+++\nsub_agents = [{ name = "each.lua", stage = "post_task" }, { name = "all.lua", stage = "post" }]\n+++\nHi\n',
        'each.lua': 'return { ai_response = input.ai_response.content .. " " .. input.input }',
        'all.lua': `local seen = {}
for i, response in ipairs(input.coder_responses) do seen[i] = response.content end
${noting('{ stage = input.coder_stage, seen = seen }')}`,
      },
      ['one', 'two'],
    )
    expect(notes(folder)).toEqual([{ stage: 'post', seen: ['Hi one', 'Hi two'] }])
    const order = sent.map(({ type }) => type)
    const post = sent.findIndex((event) => event.type === 'stage.started' && 'stage' in event && event.stage === 'post')
    expect(order.lastIndexOf('task.completed')).toBeGreaterThan(-1)
    expect(post).toBeGreaterThan(order.lastIndexOf('task.completed'))
  })
})

describe('the input of a sub-agent', () => {
  it('contains the absolute folder of the prompt file, wherever the run was started (R232)', async () => {
    const { folder } = await run({
      'prompts/deep/ask.md': '+++\nsub_agents = ["./a.lua"]\n+++\nHi\n',
      'prompts/deep/a.lua': noting('input.coder_prompt_dir'),
    })
    expect(notes(folder)).toEqual([join(folder, 'prompts/deep')])
  })

  it('is exactly one input, in every stage and for any number of tasks (R236)', async () => {
    const agent = [
      '# Before All',
      '',
      '```lua',
      noting('{ count = #inputs, stage = inputs[1].coder_stage }'),
      '```',
      '',
    ]
    const { folder } = await run(
      {
        'ask.md': '+++\nsub_agents = [{ name = "a.aip", stage = ["pre", "pre_task", "post_task", "post"] }]\n+++\nHi\n',
        'a.aip': agent.join('\n'),
      },
      ['one', 'two'],
    )
    const seen = notes(folder) as readonly { readonly count: number; readonly stage: string }[]
    expect(seen.map(({ stage }) => stage).toSorted()).toEqual([
      'post',
      'post_task',
      'post_task',
      'pre',
      'pre_task',
      'pre_task',
    ])
    expect(seen.map(({ count }) => count)).toEqual([1, 1, 1, 1, 1, 1])
  })

  it('starts with the front matter, and the instruction as its only segment (R248)', async () => {
    const { folder } = await run({
      'ask.md': '+++\nmodel = "m"\ntone = "dry"\nsub_agents = ["a.lua"]\n+++\n\nFirst.\n\nSecond.\n',
      'a.lua': noting('{ params = input.coder_params, prompts = input.coder_prompts }'),
    })
    expect(notes(folder)).toEqual([
      {
        params: { model: 'm', tone: 'dry', context_globs: [], structure_globs: [], knowledge_globs: [] },
        prompts: ['First.\n\nSecond.'],
      },
    ])
  })

  it('is read from the file before the first agent runs: what agents write there applies to the next run (R247)', async () => {
    const { folder, requests } = await run({
      'ask.md': '+++\nmodel = "before"\nsub_agents = ["a.lua", "b.lua"]\n+++\nOld.\n',
      'a.lua': 'aip.file.save("ask.md", "+++\\nmodel = \\"after\\"\\n+++\\nNew.\\n")',
      'b.lua': noting('{ model = input.coder_params.model, prompts = input.coder_prompts }'),
    })
    expect(notes(folder)).toEqual([{ model: 'before', prompts: ['Old.'] }])
    expect(requests.map(({ model, messages }) => [model, textIn(messages.at(-1))])).toEqual([['before', 'Old.']])
    expect(readFileSync(join(folder, 'ask.md'), 'utf8')).toContain('New.')
  })
})

describe('the result of a sub-agent', () => {
  const seen = noting('{ params = input.coder_params, prompts = input.coder_prompts }')
  const start = '+++\nmodel = "m"\ntone = "dry"\nsub_agents = ["a.lua", "b.lua"]\n+++\nHi\n'
  const lists = { context_globs: [], structure_globs: [], knowledge_globs: [] }

  it('replaces the params when it contains coder_params, and keeps them otherwise (R239)', async () => {
    const kept = await run({ 'ask.md': start, 'a.lua': 'return { coder_prompt = "Ho" }', 'b.lua': seen })
    expect(notes(kept.folder)).toEqual([{ params: { ...lists, model: 'm', tone: 'dry' }, prompts: ['Ho'] }])
    const replaced = await run({
      'ask.md': start,
      'a.lua': 'return { coder_params = { model = "other", level = 2 } }',
      'b.lua': seen,
    })
    expect(notes(replaced.folder)).toEqual([{ params: { ...lists, model: 'other', level: 2 }, prompts: ['Hi'] }])
    expect(replaced.requests.map(({ model }) => model)).toEqual(['other'])
  })

  it('removes keys and segments that a replacement omits, for later agents and the model (R241)', async () => {
    const { folder, requests } = await run({
      'ask.md': '+++\nmodel = "m"\ntone = "dry"\nsub_agents = ["more.lua", "less.lua", "b.lua"]\n+++\nHi\n',
      'more.lua': 'return { coder_prompts_append = { "and", "more" } }',
      'less.lua': 'return { coder_prompts = { input.coder_prompts[3] }, coder_params = { level = 1 } }',
      'b.lua': seen,
    })
    expect(notes(folder)).toEqual([{ params: { ...lists, level: 1 }, prompts: ['more'] }])
    expect(requests.map(({ messages }) => textIn(messages.at(-1)))).toEqual(['more'])
    expect(requests.map(({ model }) => model)).not.toContain('m')
  })

  it('determines which files are listed and whether they may be changed (R257)', async () => {
    const files = {
      'ask.md': '+++\nwrite_mode = true\ncontext_globs = ["a.txt"]\nsub_agents = ["p.lua"]\n+++\nHi\n',
      'a.txt': 'alpha\n',
      'b.txt': 'beta\n',
    }
    const shown = ({ requests }: Ran): string => (requests[0]?.messages ?? []).map(textOf).join('\n')
    const writing = shown(await run({ ...files, 'p.lua': 'return nil' }))
    expect(writing).toContain('FILE_CHANGES')
    expect(writing).toContain('alpha')
    const reading = shown(
      await run({
        ...files,
        'p.lua': 'return { coder_params_patch = { context_globs = { "b.txt" }, write_mode = false } }',
      }),
    )
    expect(reading).not.toContain('FILE_CHANGES')
    expect(reading).toContain('beta')
    expect(reading).not.toContain('alpha')
  })
})
