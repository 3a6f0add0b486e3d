import { describe, expect, it } from 'vitest'
import type { AgentSession, ModelAgent, ModelResult, Tool } from '../../../../src/event/agent.ts'
import { interpreterTool } from '../../../../src/agent/modes/code/interpreter.ts'
import { narrow, type RunContext } from '../../../../src/event/context.ts'
import { createToolbox } from '../../../../src/tool/toolbox/toolbox.ts'
import type { RunEvent } from '../../../../src/event/event.ts'
import { textMessage, textOf } from '../../../../src/event/message.ts'
import type { PromptOutput } from '../../../../src/event/prompt.ts'
import { createFakeProvider, type FakeScript } from '../../../helpers/fake-model.ts'
import { sessionWorld } from '../../../helpers/session-world.ts'

const create: Tool = {
  name: 'trigger.create',
  description: 'Creates a trigger.',
  parameters: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  run: async () => ({ text: '{"id":"t1"}' }),
}

interface Opened {
  readonly session: AgentSession
  readonly sent: readonly RunEvent[]
  readonly asked: () => readonly (readonly string[])[]
  readonly requests: ReturnType<typeof createFakeProvider>['requests']
  readonly outputs: () => readonly PromptOutput[]
}

async function open(
  script: FakeScript,
  agent: Partial<ModelAgent> = {},
  further?: (tools: readonly Tool[], context: RunContext) => Tool,
): Promise<Opened> {
  const provider = createFakeProvider(script)
  const world = await sessionWorld({ provider })
  const context = narrow(world.context, { rules: [{ tool: '*', effect: 'allow', origin: 'test' }] })
  const tools = further === undefined ? [create] : [create, further([create], context)]
  const coder = { kind: 'llm', name: 'coder', settings: { model: 'small' }, tools, mode: 'code' } as const
  const session = await context.services.agents.open({ ...coder, ...agent }, context)
  return {
    session,
    sent: world.sent,
    requests: provider.requests,
    asked: () => provider.requests.map(({ messages }) => messages.map((one) => `${one.role}: ${textOf(one)}`)),
    outputs: () => session.prompts().at(-1)?.output ?? [],
  }
}

async function ask({ session }: Pick<Opened, 'session'>, text = 'Go.'): Promise<ModelResult> {
  const result = await session.answer(await session.send([textMessage('user', text)]))
  return result
}

const says = (...programs: readonly string[]): FakeScript => programs.map((text) => ({ text: [text] }))
const fenced = (code: string): string => `\`\`\`js\n${code}\n\`\`\``

/** The events of a prompt in short form. */
function shown(events: readonly RunEvent[]): readonly string[] {
  return events.flatMap((event) => {
    switch (event.type) {
      case 'prompt.created':
        return [`created in ${event.mode}`]
      case 'prompt.output':
        return [`output ${event.output.function ?? event.output.item_id?.split('/').at(-1) ?? event.output.text}`]
      case 'item.delta':
        return event.item_id.includes('output') ? [`stream ${event.text}`] : []
      case 'tool.completed':
        return [`${event.name} ${event.is_error ? 'failed' : 'ended'}`]
      case 'prompt.completed':
        return ['completed']
      default:
        return []
    }
  })
}

describe('TV39: the timeline of code mode', () => {
  const program = 'const r = triggerCreate({name:"n"}); output("made "+r.id); done()'

  it('contains the program, pending first, then its calls and texts; the program ends in its place (R168 to R172, R178, R219)', async () => {
    let during: readonly PromptOutput[] = []
    const tool: Tool = {
      ...create,
      run(...call) {
        during = opened.outputs()
        return create.run(...call)
      },
    }
    const opened = await open(says(fenced(program)), { tools: [tool] })
    const result = await ask(opened)
    expect(during.map((output) => output.type === 'tool' && [output.function, output.result])).toEqual([
      ['code.execute', { type: 'pending', reason: 'Executing...' }],
      ['trigger.create', { type: 'pending' }],
    ])
    expect([result.end, result.text, opened.requests.length]).toEqual(['done', 'made t1', 1])
    expect(opened.outputs()).toMatchObject([
      {
        type: 'tool',
        function: 'code.execute',
        input: { code: program },
        result: { type: 'success', output: 'Execution result: null' },
      },
      {
        type: 'tool',
        function: 'trigger.create',
        input: { name: 'n' },
        result: { type: 'success', output: '{"id":"t1"}' },
      },
      { type: 'text', text: 'made t1' },
    ])
    expect(opened.session.prompts().at(-1)).toMatchObject({ mode: 'code', state: 'completed', usage: { calls: 1 } })
    expect(shown(opened.sent)).toEqual([
      'created in code',
      'output code.execute',
      'output trigger.create',
      'trigger.create ended',
      'stream made t1',
      'output output-1',
      'code.execute ended',
      'completed',
    ])
    expect(result.calls).toMatchObject([{ name: 'trigger.create', input: '{"name":"n"}', output: '{"id":"t1"}' }])
  })

  it('contains a syntax error for the model, which tries again (R202)', async () => {
    const opened = await open(says(fenced('output("a"'), fenced('output("b"); done()')))
    expect((await ask(opened)).text).toBe('b')
    const [broken, whole] = opened.outputs()
    expect(broken).toMatchObject({
      function: 'code.execute',
      result: { type: 'error', error: expect.stringMatching(/^\S.* \(line 1/) },
    })
    expect(whole).toMatchObject({ function: 'code.execute', result: { output: 'Execution result: null' } })
    expect(opened.asked()[1]?.at(-1)).toMatch(/^user: Execution error: .+ \(line 1/)
  })

  it('ends after ten programs without done(), with a note (R206, R207)', async () => {
    const opened = await open((_, index) => ({ text: [fenced(`log(${index})`)] }))
    const result = await ask(opened)
    expect([result.end, opened.requests.length]).toEqual(['max_rounds', 10])
    const last = { type: 'text', text: '(Reached maximum iterations without done() being called)' }
    expect(opened.outputs().at(-1)).toMatchObject(last)
    expect(opened.session.prompts().at(-1)).toMatchObject({ state: 'completed' })
  })
})

describe('programs of a prompt', () => {
  it('are each fresh, but keep what they stored; logs and results are returned to the model (R174, R177, TV32)', async () => {
    const opened = await open(
      says(
        'globalThis.x = 1; store("k", {a: 1}); log("a", {b: 1}); 1 + 2',
        'log(typeof x, recall("k").a, recall("no")); throw new Error("boom")',
        'foo()',
        'output(5); done(); output("after"); const y = 1;',
      ),
    )
    const result = await ask(opened)
    expect(result.text).toBe('5\n\nafter')
    const told = opened.asked().map((messages) => messages.at(-1))
    expect(told.slice(1)).toEqual([
      'user: Logs:\na {"b":1}\n\nExecution result: 3',
      expect.stringMatching(/^user: Logs:\nundefined 1 null\n\nExecution error: boom \(line 1/),
      expect.stringMatching(/^user: Execution error: 'foo' is not defined \(line 1/),
    ])
    // programs are messages of the model, their results are messages of the user
    expect(opened.asked()[2]?.map((line) => line.split(':')[0])).toEqual([
      'system',
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
    ])
  })

  it('have their tools, call several at once, and catch errors of tools (R170, R186, R204)', async () => {
    let atOnce = 0
    let most = 0
    const slow: Tool = {
      name: 'slow_one',
      description: 'Waits.',
      parameters: { type: 'object', properties: { fails: { type: 'boolean' } } },
      async run(input) {
        most = Math.max(most, (atOnce += 1))
        await new Promise((resolve) => setTimeout(resolve, 20))
        atOnce -= 1
        return input.includes('true') ? { text: 'no luck', isError: true } : { text: 'text' }
      },
    }
    const opened = await open(
      says(
        `const all = parallel([{ tool: 'slowOne', input: {} }, { tool: 'slow_one', input: { fails: true } }, { tool: 'none', input: {} }])
         let caught = ''
         try { slowOne({ fails: true }) } catch (error) { caught = error.message }
         complete({ response: JSON.stringify([all, caught, discoverTools(), toolSchema('slow_one'), toolSchema('none')]), data: 7 })`,
      ),
      { tools: [slow] },
    )
    const [all, caught, tools, schema, none] = JSON.parse((await ask(opened)).text) as readonly unknown[]
    expect(all).toEqual([
      'text',
      { error: 'Tool "slow_one" failed: no luck' },
      { error: expect.stringContaining('there is no function "none"') as string },
    ])
    expect([caught, most]).toEqual(['Tool "slow_one" failed: no luck', 2])
    expect(tools).toEqual([{ id: 'slow_one', name: 'slow_one', description: 'Waits.' }])
    expect([schema, none]).toEqual([slow.parameters, { error: 'Tool "none" not found' }])
    expect(opened.outputs().slice(1, 4)).toMatchObject([
      { function: 'slow_one', result: { type: 'success' } },
      { function: 'slow_one', result: { type: 'error', error: 'no luck' } },
      { function: 'slow_one', result: { type: 'error' } },
    ])
  })

  it('have their calls in the result in the order of the calls, whichever ends first', async () => {
    const tool = (name: string, ms: number): Tool => ({
      ...create,
      name,
      async run() {
        await new Promise((resolve) => setTimeout(resolve, ms))
        return { text: name }
      },
    })
    const opened = await open(says(`parallel([{ tool: 'slow' }, { tool: 'quick' }]); done()`), {
      tools: [tool('slow', 30), tool('quick', 0)],
    })
    expect((await ask(opened)).calls.map(({ name }) => name)).toEqual(['slow', 'quick'])
  })

  it('return files that are outputs and visible to the model (R171)', async () => {
    const look: Tool = {
      ...create,
      name: 'look',
      run: async () => ({
        text: 'a.png',
        files: [{ type: 'file', name: 'a.png', mediaType: 'image/png', data: 'AA==' }],
      }),
    }
    const opened = await open(says('look({})', 'done()'), { tools: [look] })
    await ask(opened)
    expect(opened.outputs().map(({ type }) => type)).toEqual(['tool', 'tool', 'file', 'tool'])
    expect(opened.requests[1]?.messages.at(-1)?.parts.at(-1)).toMatchObject({ type: 'file', name: 'a.png' })
  })

  it('that are missing, truncated or ambiguous are reported to the model, and nothing is run', async () => {
    const opened = await open([
      { text: ['triggerCreate({name: "a"});'], finish: 'length' },
      { text: [`${fenced('a()')}\n${fenced('b()')}`] },
      { text: [''] },
    ])
    const result = await ask(opened)
    expect([result.end, result.text]).toEqual(['incomplete', '(No response from model)'])
    expect(opened.asked()[1]?.at(-1)).toContain('the program was cut off in the middle')
    expect(opened.asked()[2]?.at(-1)).toContain(
      'the answer has 2 fenced blocks: it must be one program, in one block. Nothing was run.',
    )
    expect(opened.outputs().map((one) => (one.type === 'tool' ? one.function : one.type))).toEqual([
      'code.execute',
      'code.execute',
      'text',
    ])
  })

  it('end at max_turns, after the last one has run', async () => {
    const opened = await open(says('output("x")'), { maxTurns: 1 })
    const result = await ask(opened)
    expect([result.end, result.text]).toEqual(['max_turns', 'x'])
    const single = await open(says('output("x"); done()'), { maxTurns: 1 })
    expect((await ask(single)).end).toBe('done')
  })
})

describe('the instructions of the model', () => {
  it('contain the mode with the functions and their types, once, with the system prompt; and what [output] requires', async () => {
    const output = { name: 'answer', schema: { type: 'object' } }
    const opened = await open(says('output("{}"); done()', 'output("{}"); done()'), { output })
    const messages = [textMessage('system', 'Be brief.'), textMessage('user', 'Go.')]
    await opened.session.answer(await opened.session.send(messages))
    await ask(opened, 'Again.')
    const [system = ''] = opened.asked()[0] ?? []
    expect(system).toMatch(/^system: Be brief\.\n\nYou answer with programs\./)
    expect(system).toContain('/** Creates a trigger. */\nfunction triggerCreate(input: {\n  name: string\n}): any')
    expect(system).toContain('{"type":"object"}')
    expect(opened.requests[0]).not.toHaveProperty('output')
    expect(opened.requests[0]).not.toHaveProperty('tools')
    // the answer of the first prompt is known to the second
    expect(opened.asked()[1]?.map((line) => line.slice(0, 31))).toEqual([
      'system: Be brief.\n\nYou answer w',
      'user: Go.',
      'assistant: output("{}"); done()',
      'user: Execution result: null',
      'assistant: {}',
      'user: Again.',
    ])
  })
})

describe('the tool interpreter_run', () => {
  it('runs a program in classic mode that calls the other tools, and returns its results as text (R188)', async () => {
    const input = JSON.stringify({ code: 'output(triggerCreate({ name: input }).id); log("l"); 1 + 1', input: 'n' })
    const opened = await open(
      (_, index) =>
        index === 0
          ? { text: [], toolCalls: ['interpreter_run'], toolInput: input, finish: 'tool_calls' }
          : { text: ['Done.'] },
      { mode: 'classic' },
      (tools, context) => interpreterTool(tools, createToolbox({ baseDir: context.scope.folders.workspace }), context),
    )
    await ask(opened)
    expect(opened.outputs()).toMatchObject([
      { function: 'interpreter_run', result: { type: 'success', output: 't1\n\nLogs:\nl\n\nExecution result: 2' } },
      { type: 'text', text: 'Done.' },
    ])
    expect(opened.sent.flatMap((one) => (one.type === 'tool.started' ? [one.name] : []))).toEqual([
      'interpreter_run',
      'trigger.create',
    ])
    const [offered] = (opened.requests[0]?.tools ?? []).filter(({ name }) => name === 'interpreter_run')
    expect(offered?.description).toContain(
      'Your other tools are functions that take their input as one object: triggerCreate.',
    )
  })
})
