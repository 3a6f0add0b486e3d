import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { isRelevant, comparePlan, targetsOf, type WatchPlan, type WatchTargets } from '../../src/watch/plan.ts'
import { openWatcher, type Watcher } from '../../src/watch/watcher.ts'
import { tempTree } from '../helpers/temp.ts'

const open: Watcher[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((watcher) => watcher.close()))
})

/** A plan of files, and of one list that looks into these folders. */
function planOf(files: readonly string[], folders: readonly string[] = []): WatchPlan {
  return {
    files: new Map(files.map((path) => [path, { print: '', look: () => '' }])),
    lists: new Map([['list', { found: [], look: () => ({ files: [], folders }) }]]),
  }
}

function targets(plan: WatchPlan): WatchTargets {
  return targetsOf(plan, comparePlan(plan))
}

/** Watches, and returns a function that resolves with the next change. */
async function watching(plan: WatchPlan): Promise<{
  readonly follow: (plan: WatchPlan) => Promise<void>
  /** Does something and waits until it is reported. */
  readonly told: (act: () => void) => Promise<void>
  readonly count: () => number
}> {
  let changes = 0
  let wake: () => void = () => {}
  const watcher = openWatcher({
    onChange() {
      changes += 1
      wake()
    },
    onProblem(error) {
      throw error
    },
  })
  open.push(watcher)
  await watcher.follow(targets(plan))
  return {
    follow: (next) => watcher.follow(targets(next)),
    count: () => changes,
    async told(act) {
      await quiet(() => changes)
      const next = new Promise<void>((resolve) => (wake = resolve))
      act()
      await next
    },
  }
}

/** Waits until earlier changes are no longer reported. */
async function quiet(count: () => number): Promise<void> {
  for (let before = -1; before !== count();) {
    before = count()
    await new Promise((resolve) => setTimeout(resolve, 60))
  }
}

describe('a watcher', () => {
  it('reports a file that is written, replaced by a rename, deleted and created again', async () => {
    const root = tempTree({ 'a.md': 'one', tmp: 'new' })
    const file = join(root, 'a.md')
    const { told } = await watching(planOf([file]))
    await told(() => writeFileSync(file, 'two'))
    await told(() => renameSync(join(root, 'tmp'), file))
    await told(() => writeFileSync(file, 'three'))
    await told(() => rmSync(file))
    await told(() => writeFileSync(file, 'four'))
    await told(() => writeFileSync(file, 'five'))
  })

  it('reports a write that does not change the time of the file', async () => {
    const root = tempTree({ 'a.md': 'one' })
    const file = join(root, 'a.md')
    const time = new Date(1_000_000)
    utimesSync(file, time, time)
    const { told } = await watching(planOf([file]))
    await told(() => {
      writeFileSync(file, 'two')
      utimesSync(file, time, time)
    })
  })

  it('reports a file that is created in a folder that did not exist', async () => {
    const root = tempTree()
    const plan = planOf([join(root, '.baton/deep/config.toml')])
    const { told, follow } = await watching(plan)
    await told(() => mkdirSync(join(root, '.baton')))
    await follow(plan)
    await told(() => mkdirSync(join(root, '.baton/deep')))
    await follow(plan)
    await told(() => writeFileSync(join(root, '.baton/deep/config.toml'), ''))
  })

  it('reports new files and folders in the folders of a list', async () => {
    const root = tempTree({ 'src/in/a.ts': '' })
    const { told, follow } = await watching(planOf([], [join(root, 'src'), join(root, 'src/in')]))
    await told(() => writeFileSync(join(root, 'src/in/b.ts'), ''))
    await told(() => mkdirSync(join(root, 'src/new')))
    await follow(planOf([], [join(root, 'src'), join(root, 'src/in'), join(root, 'src/new')]))
    await told(() => writeFileSync(join(root, 'src/new/c.ts'), ''))
  })

  it('watches a folder again after it was removed and created again', async () => {
    const root = tempTree({ 'src/a.ts': '' })
    const plan = planOf([join(root, 'src/a.ts')], [join(root, 'src')])
    const { told, follow } = await watching(plan)
    await told(() => rmSync(join(root, 'src'), { recursive: true }))
    await told(() => mkdirSync(join(root, 'src')))
    await follow(plan)
    await told(() => writeFileSync(join(root, 'src/a.ts'), 'again'))
  })

  it('watches a folder again after it was replaced before a notification arrived', async () => {
    const root = tempTree({ 'src/a.ts': '', 'new/a.ts': '' })
    const plan = planOf([join(root, 'src/a.ts')], [join(root, 'src')])
    const { told, follow } = await watching(plan)
    rmSync(join(root, 'src'), { recursive: true })
    renameSync(join(root, 'new'), join(root, 'src'))
    await follow(plan)
    await told(() => writeFileSync(join(root, 'src/a.ts'), 'again'))
    await told(() => writeFileSync(join(root, 'src/b.ts'), 'made'))
  })

  it('reports changes to a file behind a link, in its own folder', async () => {
    const root = tempTree({ 'real/a.md': 'one', 'real/tmp': 'two', 'here/b.md': '' })
    symlinkSync(join(root, 'real/a.md'), join(root, 'here/a.md'))
    const { told } = await watching(planOf([join(root, 'here/a.md')]))
    await told(() => renameSync(join(root, 'real/tmp'), join(root, 'real/a.md')))
  })

  it('ignores other files next to the watched one', async () => {
    const root = tempTree({ 'a.md': 'one', 'log.txt': '' })
    const { count, told } = await watching(planOf([join(root, 'a.md')]))
    await quiet(count)
    const before = count()
    writeFileSync(join(root, 'log.txt'), 'line')
    writeFileSync(join(root, 'other.txt'), 'line')
    await quiet(count)
    expect(count()).toBe(before)
    await told(() => writeFileSync(join(root, 'a.md'), 'two'))
  })

  it('follows many plans one after the other', async () => {
    const root = tempTree({ 'keep.md': '' })
    const { told, follow } = await watching(planOf([join(root, 'keep.md')]))
    for (let turn = 0; turn < 60; turn += 1) {
      mkdirSync(join(root, `d${turn}`))
      await follow(planOf([join(root, 'keep.md'), join(root, `d${turn}`, 'a.md')]))
    }
    await told(() => writeFileSync(join(root, 'd59/a.md'), ''))
    await told(() => writeFileSync(join(root, 'keep.md'), 'two'))
  })
})

describe('the folders to watch', () => {
  it('of a file are its own folder and the nearest existing one', () => {
    const root = tempTree({ 'a.md': '' })
    const found = targets(planOf([join(root, 'a.md'), join(root, 'x/y/z.md')]))
    expect([...found.folders]).toEqual([root])
    expect([...found.entries]).toEqual([join(root, 'a.md'), join(root, 'x')])
  })

  it('of a list include every entry of its folders, and the existence of its first folder', () => {
    const root = tempTree({ 'src/in/a.ts': '', 'b.ts': '' })
    const found = targets(planOf([], [join(root, 'src'), join(root, 'src/in')]))
    expect([...found.folders].toSorted()).toEqual([root, join(root, 'src'), join(root, 'src/in')])
    expect(isRelevant(join(root, 'src/new'), found)).toBe(true)
    expect(isRelevant(join(root, 'src/in/new.ts'), found)).toBe(true)
    expect(isRelevant(join(root, 'src'), found)).toBe(true)
    expect(isRelevant(join(root, 'b.ts'), found)).toBe(false)
  })
})
