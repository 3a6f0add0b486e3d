import { beforeAll, expect, it } from 'vitest'
import { mapLimit } from '../../src/base/concurrency.ts'
import { type IterateKill, iterateKills, type IterateTrial, tryIterate } from '../helpers/durable/iterate-trial.ts'
import { readJournal } from '../helpers/durable/journal-state.ts'
import { play } from '../helpers/durable/play.ts'
import { gitWorld, iteratedPrompt, writing } from '../helpers/git-world.ts'
import { tempTree } from '../helpers/temp.ts'

// A sample of what scripts/soak.mjs tries in full: a run with three iterations that commits is killed by SIGKILL, also
// from within git, resumed, and compared with an undisturbed run.

const operations: readonly IterateKill[] = [
  { at: 87, when: 'half' as const },
  { match: '"kind":"git"', at: 1, when: 'after' as const },
].map((disturb) => ({ kind: 'operation', disturb }))

let reference: IterateTrial

beforeAll(async () => {
  reference = await tryIterate(undefined)
})

it('commits three times when it is left alone', () => {
  expect(reference).toMatchObject({ problems: [], stops: 0 })
  expect(reference.commits.map((line) => line.split(' ')[0])).toEqual(['base', '[iter-0]', '[iter-1]', '[iter-2]'])
  expect(new Set(reference.hooks.map((line) => line.split(' ')[0])).size).toBe(6)
})

it.each(operations.map((kill) => [JSON.stringify(kill), kill] as const))('goes on after %s', async (_, kill) => {
  const { problems, stops } = await tryIterate(kill, reference.commits)
  expect({ problems, stops }).toEqual({ problems: [], stops: 1 })
})

it('goes on after a kill within git, at the hooks of its first commit', async () => {
  const first = reference.hooks.length / 3
  const some = iterateKills(reference.hooks).filter(({ at }, index) => at <= first && index % 9 === 0)
  expect(some.length).toBeGreaterThan(1)
  const { signal } = new AbortController()
  const found = await mapLimit(some, { limit: 2, signal }, async (kill) => {
    const { problems, stops } = await tryIterate(kill, reference.commits)
    return { kill, problems, stops }
  })
  expect(found).toEqual(some.map((kill) => ({ kill, problems: [], stops: 1 })))
}, 300_000)

it('goes on where it was killed while it restored the files of the best iteration', async () => {
  const rules = 'condition = "2"\ncommits = true\nscore = "wc -c < list.txt"\nscore_best = "lowest"'
  const answers = ['one\n', 'one\ntwo\n'].map((text) => ({ text: writing({ 'list.txt': text }) }))
  const { top, home, server, read } = await gitWorld(
    { 'ask.md': iteratedPrompt(rules, { front: 'context_globs = ["list.txt"]' }), 'list.txt': 'one\ntwo\nthree\n' },
    answers,
  )
  const world = { workspace: top, home, outside: tempTree() }
  const disturb = { match: '"p":"best/changes#0"', at: 1, when: 'after' } as const
  const killed = await play(['run', 'ask.md'], { world, url: server.url, disturb })
  expect(killed.code, killed.stderr).toBeNull()
  const { run = '' } = (await readJournal(world)) ?? {}
  const resumed = await play(['resume', run], { world, url: server.url })
  expect(resumed, resumed.stderr).toMatchObject({ code: 0 })
  expect([read('list.txt'), server.requests.length]).toEqual(['one\n\n', 2])
})
