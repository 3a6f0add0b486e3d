import { expect, it } from 'vitest'
import { aip } from '../../helpers/agents.ts'
import { createWorld, promptFile, promptText, type WorldOptions } from './world.ts'

const refine = `
aip.file.save("dump-" .. input.stage .. ".json", aip.json.stringify_pretty(input))
if input.stage == "pre" then
  return {
    coder_prompt = input.coder_prompt .. "\\n\\nREFINED",
    coder_params = { structure_globs = { "*.txt" }, auto_context = "never", nothing = null },
    agent_result = { found = 1, nothing = null },
    agent_on = { "start", "end" },
    emit_events = { "refine::done" },
  }
end
return { coder_redo = input.coder_redo_count < 2 }`

const pipeline = {
  'a.txt': 'x',
  'agents/nothing.aip': aip({ Output: 'return nil' }),
  'agents/refine.aip': aip({ Output: refine }),
  'agents/listener.aip': aip({
    Data: 'return { event = input.event, before = #input.sub_agents_prev, behind = #input.sub_agents_next }',
    Output: 'aip.file.append("events.log", data.event .. ":" .. data.before .. ":" .. data.behind .. "\\n")',
    'After All': 'return { success = true, agent_result = null }',
  }),
  'agents/skipper.aip': aip({ Data: 'return aip.flow.skip("not today")' }),
  'agents/bad.aip': aip({ Output: 'return "a text"' }),
  [promptFile]: promptText(
    `model: mock
sub_agents:
  - agents/nothing.aip
  - name: agents/refine.aip
    flavour: mild
    options: { model: other }
  - name: agents/listener.aip
    on: ["start", "refine::done", "workbench::done", "end"]
  - name: agents/skipper.aip
  - { name: agents/bad.aip, enabled: false }`,
    'Do it.',
  ),
}

/** P04, and the sub-agents of P10. */
export function chainScenarios(engine: WorldOptions['engine']): void {
  it('runs agents by their events, passes state from one to the next, and repeats everything on request', async () => {
    const world = createWorld(pipeline, { engine })
    const run = await world.run(['mini@coder'], { mock: 'No change.' })

    expect(run.stderr).not.toContain('error')
    expect(run.code).toBe(0)
    expect(run.asked.map(({ model }) => model)).toEqual(['mock', 'mock', 'mock'])
    for (const { text } of run.asked) {
      expect(text).toContain('Do it.\n\nREFINED')
      expect(text).toContain('- a.txt')
    }
    expect(world.read('events.log')).toBe('start:2:2\nrefine::done:2:2\nworkbench::done:0:2\nend:1:2\n'.repeat(3))
    const dump = JSON.parse(world.read('dump-post.json')) as Record<string, unknown>
    expect(dump).toMatchObject({
      stage: 'post',
      event: 'end',
      coder_redo_count: 2,
      coder_params: { structure_globs: ['*.txt'], nothing: null },
      agent_config: { flavour: 'mild', on: ['start', 'end'] },
      coder_responses: [{ content: 'No change.' }],
    })
    expect(dump['coder_params']).not.toHaveProperty('auto_context')
    expect(world.read('dump-post.json')).toMatch(/"coder_redo_count": 2[,\n]/)
  })

  it('stops repeating at the limit of the pack', async () => {
    const world = createWorld(
      {
        'agents/again.aip': aip({ Output: 'return { coder_redo = true }' }),
        [promptFile]: promptText('model: mock\nsub_agents: [{ name: agents/again.aip, on: end }]', 'Go.'),
      },
      { engine },
    )
    const run = await world.run(['mini@coder'], { mock: 'No change.' })
    expect(run.code).toBe(0)
    expect(run.asked).toHaveLength(4)
    expect(run.stderr).toContain('stopped after 3 more rounds')
  })

  it('lets an agent change which agents follow it', async () => {
    const world = createWorld(
      {
        'agents/plan.aip': aip({
          Output: `
local names = {}
for i, agent in ipairs(input.sub_agents_next) do names[i] = agent.name end
return { sub_agents_next = { "agents/new.aip" }, agent_result = table.concat(names, ",") }`,
        }),
        'agents/new.aip': aip({
          Output:
            'return { coder_prompt = input.coder_prompt .. " before: " .. input.sub_agents_prev[1].agent_result }',
        }),
        'agents/old.aip': aip({ Output: 'error("it was replaced")' }),
        [promptFile]: promptText('model: mock\nsub_agents: [agents/plan.aip, agents/old.aip]', 'Go.'),
      },
      { engine },
    )
    const run = await world.run(['mini@coder'], { mock: 'No change.' })
    expect(run.asked[0]?.text).toContain('Go. before: agents/old.aip')
    expect(run.code).toBe(0)
  })

  it('passes an agent the options of the request, overridden by those of its entry', async () => {
    const world = createWorld(
      {
        '.aipack/config.toml': '[options]\nmodel = "mini-default"\n[options.model_aliases]\nswift = "fast-model"\n',
        'agents/show.aip': aip({
          Options: 'model = "own"',
          Output:
            'print(input.agent_config.name_it, options.model, options.resolved_model, tostring(options.temperature))',
        }),
        [promptFile]: promptText(
          `model: swift-low
temperature: 0.5
sub_agents:
  - { name: agents/show.aip, name_it: first }
  - { name: agents/show.aip, name_it: second, options: { model: swift-high, temperature: 0 } }
  - { name: agents/show.aip, name_it: third, on: end }`,
          'Go.',
        ),
      },
      { engine },
    )
    const run = await world.run(['mini@coder'], { 'fast-model': 'No change.' })
    expect(run.code).toBe(0)
    expect(run.stdout).toContain('first\nswift-low\nfast-model-low\n0.5\n')
    expect(run.stdout).toMatch(/second\nswift-high\nfast-model-high\n0(?:\.0)?\n/)
    expect(run.stdout).toContain('third\nown\nown\nnil\n')
    expect(run.asked[0]?.body).toMatchObject({ model: 'fast-model', temperature: 0.5, reasoning_effort: 'low' })
  })

  it.each([
    ['failure', 'return { success = false, error_msg = "boom", error_details = "why" }', 'failed: boom\nDetails: why'],
    ['failure without a message', 'return { success = false }', 'failed: Unknown error'],
    ['text', 'return "a text"', 'must answer a table or nil, but answered a string'],
  ])('skips the run for the %s of an agent', async (_, code, reason) => {
    const files = {
      'agents/one.aip': aip({ Output: code }),
      [promptFile]: promptText('model: mock\nsub_agents: [agents/one.aip]', 'Go.'),
    }
    const run = await createWorld(files, { engine }).run(['mini@coder'])
    expect(run.said).toContain(`Sub-agent [agents/one.aip] ${reason}`)
    expect(run.asked).toEqual([])
    expect(run.code).toBe(0)
  })

  it('fails at the line of the agent that raises an error', async () => {
    const files = {
      'agents/one.aip': aip({ Output: 'local word = "kab"\nerror(word .. "oom")' }),
      [promptFile]: promptText('model: mock\nsub_agents: [agents/one.aip]', 'Go.'),
    }
    const run = await createWorld(files, { engine }).run(['mini@coder'])
    expect(run.code).toBe(1)
    expect(run.stderr).toContain('error: kaboom\n  at agents/one.aip:5\n')
    expect(run.asked).toEqual([])
  })
}
