import { describe, expect, it } from 'vitest'
import { claimItem, completeItem, createItems, type Done } from '../../../src/team/delegate/items.ts'
import { listForm } from '../../../src/team/delegate/list-form.ts'
import { type Change, openStore, type TeamState, type TeamStore } from '../../../src/team/delegate/store.ts'
import { createRandom } from '../../helpers/random.ts'

class Killed extends Error {}

/** Files in memory, whose process is killed before a write. */
function createWorld() {
  const files: { state?: string; list?: string } = {}
  const told: string[] = []
  let writesLeft = Infinity
  function write(into: 'state' | 'list', text: string): void {
    if (writesLeft <= 0) throw new Killed()
    writesLeft -= 1
    files[into] = text
  }
  return {
    files,
    told,
    killAfter: (writes: number) => void (writesLeft = writes),
    open(format: 'markdown' | 'json' = 'markdown', team = 'team-1'): TeamStore {
      return openStore({
        team,
        name: 'auth',
        form: listForm(format),
        file: { read: () => files.state, write: (text) => write('state', text) },
        list: {
          read: () => files.list,
          write(text, over) {
            if (files.list !== over) return false
            write('list', text)
            return true
          },
        },
        watch: {
          onItem: ({ id, status }) => told.push(`${id} ${status}`),
          onConflicts: (conflicts) => told.push(...conflicts.map(({ id, field }) => `conflict ${id} ${field}`)),
          onUnreadable: () => told.push('unreadable'),
        },
        pause: async () => {},
      })
    },
  }
}

function from(work: (state: TeamState) => Done & { readonly next?: number }) {
  return (state: TeamState): Change<string> => {
    const { items, text, next = state.next } = work(state)
    return { state: { ...state, items, next }, result: text }
  }
}

const create = (store: TeamStore, count: number): Promise<string> =>
  store.act(
    { place: 'create', name: 'task_create', args: {} },
    from(({ items, next }) =>
      createItems(
        items,
        Array.from({ length: count }, (_, at) => ({ subject: `s${at}` })),
        next,
      ),
    ),
  )
const claim = (store: TeamStore, who: string, place: string): Promise<string> =>
  store.act(
    { place, name: 'task_claim', args: {} },
    from(({ items }) => claimItem(items, who)),
  )
const complete = (store: TeamStore, who: string, id: string, place: string): Promise<string> =>
  store.act(
    { place, name: 'task_complete', args: { id } },
    from(({ items }) => completeItem(items, who, id)),
  )

describe('the state of a team', () => {
  it('gives an item to only one of several concurrent callers', async () => {
    const store = createWorld().open()
    await create(store, 3)
    const said = await Promise.all(['a', 'b', 'c', 'd'].map((who) => claim(store, who, who)))
    expect(said.map((text) => text.split('\n')[0])).toEqual([
      'claimed #1: s0',
      'claimed #2: s1',
      'claimed #3: s2',
      'nothing can be claimed now. Open items:',
    ])
  })

  it('answers a repeated call as before, and a different one at its place separately', async () => {
    const world = createWorld()
    await create(world.open(), 3)
    expect(await claim(world.open(), 'a', 'x')).toBe('claimed #1: s0')
    expect(await claim(world.open(), 'a', 'x')).toBe('claimed #1: s0')
    expect(await claim(world.open(), 'a', 'y')).toBe('claimed #2: s1')
    expect(await complete(world.open(), 'a', '1', 'x')).toBe('completed #1: s0')
    expect(world.open('markdown', 'another team').state().items).toEqual([])
  })

  it.each(['markdown', 'json'] as const)('keeps edits of a person in %s between operations', async (format) => {
    const world = createWorld()
    const store = world.open(format)
    await create(store, 2)
    world.files.list = (world.files.list ?? '').replace('s1', 'better')
    await claim(store, 'a', 'x')
    expect(world.files.list).toContain('better')
    expect(store.state().items.map(({ subject, status }) => [subject, status])).toEqual([
      ['s0', 'in_progress'],
      ['better', 'pending'],
    ])
    expect(world.told).toEqual(['1 pending', '2 pending', '1 in_progress', '2 pending'])
  })

  it('does not change an unreadable list until it is readable', async () => {
    const world = createWorld()
    const store = world.open('json')
    await create(store, 1)
    const whole = world.files.list ?? ''
    world.files.list = whole.slice(0, 20)
    await claim(store, 'a', 'x')
    expect(world.files.list).toBe(whole.slice(0, 20))
    world.files.list = whole
    await complete(store, 'a', '1', 'y')
    expect(world.files.list).toContain('"completed"')
    expect(world.told.filter((text) => text === 'unreadable')).toHaveLength(1)
  })

  it('adopts items that are already in the list', async () => {
    const world = createWorld()
    world.files.list = '# Mine\n- [ ] first\n- [x] #7 done\n'
    const store = world.open()
    expect(await claim(store, 'a', 'x')).toBe('claimed #1: first')
    expect(world.files.list).toBe('# Mine\n- [~] #1 first (@a)\n- [x] #7 done\n')
  })

  it('gives a new item of a person one id, also when it is killed before the list is written', async () => {
    for (let kill = 1; kill <= 2; kill += 1) {
      const world = createWorld()
      await create(world.open(), 1)
      world.files.list += '- [ ] of a person\n'
      world.killAfter(kill)
      const store = world.open()
      await claim(store, 'a', 'x').catch(() => undefined)
      world.killAfter(Infinity)
      expect(await claim(world.open(), 'a', 'y')).toBe('claimed #2: of a person')
      expect(world.files.list).toBe('# Tasks of team auth\n\n- [~] #1 s0 (@a)\n- [~] #2 of a person (@a)\n')
    }
  })

  it('loses and repeats nothing, wherever it is killed, while a person edits', async () => {
    for (let kill = 1; kill <= 23; kill += 1) {
      const world = createWorld()
      const random = createRandom(kill)
      const done: string[] = []
      world.killAfter(kill)
      for (let life = 0; ; life += 1) {
        try {
          const store = world.open()
          await create(store, 5)
          for (let step = 0; step < 5; step += 1) {
            const said = await claim(store, 'a', `claim ${step}`)
            const id = /#(\d+)/.exec(said)?.[1] ?? ''
            if (random() < 0.5) world.files.list = (world.files.list ?? '').replace(/ s(\d)/, ' edited $1')
            if ((await complete(store, 'a', id, `complete ${step}`)).startsWith('completed')) done.push(`${step} ${id}`)
          }
          await claim(store, 'a', 'last')
          expect(store.state().items.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'completed'))
          expect(world.files.list?.match(/- \[x\]/g)).toHaveLength(5)
          if (life > 0) expect(world.files.list).toContain('a remark, no item')
          break
        } catch (error) {
          if (!(error instanceof Killed)) throw error
          expect(life).toBe(0)
          world.files.list = `${world.files.list ?? ''}\n- a remark, no item`
          world.killAfter(Infinity)
        }
      }
      expect(new Set(done.map((text) => text.split(' ')[1]))).toHaveProperty('size', 5)
      expect(world.told.filter((text) => text.startsWith('conflict'))).toEqual([])
    }
  })
})
