import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/base/json.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import type { Answer, Asked, Life, TaskWorld } from '../../helpers/task-world.ts'
import { agentsIn, spawn, teamWorld } from '../../helpers/team-world.ts'

async function only(world: TaskWorld, records: JournalRecord[] = []): Promise<Life> {
  const life = await world.live(records)
  if (life === undefined) throw new Error('nobody kills this process')
  return life
}

function resultsIn({ result }: Life): readonly unknown[] {
  return result.calls.map(({ output, is_error: isError }) => (isError === true ? output : JSON.parse(output)))
}

describe('a leader', () => {
  it('spawns agents, waits for them and closes them', async () => {
    const script = (asked: Asked): Answer => {
      const { who, turn } = asked
      if (who !== 'parent') return `${who} is at home`
      const [cat = '', dog = ''] = agentsIn(asked)
      if (turn === 0) return [spawn('cat'), spawn('dog', { role: 'worker' })]
      if (turn === 1) return [['wait', { ids: [cat, dog] }]]
      if (turn === 2)
        return [
          ['close_agent', { id: cat }],
          ['close_agent', { id: dog }],
        ]
      return 'Done.'
    }
    const records: JournalRecord[] = []
    const world = teamWorld({ script })
    const life = await only(world, records)
    const [{ agent_id: cat }, { agent_id: dog }, wait, ...closes] = resultsIn(life) as readonly JsonObject[] as [
      { readonly agent_id: string },
      { readonly agent_id: string },
      ...JsonObject[],
    ]
    expect(wait).toEqual({
      status: { [cat]: { completed: 'cat is at home' }, [dog]: { completed: 'dog is at home' } },
      timed_out: false,
    })
    expect(closes).toEqual([{ status: { completed: 'cat is at home' } }, { status: { completed: 'dog is at home' } }])
    expect(life.result.text).toBe('Done.')
    const again = teamWorld({ script })
    expect((await only(again, records)).result.text).toBe('Done.')
    expect(again.asked).toEqual([])
  })
})
