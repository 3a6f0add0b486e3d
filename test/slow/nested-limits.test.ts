import { describe, expect, it } from 'vitest'
import { agentWorld, aip } from '../helpers/agents.ts'
import { createMeasuredProvider } from '../nested/provider.ts'
import { core } from '../helpers/series.ts'

interface Limits {
  /** `input_concurrency` of the outermost agent, and of the agent that it runs. */
  readonly outer: number
  readonly inner: number
  /** How many model requests may run at the same time, over all agents. */
  readonly places: number
  readonly count?: number
}

/**
 * The first inputs keep the inner agent as busy as possible; the others have one input for it, to keep the test fast.
 */
function nestedInputs({ outer, inner, count = core(outer + 8, 200) }: Limits): readonly (readonly string[])[] {
  return Array.from({ length: count }, (_, index) =>
    Array.from({ length: index < outer ? inner : 1 }, (__, item) => `${index}.${item}`),
  )
}

/** Runs agents that run agents that call a model; returns the outputs and the peak number of requests in flight. */
async function runNested(limits: Limits, peak: number): Promise<{ readonly outputs: unknown; readonly peak: number }> {
  const provider = createMeasuredProvider(peak)
  const { run } = agentWorld(
    {
      'outer.aip': aip({
        Options: `input_concurrency = ${limits.outer}`,
        Output: 'return aip.agent.run("middle", { inputs = input }).outputs',
      }),
      'middle.aip': aip({
        Options: `input_concurrency = ${limits.inner}`,
        Output: 'return aip.agent.run("leaf", { input = input }).outputs[1]',
      }),
      'leaf.aip': '# User\n\n{{input}}\n',
    },
    { provider, requestsAtOnce: limits.places },
  )
  const { outputs } = await run(
    'outer',
    nestedInputs(limits).map((items) => [...items]),
  )
  return { outputs, peak: provider.peak() }
}

// three levels, in the whole series with 200 inputs each
describe('nested agents', () => {
  it.each([
    { outer: 1, inner: 1, places: 1024, peak: 1 },
    { outer: 1, inner: 8, places: 1024, peak: 8 },
    { outer: 3, inner: 1, places: 1024, peak: 3 },
    { outer: 3, inner: 8, places: 1024, peak: 24 },
    { outer: 40, inner: 1, places: 1024, peak: 40 },
    { outer: 40, inner: 8, places: 1024, peak: 320 },
    { outer: 3, inner: 8, places: 1, peak: 1 },
    { outer: 40, inner: 8, places: 16, peak: 16 },
  ])(
    'end with $outer and $inner inputs at once and $places places: at most $peak requests at once, outputs in order',
    async ({ peak, ...limits }) => {
      const expected = nestedInputs(limits).map((items) => items.map((item) => `<${item}>`))
      expect(await runNested(limits, peak)).toEqual({ outputs: expected, peak })
    },
    60_000,
  )
})
