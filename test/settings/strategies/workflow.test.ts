import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/base/json.ts'
import { checkReserved } from '../../../src/config/check-settings.ts'
import { checkWorkflow } from '../../../src/settings/strategies/workflow.ts'

/** The messages, each with the path of what it is about below the steps. */
function problems(steps: readonly JsonObject[], table: JsonObject = {}): readonly string[] {
  return checkWorkflow({ ...table, step: steps }).map(({ path, message }) => `${path.slice(2).join('.')}: ${message}`)
}

describe('the steps of a workflow', () => {
  it('may depend on each other in any order, as long as each can run', () => {
    const steps = [
      { id: 'sum', agent: 'a', needs: ['left', 'right'] },
      { id: 'left', agent: 'a', on_error: 'continue' },
      { id: 'right', instructions: 'Look.' },
      { id: 'repair', agent: 'a', needs: ['left'], when: 'failure' },
    ]
    expect(problems(steps)).toEqual([])
  })

  it('must not be empty', () => {
    expect(checkWorkflow({})).toMatchObject([{ path: ['workflow'], message: '"workflow" has no steps' }])
  })

  it.each<readonly [string, JsonObject, string]>([
    ['no work', {}, '0: workflow step "a" has neither agent nor instructions'],
    ['two kinds of work', { agent: 'x', instructions: 'y' }, '0.instructions: workflow step "a" has both agent and'],
    ['a fallback without one', { agent: 'x', on_error: 'fallback' }, '0.on_error: workflow step "a" has on_error ='],
    ['a limit of no items', { agent: 'x', concurrency: 2 }, '0.concurrency: workflow step "a" has concurrency without'],
    ['a word that is no condition', { agent: 'x', when: 'sucess' }, '0.when: workflow step "a": unknown condition'],
    ['a need that is no step', { agent: 'x', needs: ['b'] }, '0.needs.0: workflow step "a" needs "b", but there is no'],
  ])('are refused for %s, at the key', (_, step, expected) => {
    expect(problems([{ id: 'a', ...step }])).toEqual([expect.stringContaining(expected)])
  })

  it('must have different ids', () => {
    const twice = { id: 'a', agent: 'x' }
    expect(problems([twice, twice])).toEqual(['1.id: two workflow steps have the id "a"'])
  })

  it('cannot form a cycle, which is shown without the steps that only lead to it', () => {
    const steps = [
      { id: 'start', agent: 'x', needs: ['a'] },
      { id: 'a', agent: 'x', needs: ['b'] },
      { id: 'b', agent: 'x', needs: ['a'] },
    ]
    expect(problems(steps)).toEqual(['2.needs.0: workflow steps need each other in a cycle: a → b → a'])
  })

  it('must be able to run: not after both success and failure of one, nor after a failure that ends the run', () => {
    const first = { id: 'a', agent: 'x', on_error: 'continue' }
    const failed = { id: 'b', agent: 'x', needs: ['a'], when: 'failure' }
    const both = { id: 'c', agent: 'x', needs: ['a', 'b'] }
    expect(problems([first, failed, both])).toEqual([
      '2.needs: workflow step "c" can never run: "a" would have to have both succeeded and failed',
    ])
    const ends = problems([{ ...first, on_error: 'fail_fast' }, failed])
    expect(ends).toEqual([
      expect.stringMatching(/^1\.when: workflow step "b" can never run: the run ends when "a" fails/),
    ])
    expect(problems([{ id: 'a', agent: 'x', when: 'failure' }])).toEqual([
      '0.when: workflow step "a" can never run: it waits for a failure but needs no step',
    ])
  })
})

it('options of a step for the main agent are request settings with valid values; those of an agent are its own', () => {
  const step = [
    { id: 'a', instructions: 'x', options: { temperature: 'hot', tempratur: 1, model: 'm' } },
    { id: 'b', agent: 'x', options: { anything: 1 } },
  ]
  expect(checkReserved('workflow', { step }).map(({ path, message }) => [path.join('.'), message])).toEqual([
    ['workflow.step.0.options.temperature', expect.stringContaining('must be a number')],
    ['workflow.step.0.options.tempratur', 'unknown option "tempratur" of a step without an agent'],
  ])
})
