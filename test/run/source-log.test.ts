import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listFiles } from '../../src/base/glob.ts'
import type { RunContext } from '../../src/event/context.ts'
import type { EffectKind } from '../../src/event/effects.ts'
import { hashPrompt } from '../../src/prompt/document.ts'
import { createSourceLog, type SourceLog } from '../../src/run/source-log.ts'
import { deleteEntry, moveEntry, saveFile } from '../../src/tool/workspace-files.ts'
import { withCurrentState, comparePlan, type WatchPlan } from '../../src/watch/plan.ts'
import { createPrints } from '../../src/watch/prints.ts'
import { testContext } from '../helpers/context.ts'
import { tempTree } from '../helpers/temp.ts'
import { placeAt, effectOf } from '../helpers/effects.ts'

interface World {
  readonly root: string
  readonly log: SourceLog
  readonly context: RunContext
  readonly at: (path: string) => string
  readonly write: (path: string, text: string) => void
  /** Lists and logs as a run does. */
  readonly list: (globs: readonly string[], reads?: 'names' | 'content') => void
  /** What differs from what was read, relative to the folder. */
  readonly changed: (plan?: WatchPlan) => readonly string[]
}

function world(files: { readonly [path: string]: string }, before?: WatchPlan): World {
  return worldIn(tempTree(files), before)
}

function worldIn(root: string, before?: WatchPlan): World {
  const log = createSourceLog({ prints: createPrints({ hashPrompt, now: () => Date.now() }), before })
  const at = (path: string): string => join(root, path)
  return {
    root,
    log,
    at,
    context: testContext({ workspace: root, hooks: [log.hook(root)] }),
    write: (path, text) => writeFileSync(at(path), text),
    list(globs, reads = 'content') {
      const found = listFiles(globs, { baseDir: root, root }).map(({ absolute }) => absolute)
      log.list({ globs, baseDir: root, root, found, reads })
    },
    changed: (plan = log.plan({ keep: false })) => comparePlan(plan).changed.map((path) => path.slice(root.length + 1)),
  }
}

function effect(kind: EffectKind, context: RunContext, act: () => void): Promise<void> {
  return context.services.effects.perform(placeAt('x'), effectOf({ kind, repeat: 'unsafe' }), async () => act())
}

describe('the files that a run has read', () => {
  it('differ when a file differs from the text that was read, not from its state at another time', () => {
    const { log, at, write, changed } = world({ 'a.lua': 'one', 'b.lua': 'one' })
    log.file(at('a.lua'), 'one')
    log.file(at('b.lua'), 'what was there a moment before')
    write('a.lua', 'two')
    expect(changed()).toEqual(['a.lua', 'b.lua'])
    write('a.lua', 'one')
    write('b.lua', 'what was there a moment before')
    expect(changed()).toEqual([])
  })

  it('are in the state that was read first', () => {
    const { log, at, changed } = world({ 'a.lua': 'two' })
    log.file(at('a.lua'))
    log.file(at('a.lua'), 'one')
    log.file(at('a.lua'), 'two')
    expect(changed()).toEqual(['a.lua'])
  })

  it('include files that were looked up but do not exist', () => {
    const { log, at, write, changed } = world({})
    log.file(at('baton.toml'))
    expect(changed()).toEqual([])
    write('baton.toml', '')
    expect(changed()).toEqual(['baton.toml'])
  })

  it('include of a prompt file the part above its transcript', () => {
    const { log, at, write, changed } = world({ 'a.md': 'Ask.\n\n====\nold\n' })
    log.prompt(at('a.md'), 'Ask.\n\n====\nold\n')
    write('a.md', 'Ask.\n\n====\nnew\n')
    expect(changed()).toEqual([])
    write('a.md', 'Ask more.\n\n====\nnew\n')
    expect(changed()).toEqual(['a.md'])
    write('a.md', '+++\nnever closed\n')
    expect(changed()).toEqual(['a.md'])
  })

  it('include files that begin or cease to match', () => {
    const { list, write, at, changed } = world({ 'src/a.ts': '', 'src/b.ts': '', 'c.md': '' })
    list(['src/**/*.ts'])
    write('src/new.ts', '')
    rmSync(at('src/b.ts'))
    write('src/new.md', '')
    expect(changed()).toEqual(['src/b.ts', 'src/new.ts'])
  })

  it('include neither what the run works on nor lists if only the prompt counts', () => {
    const { log, at, write, list, changed } = world({ 'ask.md': 'Ask.', 'a.lua': '1', 'a.txt': '1', 'data.json': '1' })
    log.prompt(at('ask.md'), 'Ask.')
    log.data?.(at('a.lua'))
    log.file(at('a.lua'), '1')
    list(['*.txt'])
    log.data?.(at('data.json'))
    write('a.txt', '2')
    write('b.txt', '2')
    write('data.json', '2')
    expect(changed()).toEqual(['a.txt', 'b.txt', 'data.json'])
    log.ignoreData()
    expect(changed()).toEqual([])
    expect(changed(log.plan({ keep: true }))).toEqual([])
    write('ask.md', 'Ask more.')
    write('a.lua', '2')
    expect(changed()).toEqual(['a.lua', 'ask.md'])
  })

  it('include only the names if only those were read', () => {
    const { list, write, changed } = world({ 'a.ts': 'one' })
    list(['*.ts'], 'names')
    write('a.ts', 'two')
    expect(changed()).toEqual([])
    write('b.ts', '')
    expect(changed()).toEqual(['b.ts'])
  })

  it('do not include a prompt file twice if a glob finds it behind a link', () => {
    const { log, at, list, write, changed, root } = world({ 'real/a.md': 'Ask.\n\n====\n' })
    symlinkSync(join(root, 'real'), at('link'))
    log.prompt(at('link/a.md'), 'Ask.\n\n====\n')
    list(['real/*.md'])
    write('real/a.md', 'Ask.\n\n====\nanswer\n')
    expect(changed()).toEqual([])
  })

  it('are still watched after a run that failed early, as they were when it began', () => {
    const first = world({ 'src/a.ts': 'one', 'src/b.ts': 'one' })
    first.list(['src/*.ts'])
    first.write('src/a.ts', 'two')
    const second = worldIn(first.root, withCurrentState(first.log.plan({ keep: false })))
    first.write('src/b.ts', 'two')
    expect(second.changed(second.log.plan({ keep: true }))).toEqual(['src/b.ts'])
    expect(second.changed(second.log.plan({ keep: false }))).toEqual([])
  })
})

describe('changes made by the run', () => {
  it.each(['command', 'tool', 'mcp', 'git', 'agent'] as const)(
    'are not a difference when a %s makes them',
    async (kind) => {
      const { list, context, write, at, changed } = world({ 'a.ts': 'one', 'b.ts': 'one', 'c.ts': 'one' })
      list(['*.ts'])
      await effect(kind, context, () => {
        write('a.ts', 'two')
        write('new.ts', 'made')
        rmSync(at('b.ts'))
      })
      expect(changed()).toEqual([])
      write('c.ts', 'two')
      expect(changed()).toEqual(['c.ts'])
    },
  )

  it('are watched from the end of the run on', async () => {
    const { log, list, context, write, changed } = world({ 'a.ts': 'one' })
    list(['*.ts'])
    await effect('command', context, () => {
      write('a.ts', 'formatted')
      write('new.ts', 'made')
    })
    write('a.ts', 'and again before the end')
    const plan = log.plan({ keep: false })
    expect(changed(plan)).toEqual([])
    write('a.ts', 'edited')
    write('new.ts', 'edited')
    expect(changed(plan)).toEqual(['a.ts', 'new.ts'])
  })

  it.each(['model', 'http'] as const)('do not include what a person does during a %s call', async (kind) => {
    const { list, context, write, changed } = world({ 'a.ts': 'one' })
    list(['*.ts'])
    await effect(kind, context, () => write('a.ts', 'two'))
    expect(changed()).toEqual(['a.ts'])
  })

  it('include what a failed command leaves behind', async () => {
    const { list, context, write, changed } = world({ 'a.ts': 'one' })
    list(['*.ts'])
    const failed = effect('command', context, () => {
      write('a.ts', 'half formatted')
      throw new Error('exit 1')
    })
    await expect(failed).rejects.toThrow('exit 1')
    expect(changed()).toEqual([])
  })

  it('include files that it writes, moves or deletes', () => {
    const { list, context, at, changed } = world({ 'a.ts': 'one', 'b.ts': 'one', 'c.ts': 'one', 'd/e.ts': 'one' })
    list(['**/*.ts'])
    const call = { context, at: placeAt('x') }
    saveFile(at('a.ts'), 'two', call)
    saveFile(at('new.ts'), 'made', call)
    deleteEntry(at('b.ts'), call)
    moveEntry({ source: at('c.ts'), destination: at('moved.ts'), overwrite: false }, call)
    moveEntry({ source: at('d'), destination: at('f'), overwrite: false }, call)
    expect(changed()).toEqual([])
  })

  it('include files that it accesses by another name', () => {
    const { log, context, at, root, changed } = world({ 'real/a.lua': 'one' })
    symlinkSync(join(root, 'real'), at('link'))
    log.file(at('link/a.lua'), 'one')
    saveFile(at('real/a.lua'), 'two', { context, at: placeAt('x') })
    expect(changed()).toEqual([])
  })

  it('do not include the prompt above a transcript that it writes', () => {
    const { log, context, at, write, changed } = world({ 'a.md': 'Ask.\n\n====\n' })
    log.prompt(at('a.md'), 'Ask.\n\n====\n')
    write('a.md', 'Ask more.\n\n====\n')
    saveFile(at('a.md'), 'Ask more.\n\n====\nanswer\n', { context, at: placeAt('x') })
    expect(changed()).toEqual(['a.md'])
  })

  it('include the prompt above the transcript if it writes exactly that', () => {
    const { log, context, at, changed } = world({ 'a.md': 'Ask.\n' })
    log.prompt(at('a.md'), 'Ask.\n')
    saveFile(at('a.md'), 'Ask for something else.\n', { context, at: placeAt('x') })
    expect(changed()).toEqual([])
  })

  it('do not include a folder that it creates: files of a person in it count', () => {
    const { list, context, at, write, changed } = world({ 'a.ts': 'one' })
    list(['**/*.ts'])
    saveFile(at('made/own.ts'), '', { context, at: placeAt('x') })
    write('made/theirs.ts', '')
    expect(changed()).toEqual(['made/theirs.ts'])
  })

  it('include files that were named as written for it', () => {
    const { log, list, at, write, changed } = world({ 'a.md': 'one' })
    list(['*.md'])
    log.changed(at('out.md'))
    write('out.md', 'the result')
    expect(changed()).toEqual([])
  })

  it('do not hide that a person replaced another file by a rename', async () => {
    const { list, context, at, write, changed } = world({ 'a.ts': 'one', 'b.ts': 'one' })
    list(['*.ts'])
    mkdirSync(at('tmp'))
    await effect('command', context, () => write('a.ts', 'two'))
    write('tmp/b.ts', 'two')
    renameSync(at('tmp/b.ts'), at('b.ts'))
    expect(changed()).toEqual(['b.ts'])
  })
})

describe('a file that is empty for a moment while it is saved', () => {
  /** A log of a later run; each pause of it does the next step. */
  function later(before: WatchPlan, steps: (() => void)[]): { log: SourceLog; pauses: () => number } {
    let pauses = 0
    const log = createSourceLog({
      prints: createPrints({ hashPrompt, now: () => Date.now() }),
      before,
      pause() {
        pauses += 1
        steps.shift()?.()
      },
    })
    return { log, pauses: () => pauses }
  }

  function readBefore(files: { readonly [path: string]: string }) {
    const first = world(files)
    for (const path of Object.keys(files)) first.log.file(first.at(path), files[path])
    return { ...first, before: first.log.plan({ keep: false }) }
  }

  it('is waited for before it is read, looked up or listed', () => {
    const { at, write, before } = readBefore({ 'a.txt': 'one', 'b.txt': 'one' })
    write('a.txt', '')
    const emptied = later(before, [() => undefined, () => write('a.txt', 'two')])
    emptied.log.ready?.(at('b.txt'))
    expect(emptied.pauses()).toBe(0)
    emptied.log.ready?.(at('a.txt'))
    expect(emptied.pauses()).toBe(2)

    rmSync(at('b.txt'))
    const removed = later(before, [() => write('b.txt', 'two')])
    removed.log.ready?.()
    expect(removed.pauses()).toBe(1)
  })

  it('is waited for only once, and not at all if it was empty before or the run itself has removed it', () => {
    const { root, at, write, before } = readBefore({ 'a.txt': 'one', 'b.txt': 'one', 'c.txt': '', 'd.txt': 'one' })
    write('a.txt', '')
    rmSync(at('b.txt'))
    const { log, pauses } = later(before, [])
    log.ready?.(at('a.txt'))
    const once = pauses()
    expect(once).toBeGreaterThan(0)
    log.ready?.(at('a.txt'))
    log.ready?.(at('c.txt'))
    log.ready?.()
    expect(pauses()).toBe(once)

    const own = later(before, [])
    const context = testContext({ workspace: root, hooks: [own.log.hook(root)] })
    deleteEntry(at('d.txt'), { context, at: placeAt('x') })
    own.log.ready?.(at('d.txt'))
    expect(own.pauses()).toBe(0)
  })
})
