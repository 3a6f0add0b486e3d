import { describe, expect, it } from 'vitest'
import { checkEnsemble, memberNames, readEnsemble } from '../../../src/settings/strategies/ensemble.ts'
import { parseToml } from '../../../src/base/toml.ts'
import type { JsonObject } from '../../../src/base/json.ts'

const two = '[[ensemble.agents]]\nmodel = "a"\n[[ensemble.agents]]\nmodel = "b"\n'

async function findings(text: string): Promise<readonly string[]> {
  const { data } = await parseToml({ file: 'x', text, block: text, firstLine: 1, what: 'x', code: 'CONFIG_INVALID' })
  return checkEnsemble(data['ensemble'] as JsonObject).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

describe('inconsistencies in [ensemble]', () => {
  it.each([
    ['[ensemble]\nquorum = 2', 'ensemble: "ensemble" has no agents'],
    [
      '[[ensemble.agents]]\nname = "x"',
      'ensemble.agents.0: ensemble member "x" has no model, agent, command or preset',
    ],
    [
      '[[ensemble.agents]]\nname = "x"\nagent = "a"\ncommand = "c"',
      'ensemble.agents.0.command: ensemble member "x" has both agent and command',
    ],
    [
      '[[ensemble.agents]]\nmodel = "m"\nargs = ["-p"]',
      'ensemble.agents.0.args: "args" of member 1 of the ensemble is for a command line, but none is named',
    ],
    [
      '[[ensemble.agents]]\nname = "x"\nmodel = "a"\n[[ensemble.agents]]\nname = "x"\nmodel = "b"',
      'ensemble.agents.1.name: two ensemble members are named "x"',
    ],
    [`[ensemble]\nquorum = 3\n${two}`, 'ensemble.quorum: "ensemble.quorum" is 3, but there are only 2 members'],
    [
      `[ensemble]\nquorum = 1\naggregate = "first"\n${two}`,
      'ensemble.quorum: "ensemble.quorum" has no effect if the first answer is used',
    ],
    [
      `[ensemble]\naggregate = "vote"\naggregator = "a"\n${two}`,
      'ensemble.aggregator: "ensemble.aggregate" and "ensemble.aggregator" cannot be combined',
    ],
    [
      `[ensemble]\naggregate = "synthesis"\ncheck = "true"\n${two}`,
      'ensemble.check: "ensemble.check" has no effect with aggregate = "synthesis"',
    ],
    [
      `[ensemble]\naggregate = "vote"\nmodel = "m"\n${two}`,
      'ensemble.model: "ensemble.model" has no effect with aggregate = "vote"',
    ],
  ])('include %j', async (text, finding) => {
    expect(await findings(text)).toEqual([finding])
  })

  it('do not occur in a valid one', async () => {
    expect(await findings(`[ensemble]\nquorum = 2\ntimeout = "5m"\n${two}`)).toEqual([])
    expect(await findings(`[ensemble]\ncheck = "npm test"\n${two}`)).toEqual([])
  })
})

describe('an ensemble with its defaults', () => {
  it('names a member after what it runs, with a number if the name is taken', () => {
    const names = memberNames([
      { model: 'openai::gpt-5' },
      { agent: 'agents/review.md' },
      { command: './bin/ask.sh' },
      { preset: 'claude' },
      { model: 'gpt-5' },
      { name: 'review-2', model: 'x' },
      { agent: 'review' },
    ])
    expect(names).toEqual(['gpt-5', 'review', 'ask', 'claude', 'gpt-5-2', 'review-2', 'review-3'])
  })

  it.each([
    [{}, { quorum: 2, aggregate: 'synthesis' }],
    [
      { aggregate: 'vote', quorum: 3 },
      { quorum: 3, aggregate: 'vote' },
    ],
    [{ check: 'true' }, { quorum: 1, aggregate: 'first', check: 'true' }],
    [{ aggregator: 'a.lua' }, { quorum: 2, aggregate: 'aggregator', aggregator: 'a.lua' }],
    [
      { timeout: '5m', deadline: '1h', retries: 1 },
      { timeout_ms: 300_000, deadline_ms: 3_600_000, retries: 1 },
    ],
  ] as const)('%j', (written, expected) => {
    const value = { ...written, agents: [{ model: 'a' }, { model: 'b' }, { model: 'c' }] }
    expect(readEnsemble(value)).toMatchObject({ retries: 0, isolation: 'none', ...expected })
  })

  it('the quorum of one member is one', () => {
    expect(readEnsemble({ agents: [{ model: 'a' }] }).quorum).toBe(1)
  })
})
