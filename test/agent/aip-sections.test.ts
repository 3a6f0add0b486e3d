import { describe, expect, it } from 'vitest'
import { runAip } from '../../src/agent/aip-agent.ts'
import type { ScriptRun, SectionRunner } from '../../src/agent/script-run.ts'
import { BatonError } from '../../src/base/error.ts'
import type { Json, JsonObject } from '../../src/base/json.ts'
import { parseAip } from '../../src/prompt/aip.ts'
import { testContext } from '../helpers/context.ts'
import { aip } from '../helpers/agents.ts'

type Stage = Parameters<SectionRunner['run']>[1]['stage']
type Sections = { readonly [stage in Stage]?: (variables: JsonObject) => Json | undefined }

const headings: { readonly [stage: string]: string } = {
  before_all: 'Before All',
  data: 'Data',
  output: 'Output',
  after_all: 'After All',
}

/** Runs an agent whose sections are functions instead of code. */
async function ran(
  sections: Sections,
  { inputs = null, options = {} }: { readonly inputs?: readonly Json[] | null; readonly options?: JsonObject } = {},
) {
  const context = testContext()
  const text = aip(
    Object.fromEntries(Object.keys(sections).map((stage) => [headings[stage] ?? '', 'return aip.flow.redo_run()'])),
  )
  const order: string[] = []
  const run: ScriptRun = {
    request: { kind: 'script', agent: { kind: 'aip', name: 'a', file: '/a.aip', text }, inputs, options },
    options,
    section: {
      context,
      run: async ({ variables }, { stage }) => {
        order.push(stage)
        return sections[stage]?.(variables as JsonObject)
      },
    },
  }
  const result = await runAip(run, parseAip('/a.aip', text))
  return { result, order, sent: context.sent }
}

function flow(kind: string, data: Json = {}): Json {
  return { _aipack_: { kind, data } }
}

describe('the sections of an agent', () => {
  it('run once for all inputs, or for each input, with the values of earlier sections', async () => {
    const { result, order } = await ran(
      {
        before_all: ({ inputs }) => ({ count: (inputs as readonly Json[]).length }),
        data: ({ input, before_all: all }) => [input ?? null, all ?? null],
        output: ({ data }) => data,
        after_all: ({ outputs }) => (outputs as readonly Json[]).length,
      },
      { inputs: ['x', 'y'], options: { input_concurrency: 1 } },
    )
    expect(order).toEqual(['before_all', 'data', 'output', 'data', 'output', 'after_all'])
    expect(result).toEqual({
      kind: 'script',
      end: 'done',
      outputs: [
        ['x', { count: 2 }],
        ['y', { count: 2 }],
      ],
      failedInputs: 0,
      afterAll: 2,
    })
  })

  it('end when Before All skips the agent or repeats the run', async () => {
    const skipped = await ran({ before_all: () => flow('Skip', { reason: 'nothing new' }), output: () => 1 })
    expect(skipped.result).toEqual({ kind: 'script', end: 'skipped', reason: 'nothing new' })
    const again = await ran({ before_all: () => flow('Redo'), output: () => 1, after_all: () => 1 })
    expect([again.result.end, again.order]).toEqual(['redo', ['before_all']])
    const last = await ran({ output: () => 1, after_all: () => flow('Redo') })
    expect(last.result).toMatchObject({ end: 'redo', outputs: [1] })
  })

  it('run once without inputs, except those that need one', async () => {
    expect((await ran({ output: () => 'one' })).result).toMatchObject({ outputs: ['one'] })
    expect((await ran({ after_all: () => 'end' })).result).toMatchObject({ outputs: [], afterAll: 'end' })
  })

  it('continue after a failed input only if the options allow it', async () => {
    const sections: Sections = {
      output({ input }) {
        if (input === 'bad') throw new BatonError('SCRIPT_FAILED', 'no such thing')
        return input
      },
    }
    const inputs = ['good', 'bad']
    await expect(ran(sections, { inputs })).rejects.toThrow('no such thing')
    const { result, sent } = await ran(sections, { inputs, options: { allow_run_on_task_fail: true } })
    expect(result).toMatchObject({
      outputs: ['good', { error: expect.stringContaining('no such thing') as string }],
      failedInputs: 1,
    })
    expect(sent).toContainEqual(
      expect.objectContaining({ type: 'warning', message: expect.stringMatching(/^input 2 of a failed/) as string }),
    )
  })

  it.each<readonly [string, Sections]>([
    ['Data may not return aip.flow.redo_run()', { data: () => flow('Redo') }],
    ['Output may not return aip.flow.data_response()', { output: () => flow('DataResponse') }],
    ['Before All may not return aip.flow.data_response()', { before_all: () => flow('DataResponse') }],
    ['DataResponse has unknown keys: dta', { data: () => flow('DataResponse', { dta: 1 }) }],
    ['unknown flow response "Skipp"', { data: () => flow('Skipp') }],
  ])('fail with the place of the section: %s', async (message, sections) => {
    await expect(ran(sections)).rejects.toMatchObject({
      code: 'SCRIPT_FAILED',
      message: expect.stringContaining(message) as string,
      place: { file: '/a.aip' },
    })
  })

  it('fail at the call of the function that the message names', async () => {
    const place = { file: '/a.aip', line: 4, column: 8, endColumn: 8 + 'aip.flow.redo_run'.length }
    await expect(ran({ data: () => flow('Redo') })).rejects.toMatchObject({ place })
  })
})
