import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readCollab } from '../../src/settings/collab.ts'
import { checkFrontMatter } from '../../src/config/front-matter.ts'
import { readRunSpec, type RunSpec } from '../../src/config/run-spec.ts'
import { parsePrompt } from '../../src/prompt/document.ts'
import { tempTree } from '../helpers/temp.ts'

const usual = {
  maxAgents: 6,
  maxDepth: 1,
  defaultWaitMs: 30_000,
  minWaitMs: 10_000,
  maxWaitMs: 300_000,
  returnWhen: 'all',
  onStall: 'tell',
  stallAfterMs: 120_000,
  roles: {},
}

interface Given {
  readonly user?: string
  readonly workspace?: string
  readonly prompt?: string
  readonly overrides?: readonly string[]
}

/** Reads `p.md` with the config files around it. */
async function read({ user = '', workspace = '', prompt = '', overrides = [] }: Given) {
  const cwd = tempTree({
    '.git/HEAD': '',
    'home/config/config.toml': user,
    'baton.toml': workspace,
    'p.md': `+++\n${prompt}\n+++\nDo it.\n`,
  })
  return readRunSpec({
    cwd,
    env: { BATON_HOME: join(cwd, 'home') },
    home: '/nowhere',
    flags: { overrides },
    file: 'p.md',
  })
}

async function collabOf(given: Given): Promise<RunSpec['settings']['collab']> {
  const { issues, spec } = await read(given)
  expect(issues).toEqual([])
  return spec?.settings.collab
}

async function problems(given: Given): Promise<readonly string[]> {
  const { issues } = await read(given)
  return issues.map(
    ({ code, message, hint, place }) => `${place?.file}:${place?.line}:${place?.column} ${code} ${message} | ${hint}`,
  )
}

/** What is wrong with front matter alone. */
async function wrong(toml: string): Promise<readonly string[]> {
  const document = await parsePrompt('p.md', `+++\n${toml}\n+++\nDo it.\n`)
  const { issues } = await checkFrontMatter(document, { userFile: '~/config.toml' })
  return issues.map(({ message, hint, place }) => `${place?.line}:${place?.column} ${message} | ${hint}`)
}

describe('[collab] of a prompt file', () => {
  it('makes its model a leader, with defaults for the rest (R102 to R105)', async () => {
    expect(await collabOf({ prompt: '[collab]' })).toEqual(usual)
    expect(readCollab({})).toEqual(usual)
    expect(await collabOf({})).toBeUndefined()
    const budget = { tokens: 500_000, usd: 2, calls: 40 }
    expect(
      await collabOf({
        prompt: `[collab]\nmax_agents = 2\nmax_depth = 3\ndefault_wait = "1m"\nmin_wait = "0s"\nmax_wait = "1h"
return_when = "any"\non_stall = "fail"\nstall_after = "10s"\nbudget = { tokens = 500000, usd = 2, calls = 40 }
[collab.roles.worker]\nmodel = "fast"`,
      }),
    ).toEqual({
      maxAgents: 2,
      maxDepth: 3,
      defaultWaitMs: 60_000,
      minWaitMs: 0,
      maxWaitMs: 3_600_000,
      returnWhen: 'any',
      onStall: 'fail',
      stallAfterMs: 10_000,
      budget,
      roles: { worker: { model: 'fast' } },
    })
  })

  it('can be combined with every strategy', async () => {
    for (const strategy of [
      '[iterate]\ncondition = "2"',
      '[ensemble]\n[[ensemble.agents]]\nmodel = "a"\n[[ensemble.agents]]\nmodel = "b"',
    ]) {
      expect(await collabOf({ prompt: `[collab]\n${strategy}` }), strategy).toEqual(usual)
    }
  })

  it('is enabled by --collab too, but a config file alone enables nothing', async () => {
    const user = '[collab]\nmax_agents = 4'
    expect(await collabOf({ user })).toBeUndefined()
    expect(await collabOf({ overrides: ['collab.max_agents=3'] })).toBeUndefined()
    const overrides = ['collab.enabled=true']
    expect(await collabOf({ overrides })).toEqual(usual)
    expect(await collabOf({ user, overrides })).toEqual({ ...usual, maxAgents: 4 })
    expect(await collabOf({ user, prompt: '[collab]\nreturn_when = "any"' })).toEqual({
      ...usual,
      maxAgents: 4,
      returnWhen: 'any',
    })
    expect(await collabOf({ prompt: '[collab]\nenabled = false\nmax_agents = 3' })).toBeUndefined()
    expect(await collabOf({ prompt: '[collab]\nenabled = false\nmax_agents = 3', overrides })).toMatchObject({
      maxAgents: 3,
    })
    expect(await problems({ user: '[collab]\nenabled = true' })).toEqual([
      expect.stringContaining(':2:1 CONFIG_INVALID "collab.enabled" can only be set in a prompt file'),
    ])
  })

  it('adjusts a default wait to configured limits', async () => {
    expect(await collabOf({ prompt: '[collab]\nmax_wait = "20s"' })).toMatchObject({ defaultWaitMs: 20_000 })
    expect(await collabOf({ prompt: '[collab]\nmin_wait = "1m"' })).toMatchObject({ defaultWaitMs: 60_000 })
  })
})

describe('inconsistent settings of [collab]', () => {
  it('are reported with their line: waits', async () => {
    expect(await problems({ prompt: '[collab]\nmax_wait = "5s"' })).toEqual([
      'p.md:3:12 CONFIG_INVALID [collab] min_wait (10s, its default) is longer than max_wait (5s) | ' +
        'Set both, with min_wait the shorter one.',
    ])
    expect(await problems({ user: '[collab]\nmax_wait = "1m"', prompt: '[collab]\nmin_wait = "2m"' })).toEqual([
      'p.md:3:12 CONFIG_INVALID [collab] min_wait (2m) is longer than max_wait (1m) | ' +
        'Set both, with min_wait the shorter one.',
    ])
    expect(await problems({ prompt: '[collab]\ndefault_wait = "10m"' })).toEqual([
      'p.md:3:16 CONFIG_INVALID [collab] default_wait (10m) is longer than max_wait (5m, its default) | ' +
        'Make it shorter, or set a longer max_wait.',
    ])
    expect(await problems({ prompt: '[collab]\ndefault_wait = "1s"' })).toEqual([
      'p.md:3:16 CONFIG_INVALID [collab] default_wait (1s) is shorter than min_wait (10s, its default) | ' +
        'Make it longer, or set a shorter min_wait.',
    ])
  })

  it.each([
    [
      '[collab]\nmax_depth = 0',
      '3:13 "collab.max_depth" must be a whole number from 1 to 10, not the number 0 | Write a whole number from 1 to 10.',
    ],
    [
      '[collab]\nmax_agents = 0',
      '3:14 "collab.max_agents" must be a whole number from 1 to 1000, not the number 0 | Write a whole number from 1 to 1000.',
    ],
    ['[collab]\nmax_agent = 2', '3:1 unknown key "max_agent" in collab | Did you mean "max_agents"?'],
    [
      '[collab.roles."my worker"]\nmodel = "m"',
      '2:15 "my worker" cannot be the name of a role | Use at most 64 letters, digits, - and _, starting with a letter.',
    ],
    [
      '[collab.roles.worker]\ncommand = "claude"',
      '3:1 unknown key "command" in collab.roles.worker | Known keys of collab.roles.worker: ',
    ],
    [
      '[collab.roles.worker]\nagent = "Explore"\nmodel = "m"',
      '4:1 the role "worker" has both agent and model, but its agent has its own settings | Keep one of them: set model where the agent is defined.',
    ],
    [
      'agent = "x.aip"\n[collab]',
      '3:2 "agent" and [collab] cannot be combined: the model of the file starts agents, but it is not called | Move [collab] into the file of the agent.',
    ],
  ])('have no effect: %j', async (toml, said) => {
    expect(await wrong(toml)).toEqual([expect.stringContaining(said)])
  })
})

describe('a folder can only restrict', () => {
  const user = '[collab]\nmax_agents = 3\nmax_depth = 2\nbudget = { tokens = 1000, calls = 5 }'

  it('the number of agents, their depth, and their budget', async () => {
    const workspace = '[collab]\nmax_agents = 2\nmax_depth = 1\nbudget = { tokens = 10, calls = 5, usd = 1 }'
    expect(await collabOf({ user, workspace, prompt: '[collab]' })).toMatchObject({
      maxAgents: 2,
      maxDepth: 1,
      budget: { tokens: 10, calls: 5, usd: 1 },
    })
    for (const key of [
      'max_agents = 4',
      'max_depth = 3',
      'budget = { tokens = 1000 }',
      'budget = { tokens = 2000, calls = 5 }',
    ]) {
      const said = expect.stringContaining(`UNTRUSTED "collab.${key.split(' ')[0]}" may not be`)
      expect(await problems({ user, workspace: `[collab]\n${key}`, prompt: '[collab]' }), key).toEqual([said])
      expect(await problems({ user, prompt: `[collab]\n${key}` }), key).toEqual([said])
    }
  })

  it('with its config file, which cannot define roles or start teams', async () => {
    const said = expect.stringContaining('UNTRUSTED "collab.roles" may not be {"worker":{"model":"m"}} in baton.toml')
    expect(await problems({ workspace: '[collab.roles.worker]\nmodel = "m"' })).toEqual([said])
    expect((await problems({ workspace: '[collab]\nenabled = true' })).join()).toContain(
      '"collab.enabled" may not be true',
    )
  })

  it('the sandbox of a role, within that of the user', async () => {
    const prompt = '[collab.roles.worker]\nsandbox = { mode = "danger-full-access" }'
    expect(await problems({ prompt })).toEqual([
      expect.stringContaining(
        'p.md:3:13 UNTRUSTED "collab.roles.worker.sandbox.mode" may not be "danger-full-access" in p.md',
      ),
    ])
  })
})
