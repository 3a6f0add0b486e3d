import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { readRun } from '../../src/journal/source.ts'
import { baton, jsonLines } from '../helpers/baton.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

const files = {
  '.git/HEAD': 'ref: refs/heads/main\n',
  'src/a.txt': 'alpha\n',
  'src/b.txt': 'beta\n',
  'ask.md': `+++
model = "mock-coder"
temperature = 0.5
audience = "experts"
context_globs = ["src/*.txt"]
sub_agents = [
  { name = "agents/plan.aip", stage = "pre", tone = "calm" },
  { name = "agents/each.lua", stage = "pre_task" },
  { name = "agents/sign.aip", stage = "post_task" },
  { name = "agents/report.lua", stage = "post" },
]
+++
Say what this is.
`,
  'agents/plan.aip': `# Before All

\`\`\`lua
return aip.flow.before_all_response({ before_all = "planned" })
\`\`\`

# Output

\`\`\`lua
print("stage " .. input.coder_stage .. " tone " .. input.agent_config.tone)
return {
  coder_params_patch = { temperature = 0.25, audience = null, plan = before_all },
  coder_prompts_append = "Follow the plan.",
}
\`\`\`
`,
  'agents/each.lua': `
return {
  coder_prompt = input.coder_prompt .. "\\n\\nInput: " .. input.input .. " (" .. (input.task.index + 1) .. "/" .. input.task.count .. ", plan " .. input.coder_params.plan .. ")",
}
`,
  'agents/sign.aip': `# Output

\`\`\`lua
return { ai_response = input.ai_response.content .. " -- signed by " .. input.task.label, agent_result = { task = input.task.index } }
\`\`\`
`,
  'agents/report.lua': `
local parts = {}
for i, response in ipairs(input.coder_responses) do parts[i] = response.content .. "#" .. response.agent_result.task end
aip.file.save("out/report.txt", table.concat(parts, "\\n"))
return { agent_result = #parts }
`,
}

interface Run {
  readonly events: readonly Record<string, unknown>[]
  readonly code: number | null
  readonly requests: readonly {
    readonly model: string
    readonly messages: readonly { readonly role: string; readonly content: string }[]
    readonly [key: string]: unknown
  }[]
  readonly records: readonly Record<string, unknown>[]
  readonly stderr: string
}

async function runOnce(): Promise<Run> {
  const folder = tempTree(files)
  const server = await startModelServer((request) => ({
    text: `answer to ${String(request.body?.messages.at(-1)?.content.match(/Input: (\w+)/)?.[1])}`,
  }))
  try {
    const run = await baton(['run', 'ask.md', '--json', '-i', 'one', '-i', 'two', '-i', 'three'], {
      cwd: folder,
      env: { BATON_GATEWAY_URL: server.url, BATON_GATEWAY_KEY: 'a-key-that-must-not-leak' },
    })
    const runs = join(run.home, 'state/runs')
    const [workspace = ''] = readdirSync(runs)
    const [id = ''] = readdirSync(join(runs, workspace))
    const records: Record<string, unknown>[] = []
    for await (const reading of readRun(join(runs, workspace, id))) {
      if (reading.type === 'unknown' && reading.record.k === 'seal') continue
      expect(reading.type).toBe('record')
      if (reading.type === 'record') records.push({ ...reading.record })
    }
    return {
      events: jsonLines(run.stdout),
      code: run.code,
      stderr: run.stderr,
      requests: server.requests.map(({ body }) => body!),
      records,
    }
  } finally {
    await server.close()
  }
}

let run: Run
beforeAll(async () => {
  run = await runOnce()
})

function eventsOf(type: string): readonly Record<string, unknown>[] {
  return run.events.filter((event) => event['type'] === type)
}

it('exits 0 with one first and one last event', () => {
  expect(run.stderr).toBe('')
  expect(run.code).toBe(0)
  expect(run.events[0]).toMatchObject({ type: 'run.started', schema: 1, seq: 0, file: 'ask.md' })
  expect(run.events.at(-1)).toMatchObject({ type: 'run.completed', exit_code: 0, stop_reason: 'done' })
  expect(run.events.map(({ seq }) => seq)).toEqual(run.events.map((_, index) => index))
  expect(eventsOf('run.completed')).toHaveLength(1)
})

it('passes state down the chain to the model', () => {
  expect(run.requests).toHaveLength(3)
  const last = run.requests.map(({ messages }) => messages.at(-1)?.content).toSorted()
  expect(last).toEqual([
    'Say what this is.\n\nFollow the plan.\n\nInput: one (1/3, plan planned)',
    'Say what this is.\n\nFollow the plan.\n\nInput: three (3/3, plan planned)',
    'Say what this is.\n\nFollow the plan.\n\nInput: two (2/3, plan planned)',
  ])
  for (const request of run.requests) {
    expect(request).toMatchObject({ model: 'mock-coder', temperature: 0.25, stream: true })
    expect(request.messages.map(({ role }) => role)).toEqual(['system', 'user', 'user'])
    expect(request.messages[1]?.content).toContain('<file path="src/a.txt" lines="1">\nalpha\n</file>')
  }
})

it('returns the answers after post_task, in input order', () => {
  expect(eventsOf('answer').map(({ index, text }) => [index, text])).toEqual([
    [0, 'answer to one -- signed by one'],
    [1, 'answer to two -- signed by two'],
    [2, 'answer to three -- signed by three'],
  ])
  expect(run.events.at(-1)).toMatchObject({
    outputs: ['answer to one -- signed by one', 'answer to two -- signed by two', 'answer to three -- signed by three'],
  })
})

it('shows every step as an event', () => {
  expect(
    eventsOf('stage.started')
      .map(({ stage }) => stage)
      .toSorted(),
  ).toEqual(['post', 'post_task', 'post_task', 'post_task', 'pre', 'pre_task', 'pre_task', 'pre_task'])
  expect(eventsOf('agent.started').map(({ agent }) => agent)).toEqual(
    expect.arrayContaining([
      'pre/0:agents%2Fplan.aip',
      'task/0/pre_task/0:agents%2Feach.lua',
      'task/2/ask',
      'task/1/post_task/0:agents%2Fsign.aip',
      'post/0:agents%2Freport.lua',
    ]),
  )
  expect(eventsOf('print')).toMatchObject([{ text: 'stage pre tone calm', name: 'agents/plan.aip' }])
  expect(eventsOf('file.changed')).toMatchObject([{ op: 'write', path: 'out/report.txt' }])
  expect(eventsOf('usage')).toHaveLength(3)
  expect(eventsOf('task.completed')).toHaveLength(3)
})

it('records every effect and boundary in the journal', () => {
  const kinds = (kind: string): readonly Record<string, unknown>[] => run.records.filter(({ k }) => k === kind)
  expect(kinds('run.start')).toHaveLength(1)
  expect(kinds('run.end')).toMatchObject([{ exit: 0, stop: 'done' }])
  const models = kinds('started').filter(({ kind }) => kind === 'model')
  expect(models.map(({ p }) => p).toSorted()).toEqual([
    'task/0/agent/ask/turn/0#0',
    'task/1/agent/ask/turn/0#0',
    'task/2/agent/ask/turn/0#0',
  ])
  expect(kinds('ended').filter(({ kind }) => kind === 'model')).toHaveLength(3)
  expect(kinds('started').filter(({ kind }) => kind === 'file')).toMatchObject([
    { p: 'post/0:agents%2Freport.lua/chunk#0' },
  ])
  expect(kinds('done').map(({ p }) => p)).toEqual(
    expect.arrayContaining([
      'pre/0:agents%2Fplan.aip/before_all',
      'pre/0:agents%2Fplan.aip/output',
      'pre/0:agents%2Fplan.aip',
      'task/2/pre_task/0:agents%2Feach.lua/chunk',
      'task/0',
      'post/0:agents%2Freport.lua',
    ]),
  )
  expect(kinds('source').map(({ name }) => name)).toEqual(
    expect.arrayContaining(['prompt', 'config', 'agents/plan.aip', 'agents/report.lua']),
  )
  expect(JSON.stringify(run.records)).not.toContain('a-key-that-must-not-leak')
})
