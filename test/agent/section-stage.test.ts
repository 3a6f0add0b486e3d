import { describe, expect, it } from 'vitest'
import { agentWorld, aip } from '../helpers/agents.ts'

const pin = (scope: string): string => `aip.${scope}.pin("id", "seen")`

describe('pins in the sections of an agent', () => {
  it('are accepted everywhere for the run, and only in Data and Output for a task', async () => {
    const { run, context } = agentWorld({
      'a.aip': aip({
        'Before All': pin('run'),
        Data: `${pin('run')} ${pin('task')}`,
        Output: `${pin('run')} ${pin('task')}`,
        'After All': pin('run'),
      }),
      'b.lua': `${pin('run')} ${pin('task')}`,
    })
    await run('a.aip', ['one'])
    await run('b.lua', ['one'])
    const pins = context.sent.flatMap((event) => (event.type === 'pin' ? [`${event.agent} ${event.scope}`] : []))
    expect(pins).toEqual([
      'main/before_all run',
      'main/data run',
      'main/data task',
      'main/output run',
      'main/output task',
      'main/after_all run',
      'main/chunk run',
      'main/chunk task',
    ])
  })

  it.each(['Before All', 'After All'])('of a task fail in %s, at their line', async (heading) => {
    const { run } = agentWorld({ 'a.aip': aip({ [heading]: `local a = 1\n${pin('task')}`, Output: 'return 1' }) })
    await expect(run('a.aip')).rejects.toMatchObject({
      code: 'SCRIPT_FAILED',
      message: `aip.task.pin: there is no task in ${heading}; call aip.run.pin there`,
      place: { line: 5 },
    })
  })
})
