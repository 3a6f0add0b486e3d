import { expect, it } from 'vitest'
import { isBatonError } from '../../../src/base/error.ts'
import { graphOf } from '../../../src/strategies/workflow/graph.ts'
import type { StepEnd } from '../../../src/strategies/workflow/input.ts'
import { runStep } from '../../../src/strategies/workflow/step.ts'
import { createExpressions } from '../../../src/strategies/workflow/texts.ts'
import { agentWorld, loadPromptFile } from '../../helpers/agents.ts'

const agents = {
  'agents/double.lua': 'return input * 2',
  'agents/echo.lua': 'return input',
  'agents/fails.lua': 'error("no luck")',
}

/** Runs one step of a workflow after others have ended so. */
async function ran(id: string, workflow: string, ends: Readonly<Record<string, StepEnd>> = {}, input: object = {}) {
  const written = `+++\nmodel = "m"\n${workflow}\n+++\n`
  const { folder, context } = agentWorld({ '.git/HEAD': 'x', 'ask.md': written, ...agents })
  const target = await loadPromptFile('ask.md', folder)
  if (target.settings.workflow === undefined) throw new Error('no workflow')
  const graph = graphOf(target.settings.workflow)
  const node = graph.byId.get(id)
  if (node === undefined) throw new Error(`no step ${id}`)
  const noFiles = (): never => expect.unreachable()
  const run = {
    graph,
    target,
    request: { text: '', instruction: '', params: {}, input: input as never, stdin: undefined },
    expressions: createExpressions(target.settings.lua, { isInstalled: false }),
    filesOf: noFiles,
    filesIn: noFiles,
    limit: 2,
    ends: new Map(Object.entries(ends)),
    answering: undefined,
  }
  const end = await runStep(node, run, context).catch((error: unknown) => error)
  return { end, sent: context.sent.filter(({ type }) => type.startsWith('step.') || type === 'warning') }
}

const step = (id: string, ...keys: readonly string[]): string => `[[workflow.step]]\nid = "${id}"\n${keys.join('\n')}\n`
const failed: StepEnd = { status: 'failed', error: { code: 'SCRIPT_FAILED', message: 'no luck' } }
const first = step('a', 'agent = "agents/echo.lua"', 'on_error = "continue"')

it('a step is skipped, with the reason, unless the steps it needs have ended as required', async () => {
  const second = (when: string): string =>
    first + step('b', 'agent = "agents/echo.lua"', 'needs = ["a"]', `when = ${when}`)
  const done: StepEnd = { status: 'done', output: 1 }
  const reason = async (when: string, end: StepEnd): Promise<unknown> => {
    const ended = (await ran('b', second(when), { a: end })).end as StepEnd
    return ended.status === 'skipped' ? ended.reason : ended.status
  }
  expect(await reason('"success"', failed)).toBe('step "a" failed')
  expect(await reason('"success"', { status: 'skipped', reason: '' })).toBe('step "a" was skipped')
  expect(await reason('"failure"', done)).toBe('nothing that it needs has failed')
  expect(await reason('"steps.a.output > 1"', done)).toBe('its condition is not met')
  expect(await reason('"failure"', failed)).toBe('done')
  expect(await reason('"always"', failed)).toBe('done')
})

it('a step with items runs its agent for each, and its outputs are in order', async () => {
  const each = step('a', 'agent = "agents/double.lua"', 'for_each = "input.list"')
  const { end, sent } = await ran('a', each, {}, { list: [1, 2, 3] })
  expect(end).toEqual({ status: 'done', output: [2, 4, 6] })
  expect(sent.filter(({ type }) => type === 'step.item')).toHaveLength(3)
  expect(sent.at(-1)).toMatchObject({ type: 'step.completed', id: 'a' })
})

it('items that are not a list fail the step at its line', async () => {
  const { end } = await ran('a', step('a', 'agent = "agents/double.lua"', 'for_each = "1 + 1"'))
  expect(end).toMatchObject({ code: 'AGENT_FAILED', place: { line: 6 } })
  expect(isBatonError(end) && end.message).toBe(
    'workflow step "a" failed: for_each must return a list, not the number 2',
  )
})

it('a failed step ends the run, or lets it continue with a warning, as on_error says', async () => {
  const stops = await ran('a', step('a', 'agent = "agents/fails.lua"'))
  expect(stops.end).toMatchObject({
    code: 'AGENT_FAILED',
    message: expect.stringContaining('workflow step "a" failed:') as string,
  })
  expect(stops.sent.map(({ type }) => type)).toEqual(['step.started', 'step.failed'])
  const goes = await ran('a', step('a', 'agent = "agents/fails.lua"', 'on_error = "continue"'))
  expect(goes.end).toMatchObject({ status: 'failed' })
  expect(goes.sent.map(({ type }) => type)).toEqual(['step.started', 'warning', 'step.failed'])
})

it('a fallback replaces an agent that failed', async () => {
  const { end, sent } = await ran(
    'a',
    step('a', 'agent = "agents/fails.lua"', 'fallback = ["agents/echo.lua"]', 'input = "{{ input.word }}"'),
    {},
    { word: 'hello' },
  )
  expect(end).toEqual({ status: 'done', output: 'hello' })
  expect(sent).toContainEqual(
    expect.objectContaining({
      type: 'warning',
      message: expect.stringMatching(/^workflow step "a" falls back to agents\/echo\.lua: /) as string,
    }),
  )
})
