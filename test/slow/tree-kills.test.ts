import { expect, it } from 'vitest'
import { mapLimit } from '../../src/base/concurrency.ts'
import { type TreeKill, treeShapes, tryTree } from '../helpers/durable/tree-trial.ts'
import { core, countKills } from '../helpers/series.ts'

// `npm run soak -- series tree-kills` kills at every operation on files and at every call of git.

const count = countKills('tree-kills')

// `npm test` has a kill of iterations in iterate-kills.test.ts
it.each(Object.keys(treeShapes).slice(0, core(3, 5)))(
  '%s: a kill at any operation requires no manual repair',
  { timeout: core(120_000, 7_200_000) },
  async (name) => {
    const reference = await tryTree(name)
    expect(reference.problems).toEqual([])
    const kills: TreeKill[] = reference.operations.flatMap((operation, index) =>
      (['before', 'half', 'after'] as const)
        .filter((when) => when !== 'half' || /^(?:writeSync|rmSync) /.test(operation))
        .map((when) => ({ kind: 'operation', disturb: { at: index + 1, when } }) as const),
    )
    for (let at = 1; at <= reference.gitCalls; at += 1) {
      for (const when of ['before', 'after', 'alone'] as const) kills.push({ kind: 'git', at, when })
    }
    const isRemoval = (kill: TreeKill): boolean =>
      kill.kind === 'operation' &&
      kill.disturb.when === 'half' &&
      /^rmSync .*\/worktrees\//.test(reference.operations[(kill.disturb.at ?? 1) - 1] ?? '')
    const some = kills.find(isRemoval) ?? kills.at(-1)
    const tried = core(0, 1) === 1 ? kills : kills.filter((kill) => kill === some)
    const found = await mapLimit(tried, { limit: 2, signal: new AbortController().signal }, async (kill) => {
      const trial = await tryTree(name, kill, reference)
      count.add(trial)
      const { problems, isHit } = trial
      const at = kill.kind === 'git' ? '' : reference.operations[(kill.disturb.at ?? 1) - 1]
      return { kill, at, problems, isHit }
    })
    expect(found.filter(({ problems }) => problems.length > 0)).toEqual([])
    expect(found.some(({ isHit }) => isHit)).toBe(true)
  },
)
