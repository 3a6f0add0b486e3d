import { describe, expect, it } from 'vitest'
import { checkDelegate, readDelegate } from '../../../src/settings/strategies/delegate.ts'
import { checkStrategies } from '../../../src/settings/strategies.ts'

describe('[delegate]', () => {
  it('has defaults (R138 to R140, TV36)', () => {
    expect(readDelegate({ team: 'auth' })).toEqual({
      team: 'auth',
      maxWorkers: 5,
      format: 'markdown',
      notifies: true,
      list: 'tasks.md',
      workers: ['Explore', 'Plan', 'general-purpose'].map((name) => ({ name, agent: name })),
      leaseMs: 600_000,
      stallAfterMs: 120_000,
    })
    expect(readDelegate({ task_format: 'json' }).list).toBe('tasks.json')
  })

  it('names workers by their agents, or explicitly', () => {
    const workers = ['Plan', 'agents/reader.md', { name: 'Code', agent: 'general-purpose' }]
    expect(readDelegate({ workers }).workers).toEqual([
      { name: 'Plan', agent: 'Plan', index: 0 },
      { name: 'reader', agent: 'agents/reader.md', index: 1 },
      { name: 'Code', agent: 'general-purpose', index: 2 },
    ])
  })

  it('refuses empty names, duplicate names, no workers, and a list that is not a file', () => {
    const said = (value: Parameters<typeof checkDelegate>[0]): readonly string[] =>
      checkDelegate(value).map(({ message, path }) => `${path.join('.')}: ${message}`)
    expect(said({ workers: ['Plan', 'leader', 'agents/Plan.md'] })).toEqual([
      'delegate.workers.1: "leader" cannot be the name of a worker',
      'delegate.workers.2: two workers of the team are named "Plan"',
    ])
    expect(said({ workers: [] })).toEqual(['delegate.workers: the team has no workers'])
    expect(said({ task_list: 'docs/' })).toEqual(['delegate.task_list: "docs/" cannot be the task list of the team'])
    expect(said({ task_list: './docs/tasks.md' })).toEqual([])
  })

  it('cannot be combined with another strategy, an agent in place of the leader, or [collab]', () => {
    const said = (data: Parameters<typeof checkStrategies>[0]): readonly string[] =>
      checkStrategies(data).map(({ message }) => message)
    expect(said({ delegate: {}, ensemble: {} })).toHaveLength(1)
    expect(said({ delegate: {}, agent: 'x' })).toEqual([
      '"agent" and [delegate] cannot be combined: the workers name their agents',
    ])
    expect(said({ delegate: {}, collab: {} })).toEqual([
      '[delegate] and [collab] cannot be combined: the leader of a team starts its workers',
    ])
  })
})
