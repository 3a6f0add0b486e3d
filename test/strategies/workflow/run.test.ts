import { describe, expect, it } from 'vitest'
import type { Json } from '../../../src/base/json.ts'
import type { RunEvent } from '../../../src/event/event.ts'
import { failureOf } from '../../../src/run/answer.ts'
import { type PromptOutcome, runPrompt } from '../../../src/run/prompt-run.ts'
import { agentWorld, loadPromptFile } from '../../helpers/agents.ts'
import { createFakeProvider, type FakeTurn } from '../../helpers/fake-model.ts'
import { textIn } from '../../helpers/messages.ts'
import type { ModelRequest } from '../../../src/model/provider.ts'
import { strategies } from '../../../src/strategies/strategies.ts'
import type { TaskOutcome } from '../../../src/run/strategy.ts'

interface Ran {
  readonly task: TaskOutcome | undefined
  readonly error: unknown
  /** The messages of each request except the system message, joined by ` | `. */
  readonly asked: readonly string[]
  readonly sent: readonly RunEvent[]
}

interface Given {
  readonly files?: { readonly [path: string]: string }
  readonly answer?: (text: string, index: number) => FakeTurn
  readonly inputs?: readonly string[]
}

function shownRequest({ messages }: ModelRequest): string {
  return messages
    .slice(1)
    .map((message) => textIn(message))
    .join(' | ')
}

/**
 * Runs a file whose front matter is `[workflow]` with these steps; a model answers each request with it in angle
 * brackets.
 */
async function run(workflow: string, { files = {}, answer, inputs = [] }: Given = {}): Promise<Ran> {
  const provider = createFakeProvider((request, index) => {
    const text = shownRequest(request)
    return answer?.(text, index) ?? { text: [`<${text}>`] }
  })
  const { folder, context } = agentWorld({ '.git/HEAD': 'x', 'ask.md': workflow, ...files }, { provider })
  const target = await loadPromptFile('ask.md', folder)
  const failed: TaskOutcome[] = []
  const outcome = await runPrompt(
    { strategies, target, inputs, onOutcome: () => {}, onFailure: (task) => failed.push(task) },
    context,
  ).catch((error: unknown) => ({ status: 'thrown', error }) as const)
  return {
    task: taskOf(outcome) ?? failed[0],
    error: outcome.status === 'thrown' ? outcome.error : undefined,
    asked: provider.requests.map(shownRequest),
    sent: context.sent,
  }
}

function taskOf(outcome: PromptOutcome | { readonly status: 'thrown' }): TaskOutcome | undefined {
  return 'outcomes' in outcome ? outcome.outcomes[0] : undefined
}

/** The status of each step according to the events. */
function statuses(sent: readonly RunEvent[]): Readonly<Record<string, string>> {
  const ends = sent.flatMap((event): readonly (readonly [string, string])[] => {
    switch (event.type) {
      case 'step.completed':
        return [[event.id, 'done']]
      case 'step.skipped':
        return [[event.id, `skipped: ${event.reason}`]]
      case 'step.partial':
        return [[event.id, 'partial']]
      case 'step.failed':
        return [[event.id, 'failed']]
      default:
        return []
    }
  })
  return Object.fromEntries(ends)
}

const file = (body: string, instruction = ''): string => `+++\nmodel = "m"\n${body}\n+++\n${instruction}\n`
const step = (id: string, keys: string): string => `[[workflow.step]]\nid = "${id}"\n${keys}`
const lua = (value: string): { readonly [path: string]: string } => ({ 'a.lua': `return ${value}\n` })

describe('the input of steps', () => {
  it('the first step gets the instruction, each later one the output of the steps that it needs', async () => {
    const workflow = [step('a', 'instructions = "A"'), step('b', 'needs = ["a"]\ninstructions = "B"')]
    const { task, asked } = await run(file(workflow.join('\n'), 'Do it.'))
    expect(asked).toEqual(['# Input\n\nDo it. | A', '# Input\n\n<# Input\n\nDo it. | A> | B'])
    expect(task).toMatchObject({ status: 'done', label: 'ask.md', content: '<# Input\n\n<# Input\n\nDo it. | A> | B>' })
  })

  it('several outputs are joined by a blank line, in the order of needs', async () => {
    const workflow = [
      step('b', 'instructions = "B"\ninput = ""'),
      step('a', 'instructions = "A"\ninput = ""'),
      step('both', 'needs = ["a", "b"]\ninstructions = "both"'),
    ]
    const { asked } = await run(file(workflow.join('\n')))
    expect(asked).toEqual(['B', 'A', '# Input\n\n<A>\n\n<B> | both'])
  })

  it('templates see steps, params, instruction, items and their position', async () => {
    const workflow = [
      'topic = "tea"\n[workflow]',
      step('list', 'agent = "a.lua"'),
      step(
        'each',
        'needs = ["list"]\nfor_each = "steps.list.output.names"\ninput = "{{params.topic}} {{instruction}} {{steps.list.status}}"\ninstructions = "{{index}}: {{item}} of {{len steps.list.output.names}}"',
      ),
    ]
    const { asked } = await run(file(workflow.join('\n'), 'Ask.'), { files: lua('{ names = { "x", "y" } }') })
    expect(asked.toSorted()).toEqual(['# Input\n\ntea Ask. done | 0: x of 2', '# Input\n\ntea Ask. done | 1: y of 2'])
  })

  it('results of agents keep their type: for one need, for several, and for each item', async () => {
    const show = 'return { got = input }\n'
    const workflow = [
      step('list', 'agent = "a.lua"'),
      step('one', 'needs = ["list"]\nagent = "show.lua"'),
      step('each', 'needs = ["list"]\nfor_each = "steps.list.output.items"\nagent = "show.lua"'),
      step('all', 'needs = ["one", "each"]\nagent = "show.lua"'),
    ]
    const items = '{ items = { { n = 1 }, { n = 2 } } }'
    const { task } = await run(file(workflow.join('\n')), { files: { ...lua(items), 'show.lua': show } })
    const value: Json = {
      got: {
        one: { got: { items: [{ n: 1 }, { n: 2 }] } },
        each: [{ got: { n: 1 } }, { got: { n: 2 } }],
      },
    }
    expect(task).toMatchObject({ status: 'done', value })
  })

  it('a prompt file gets its input as text and its variables by name, and its object is the output', async () => {
    const child = '+++\nmodel = "m"\n[input.title]\n[output.schema]\ntype = "object"\n+++\nAbout {{input.title}}.\n'
    const workflow = [
      step('list', 'agent = "a.lua"'),
      step('ask', 'needs = ["list"]\nagent = "child.md"'),
      step('after', 'needs = ["ask"]\nwhen = "steps.ask.output.n == 3"\nagent = "show.lua"'),
    ]
    const { task, asked } = await run(file(workflow.join('\n')), {
      files: { ...lua('{ title = "Tea" }'), 'child.md': child, 'show.lua': 'return "n is " .. input.n\n' },
      answer: () => ({ text: ['{"n": 3}'] }),
    })
    expect(asked).toEqual(['About Tea.'])
    expect(task).toMatchObject({ status: 'done', content: 'n is 3' })
  })

  it('a step that is a workflow outputs the output of its last step', async () => {
    const inner = file([step('x', 'agent = "a.lua"'), step('y', 'needs = ["x"]\nagent = "double.lua"')].join('\n'))
    const workflow = [step('in', 'agent = "inner.md"'), step('out', 'needs = ["in"]\nagent = "double.lua"')]
    const files = { 'inner.md': inner, ...lua('{ n = 2 }'), 'double.lua': 'return { n = input.n * 2 }\n' }
    const { task, sent } = await run(file(workflow.join('\n')), { files })
    expect(task).toMatchObject({ status: 'done', value: { n: 8 } })
    expect(sent.filter(({ type }) => type === 'step.completed').map(({ agent }) => agent)).toEqual([
      'task/0/step/in/task/0/step/x',
      'task/0/step/in/task/0/step/y',
      'task/0/step/in',
      'task/0/step/out',
    ])
  })

  it('the answer fits [output] of the file, whichever step produces it', async () => {
    const output = '[output.schema]\ntype = "object"\nrequired = ["n"]\n[workflow]\n'
    const files = { ...lua('{ m = 1 }'), 'b.lua': 'return { n = 1 }\n' }
    const byModel = await run(file(output + step('a', 'instructions = "A"')), {
      answer: (_, index) => ({ text: [index === 0 ? '{"m": 1}' : '{"n": 1}'] }),
    })
    expect(byModel.task).toMatchObject({ status: 'done', value: { n: 1 } })
    expect(byModel.asked).toHaveLength(2)
    expect((await run(file(output + step('a', 'agent = "b.lua"')), { files })).task).toMatchObject({ value: { n: 1 } })
    const { error } = await run(file(output + step('a', 'agent = "a.lua"')), { files })
    expect(error).toMatchObject({
      message: expect.stringContaining('the workflow answered with a value that does not match [output]'),
    })
  })

  it('post_task agents see the answer and the state of each step', async () => {
    const workflow = `sub_agents = [{ name = "post.lua", stage = "post_task" }]\n[workflow]\n${step('a', 'agent = "a.lua"')}\n${step('b', 'needs = ["a"]\nwhen = "failure"\ninstructions = "B"')}\n${step('c', 'needs = ["a"]\nagent = "a.lua"')}`
    const post =
      'local s = input.ai_response.steps\nreturn { ai_response = { content = input.ai_response.content .. ": " .. s.a.status .. s.a.output.. s.b.status .. s.c.status } }\n'
    const { task } = await run(file(workflow), { files: { ...lua('"x"'), 'post.lua': post } })
    expect(task).toMatchObject({ status: 'done', content: 'x: donexskippeddone' })
  })
})

describe('the choice of steps', () => {
  const fails = { 'fail.lua': 'error("broken")\n', 'ok.lua': 'return "fine"\n' }

  it.each([
    ['ok.lua', { good: 'done', bad: 'skipped: nothing that it needs has failed', any: 'done', lua: 'done' }],
    [
      'fail.lua',
      { good: 'skipped: step "a" failed', bad: 'done', any: 'done', lua: 'skipped: its condition is not met' },
    ],
  ] as const)('a branch for each outcome of %s', async (agent, expected) => {
    const workflow = [
      step('a', `agent = "${agent}"`),
      step('good', 'needs = ["a"]\nagent = "ok.lua"'),
      step('bad', 'needs = ["a"]\nwhen = "failure"\nagent = "ok.lua"'),
      step('any', 'needs = ["a"]\nwhen = "always"\nagent = "ok.lua"'),
      step(
        'lua',
        'needs = ["a"]\nwhen = "steps.a.status == \'done\' and steps.a.output == \'fine\'"\nagent = "ok.lua"',
      ),
    ]
    const { task, sent } = await run(file(workflow.join('\n')), { files: fails })
    const { a: _, ...others } = statuses(sent)
    expect(others).toEqual(expected)
    // the branch for the failure has handled it
    expect(task).toMatchObject({ status: 'done' })
  })

  it('a step that needs a skipped step is skipped, and one that handles failures does not run for it', async () => {
    const workflow = [
      step('a', 'when = "params.wanted"\nagent = "ok.lua"'),
      step('b', 'needs = ["a"]\nagent = "ok.lua"'),
      step('c', 'needs = ["b"]\nwhen = "failure"\nagent = "ok.lua"'),
      step('d', 'needs = ["b"]\nwhen = "always"\nagent = "ok.lua"'),
    ]
    const { sent } = await run(file(`[params]\nwanted = false\n[workflow]\n${workflow.join('\n')}`), { files: fails })
    expect(statuses(sent)).toEqual({
      a: 'skipped: its condition is not met',
      b: 'skipped: step "a" was skipped',
      c: 'skipped: nothing that it needs has failed',
      d: 'done',
    })
  })

  it('a condition that cannot be evaluated fails its step, at its line', async () => {
    const { error } = await run(file(step('a', 'when = "params.x.y > 1"\nagent = "ok.lua"')), { files: fails })
    expect(error).toMatchObject({
      message: expect.stringContaining('workflow step "a" failed: when failed: attempt to index a nil value'),
      place: { line: 5, column: 9 },
    })
  })

  it('an endless condition is stopped', async () => {
    const endless = 'when = "(function() while true do end end)()"\nagent = "ok.lua"'
    const { error } = await run(file(`[lua]\ntimeout = "200ms"\n[workflow]\n${step('a', endless)}`), { files: fails })
    expect(error).toMatchObject({ message: expect.stringContaining('when failed: the script ran longer than 200 ms') })
  })

  it('expressions cannot access files, programs, clock or random numbers', async () => {
    const names = ['io', 'os', 'aip', 'require', 'package', 'load', 'loadfile', 'dofile', 'debug']
    const list = `{ ${names.map((name) => `type(${name})`).join(', ')}, math.random(1, 1000000) }`
    const items = async (): Promise<unknown> => {
      const { task } = await run(file(step('a', `for_each = "${list}"\nagent = "same.lua"`)), {
        files: { 'same.lua': 'return input\n' },
      })
      return task?.status === 'done' ? task.value : task
    }
    const first = (await items()) as readonly unknown[]
    expect(Object.fromEntries(names.map((name, index) => [name, first[index]]))).toMatchObject({
      io: 'nil',
      aip: 'nil',
      require: 'nil',
      loadfile: 'nil',
      dofile: 'nil',
    })
    expect(await items()).toEqual(first)
  })

  it('for_each needs a list, and an empty table is one', async () => {
    const each = (list: string): string => file(step('a', `for_each = "${list}"\nagent = "ok.lua"`))
    expect((await run(each('{}'), { files: fails })).task).toMatchObject({ status: 'done', value: [] })
    expect((await run(each('params.none'), { files: fails })).error).toMatchObject({
      message: 'workflow step "a" failed: for_each must return a list, not nothing (nil)',
    })
    expect((await run(each('{ a = 1 }'), { files: fails })).error).toMatchObject({
      message: 'workflow step "a" failed: for_each must return a list, not a table',
    })
  })

  it('independent steps run at once, up to the limit in the file', async () => {
    let open = 0
    let most = 0
    const workflow = Array.from({ length: 9 }, (_, index) => step(`s${index}`, 'instructions = "x"'))
    const { asked } = await run(file(`[workflow]\nconcurrency = 3\n${workflow.join('\n')}`), {
      answer() {
        open += 1
        most = Math.max(most, open)
        return { text: ['x'], gate: new Promise((resolve) => setTimeout(() => ((open -= 1), resolve()), 5)) }
      },
    })
    expect([asked.length, most]).toEqual([9, 3])
  })

  it('items have their own limit', async () => {
    let open = 0
    let most = 0
    const workflow = step('a', 'for_each = "{1, 2, 3, 4, 5, 6, 7, 8}"\nconcurrency = 4\ninstructions = "{{item}}"')
    const { task } = await run(file(workflow), {
      answer(text) {
        open += 1
        most = Math.max(most, open)
        // later items are faster
        const ms = 20 - Number(text.split(' | ').at(-1)) * 2
        return { text: [text], gate: new Promise((resolve) => setTimeout(() => ((open -= 1), resolve()), ms)) }
      },
    })
    expect(most).toBe(4)
    const texts = Array.from({ length: 8 }, (_, index) => `# Input\n\n${index + 1} | ${index + 1}`)
    expect(task).toMatchObject({ value: texts })
  })
})

describe('a step that fails', () => {
  const files = {
    'bad.lua': 'error("broken")\n',
    'odd.lua': 'if input % 2 == 1 then error("odd " .. input) end\nreturn input\n',
    'ok.lua': 'return "fine"\n',
  }

  it('ends the run alone, at its line', async () => {
    const workflow = [
      step('a', 'agent = "bad.lua"'),
      step('b', 'needs = ["a"]\nagent = "ok.lua"'),
      step('c', 'instructions = "C"'),
    ]
    const { error, sent } = await run(file(workflow.join('\n')), {
      files,
      answer: () => ({ text: ['x'], gate: new Promise(() => {}) }),
    })
    expect(error).toMatchObject({
      code: 'AGENT_FAILED',
      message: expect.stringContaining('workflow step "a" failed: '),
      place: { file: expect.stringContaining('bad.lua'), line: 1 },
      trail: [expect.objectContaining({ file: 'ask.md', line: 4 })],
    })
    expect(statuses(sent)).toEqual({ a: 'failed' })
  })

  it('can let the others continue: the run fails at its end, with their outputs', async () => {
    const workflow = [
      '[workflow]\non_error = "continue"',
      step('a', 'agent = "bad.lua"'),
      step('b', 'needs = ["a"]\nagent = "ok.lua"'),
      step('c', 'agent = "ok.lua"'),
    ]
    const { task, error, sent } = await run(file(workflow.join('\n')), { files })
    expect(statuses(sent)).toEqual({ a: 'failed', b: 'skipped: step "a" failed', c: 'done' })
    expect(failureOf(error).error).toMatchObject({ message: expect.stringContaining('workflow step "a" failed: ') })
    expect(task).toMatchObject({ status: 'failed', answer: { text: 'fine', isResult: true } })
  })

  it('is not repaired by a step that only cleans up, but by one that looks at the failure', async () => {
    const tidy = [step('a', 'agent = "bad.lua"'), step('b', 'needs = ["a"]\nwhen = "always"\nagent = "ok.lua"')]
    expect((await run(file(tidy.join('\n')), { files })).task).toMatchObject({
      status: 'failed',
      answer: { text: 'fine' },
    })
    const looks = [
      step('a', 'agent = "bad.lua"'),
      step('b', 'needs = ["a"]\nwhen = "steps.a.error ~= nil"\ninput = "{{steps.a.error}}"\ninstructions = "B"'),
    ]
    const { task, asked } = await run(file(looks.join('\n')), { files })
    expect(task).toMatchObject({ status: 'done' })
    expect(asked).toEqual([expect.stringMatching(/^# Input\n\n.*broken \| B$/)])
  })

  it('passes its error to a failure step without a template', async () => {
    const workflow = [step('a', 'agent = "bad.lua"'), step('b', 'needs = ["a"]\nwhen = "failure"\ninstructions = "B"')]
    const { asked } = await run(file(workflow.join('\n')), { files })
    expect(asked).toEqual([expect.stringMatching(/^# Input\n\nstep "a" failed: .*broken \| B$/)])
  })

  it('falls back to other agents, in order, before it fails', async () => {
    const good = await run(file(step('a', 'agent = "bad.lua"\nfallback = ["bad.lua", "ok.lua"]')), { files })
    expect(good.task).toMatchObject({ status: 'done', content: 'fine' })
    const told = good.sent.flatMap((event) => (event.type === 'warning' ? [event.message.split(':')[0]] : []))
    expect(told).toEqual(['workflow step "a" falls back to bad.lua', 'workflow step "a" falls back to ok.lua'])
    const bad = await run(file(step('a', 'agent = "bad.lua"\nfallback = ["bad.lua"]\non_error = "fallback"')), {
      files,
    })
    expect(bad.error).toMatchObject({ message: expect.stringContaining('workflow step "a" failed: ') })
  })

  it('because of failed items ends, or omits them from its list', async () => {
    const each = (keys: string): string =>
      file(step('a', `for_each = "{1, 2, 3, 4}"\nagent = "odd.lua"\nconcurrency = 1\n${keys}`))
    const { error } = await run(each(''), { files })
    expect(error).toMatchObject({ message: expect.stringMatching(/^workflow step "a" failed: item 0: .*odd 1/) })
    const { task, sent } = await run(each('on_error = "continue"'), { files })
    expect(task).toMatchObject({ status: 'done', content: '[\n  2,\n  4\n]', partial: { reason: 'PARTIAL_RESULT' } })
    expect(sent.flatMap((event) => (event.type === 'step.item' ? [event.status] : []))).toEqual([
      'failed',
      'done',
      'failed',
      'done',
    ])
    expect(sent.flatMap((event) => (event.type === 'warning' ? [event.message.split(', ')[0]] : []))).toEqual([
      'item 0 of workflow step "a" failed',
      'item 2 of workflow step "a" failed',
    ])
    expect(sent).toContainEqual(
      expect.objectContaining({
        type: 'step.partial',
        output: [null, 2, null, 4],
        error: expect.objectContaining({ message: expect.stringMatching(/^2 of 4 items failed: item 0: /) }),
      }),
    )
  })

  it('is skipped if its agent has nothing to do', async () => {
    const skip = '# Data\n\n```lua\nreturn aip.flow.skip("nothing new")\n```\n\n# User\n\nHi\n'
    const { sent } = await run(
      file([step('a', 'agent = "s.aip"'), step('b', 'needs = ["a"]\nagent = "ok.lua"')].join('\n')),
      { files: { ...files, 's.aip': skip, 'p.md': '' } },
    )
    expect(Object.keys(statuses(sent))).toEqual(['a', 'b'])
  })
})

describe('with a workflow', () => {
  it('tasks are steps', async () => {
    const workflow = file(step('a', 'instructions = "A"'))
    expect((await run(workflow, { inputs: ['x'] })).error).toMatchObject({
      code: 'USAGE',
      message: '-i and [workflow] cannot be combined: the steps are the tasks',
    })
    const globs = file(`working_globs = ["*.md"]\n[workflow]\n${step('a', 'instructions = "A"')}`)
    expect((await run(globs)).error).toMatchObject({ message: expect.stringContaining('working_globs and [workflow]') })
  })
})

describe('a step some of whose items fail', () => {
  const names = "for_each = \"{'src/a.ts', 'src/b.ts', 'src/c.ts'}\"\non_error = \"continue\""
  const files = {
    'look.lua': 'if input == "src/b.ts" then error("cannot be read") end\nreturn "seen " .. input\n',
    'ok.lua': 'return "fine"\n',
  }
  const look = step('look', `agent = "look.lua"\n${names}`)

  it('is partial: the next step gets what there is, and the model is told what is missing', async () => {
    const { task, asked, sent } = await run(
      file([look, step('report', 'needs = ["look"]\ninstructions = "R"')].join('\n')),
      {
        files,
      },
    )
    expect(statuses(sent)).toEqual({ look: 'partial', report: 'done' })
    expect(asked[0]).toMatch(
      /seen src\/a\.ts\n\nseen src\/c\.ts\n\nThese items of step "look" failed, .*:\n- src\/b\.ts: .*cannot be read \| R$/s,
    )
    expect(task).toMatchObject({
      status: 'done',
      partial: {
        code: 'AGENT_FAILED',
        message: expect.stringMatching(
          /^workflow step "look" partly failed: 1 of 3 items failed: src\/b\.ts: .*cannot be read/,
        ) as string,
      },
    })
  })

  it('shows how many and which to conditions and templates, and a condition that looks handles it', async () => {
    const steps = [
      look,
      step(
        'some',
        'needs = ["look"]\nwhen = "steps.look.status == \'partial\' and #steps.look.failed == 1"\ninput = "{{#each steps.look.failed}}{{label}} ({{index}}){{/each}}"\ninstructions = "S"',
      ),
      step('broken', 'needs = ["look"]\nwhen = "steps.look.status == \'failed\'"\nagent = "ok.lua"'),
      step('tidy', 'needs = ["look"]\nwhen = "failure"\nagent = "ok.lua"'),
    ]
    const { task, asked, sent } = await run(file(steps.join('\n')), { files })
    expect(statuses(sent)).toEqual({
      look: 'partial',
      some: 'done',
      broken: 'skipped: its condition is not met',
      tidy: 'done',
    })
    expect(asked).toEqual(['# Input\n\nsrc/b.ts (1) | S'])
    expect(task).not.toHaveProperty('partial')
  })

  it('is failed if all of them fail', async () => {
    const { task, sent } = await run(
      file(
        [step('look', `agent = "bad.lua"\n${names}`), step('report', 'needs = ["look"]\nagent = "ok.lua"')].join('\n'),
      ),
      { files: { ...files, 'bad.lua': 'error("broken")\n' } },
    )
    expect(statuses(sent)).toEqual({ look: 'failed', report: 'skipped: step "look" failed' })
    expect(task).toMatchObject({ status: 'failed' })
  })

  it.each([
    ['a path', '{ path = "a.ts", name = "x" }', '', 'a.ts'],
    ['a name', '{ name = "Ada", size = 3 }', '', 'Ada'],
    ['a number as id', '{ id = 17 }', '', '17'],
    ['nothing that names it', '{ size = 3 }', '', 'item 0'],
    ['a text of several lines', '"one\\ntwo"', '', 'item 0'],
    ['a label', '{ path = "a.ts", lines = 3 }', 'label = "{{item.path}} ({{item.lines}} lines)"', 'a.ts (3 lines)'],
  ])('is named in messages by %s', async (_, value, label, expected) => {
    const each = step('a', `for_each = '{${value}}'\nagent = "bad.lua"\n${label}`)
    const { error, sent } = await run(file(each), { files: { 'bad.lua': 'error("broken")\n' } })
    expect(failureOf(error).error).toMatchObject({
      message: expect.stringContaining(`workflow step "a" failed: ${expected}: `) as string,
    })
    expect(sent.filter(({ type }) => type === 'step.started')).toHaveLength(1)
  })
})

describe('a step with retries', () => {
  const output = '[output.schema]\ntype = "object"\nproperties.n.type = "number"\nrequired = ["n"]\n'

  it('tries again after an empty answer, and names what it tries', async () => {
    const each = `for_each = "{'a.ts', 'b.ts'}"\ninstructions = "Look at {{item}}."\nretries = 1`
    let empty = 0
    const { task, sent } = await run(file(step('look', each)), {
      answer: (text) => ({ text: [text.includes('b.ts') && (empty += 1) < 3 ? '' : 'seen'] }),
    })
    expect(task).toMatchObject({ status: 'done', value: ['seen', 'seen'] })
    expect(sent.flatMap((event) => (event.type === 'warning' ? [event.message] : []))).toContainEqual(
      expect.stringMatching(/^retrying b\.ts of workflow step "look": .*empty answer/),
    )
  })

  it('tells the model why its last answer could not be used', async () => {
    let count = 0
    const { task, asked } = await run(file(`${output}${step('a', 'instructions = "A"\nretries = 1')}`), {
      answer: () => ({ text: [(count += 1) < 4 ? '{"n": "x"}' : '{"n": 1}'] }),
    })
    expect(task).toMatchObject({ status: 'done', value: { n: 1 } })
    expect(asked.at(-1)).toMatch(/^A\n\nYour last answer could not be used: the answer does not match \[output\]/)
  })

  it('tries again only for the reasons that are named', async () => {
    const { error, asked } = await run(file(step('a', 'instructions = "A"\nretries = 2\nretry_on = ["invalid"]')), {
      answer: () => ({ text: [''] }),
    })
    expect(failureOf(error).error).toMatchObject({ reason: 'EMPTY_ANSWER' })
    expect(new Set(asked.map((text) => text.split(' | ')[0])).size).toBe(1)
  })

  it('tries a script that returns an empty text again, and takes it if it stays empty', async () => {
    const files = { 'e.lua': 'aip.file.append("n.txt", "x")\nreturn ""\n' }
    const { task, sent } = await run(file(step('a', 'agent = "e.lua"\nretries = 2')), { files })
    expect(task).toMatchObject({ status: 'done', content: '' })
    expect(sent.filter((event) => event.type === 'warning' && /its answer is empty/.test(event.message))).toHaveLength(
      2,
    )
  })
})
