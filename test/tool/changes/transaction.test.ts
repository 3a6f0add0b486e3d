import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BatonError } from '../../../src/base/error.ts'
import { sha256 } from '../../../src/base/hash.ts'
import { type RunContext, withServices } from '../../../src/event/context.ts'
import { placeText, type Place } from '../../../src/event/place.ts'
import type { Directive } from '../../../src/tool/changes/directive.ts'
import { applyTransaction, type TransactionResult } from '../../../src/tool/changes/transaction.ts'
import { testContext } from '../../helpers/context.ts'
import { makeTree, readModes, readTree, type Tree } from './tree.ts'
import { tempTree } from '../../helpers/temp.ts'
import { placeAt } from '../../helpers/effects.ts'
import type { Effects } from '../../../src/event/effects.ts'

/** Called before a file effect at a path; if it throws, the effect ends with that. */
type Meddling = (path: string) => void

function meddled(context: RunContext, meddle: Meddling): RunContext {
  const { effects } = context.services
  const changeFile: Effects['changeFile'] = (at, asked, plan) =>
    effects.changeFile(at, asked, (allow) => {
      const planned = plan(allow)
      if (planned === undefined) return undefined
      const { record, act } = planned
      return {
        record,
        act: (disk) => {
          meddle(record.path)
          act(disk)
        },
      }
    })
  return withServices(context, { effects: { ...effects, changeFile } })
}

function failsAt(failing: string): Meddling {
  return (path) => {
    if (path === failing) throw new BatonError('FILE_FAILED', `write of ${path} failed: EACCES: permission denied`)
  }
}

/** Fails at the first effect at a path, after part of it has been done. */
function failsHalfWay(failing: string, half: () => void): Meddling {
  let isOver = false
  return (path) => {
    if (isOver || path !== failing) return
    isOver = true
    half()
    throw new BatonError('FILE_FAILED', 'stopped half-way')
  }
}

function apply(root: string, directives: readonly Directive[], context: RunContext): Promise<TransactionResult> {
  const options = { baseDir: root, partial: false, shown: undefined }
  return applyTransaction(directives, options, { context, at: placeAt('apply') })
}

const write = (filePath: string, content = 'new\n'): Directive => ({ kind: 'New', filePath, content })
const append = (filePath: string): Directive => ({ kind: 'Append', filePath, content: '2\n' })
const undone = 'undone, because another change of the answer failed'

describe('a failed write', () => {
  const tree: Tree = {
    a: 'a\n',
    'run.sh': '#!/bin/sh\n',
    log: '1\n',
    over: 'over\n',
    source: 'source\n',
    'folder/x': 'x\n',
    'folder/deep/y': new Uint8Array([0xff, 0, 1]),
    'gone/run': 'run\n',
    'gone/empty/': '',
    'gone/link': { link: '../a' },
    'gone/dangling': { link: '/nowhere/at/all' },
    link: { link: 'a' },
  }
  const modes = { 'run.sh': 0o755, 'gone/run': 0o751, 'gone/empty': 0o700, gone: 0o750, over: 0o600, log: 0o640 }
  const directives: readonly Directive[] = [
    write('a'),
    { kind: 'Patch', filePath: 'run.sh', content: '@@\n #!/bin/sh\n+true\n' },
    append('log'),
    { kind: 'Copy', fromPath: 'a', filePath: 'copies/of/a' },
    { kind: 'Copy', fromPath: 'log', filePath: 'over' },
    { kind: 'Rename', fromPath: 'source', filePath: 'over' },
    { kind: 'Rename', fromPath: 'folder', filePath: 'moved/folder' },
    { kind: 'Patch', filePath: 'moved/folder/x', content: '@@\n-x\n+X\n' },
    { kind: 'Delete', filePath: 'gone' },
    write('gone', 'a file now\n'),
    { kind: 'Delete', filePath: 'link' },
    write('made/here/b'),
  ]

  it('restores everything, byte for byte, with modes, links and folders', async () => {
    const root = makeTree({ ...tree, 'swapped/': '' }, modes)
    const elsewhere = tempTree({ 'kept.txt': 'kept' })
    const before = readModes(root)
    const context = meddled(testContext({ workspace: root }), (path) => {
      if (path !== 'swapped/new/x') return
      // what another process may do between the check and the write
      rmSync(join(root, 'swapped'), { recursive: true })
      symlinkSync(elsewhere, join(root, 'swapped'))
    })
    const result = await apply(root, [...directives, write('swapped/new/x'), write('never')], context)

    expect(result).toMatchObject({
      kind: 'rolled_back',
      notRestored: [],
      error: expect.stringMatching(/swapped now leads somewhere else: a link was put in its path$/),
    })
    expect(readdirSync(elsewhere)).toEqual(['kept.txt'])
    rmSync(join(root, 'swapped'))
    mkdirSync(join(root, 'swapped'))
    const items = 'items' in result ? result.items : []
    expect(items.filter((item) => item.error_msg !== undone)).toHaveLength(1)
    expect(readTree(root)).toEqual({ ...tree, 'swapped/': '' })
    expect(readModes(root)).toEqual(before)
  })

  it.each(directives.map(({ filePath, kind }, index) => [`${kind} of ${filePath}`, index] as const))(
    'is reverted wherever it happens: %s',
    async (_, index) => {
      const root = makeTree(tree, modes)
      const before = readModes(root)
      let count = -1
      const context = meddled(testContext({ workspace: root }), () => {
        count += 1
        if (count === index) throw new BatonError('FILE_FAILED', 'ENOSPC: no space left on device')
      })
      const result = await apply(root, directives, context)

      expect(result).toMatchObject({ kind: 'rolled_back', error: 'ENOSPC: no space left on device', notRestored: [] })
      expect(result).toMatchObject({
        items: directives.map((directive, at) => ({
          kind: directive.kind,
          success: false,
          error_msg: at === index ? 'ENOSPC: no space left on device' : undone,
        })),
      })
      expect(readTree(root)).toEqual(tree)
      expect(readModes(root)).toEqual(before)
    },
  )

  it('in a folder that is not writable is undone, even if partial results are allowed', async () => {
    const root = makeTree({ a: 'a\n', 'locked/b': 'b\n', c: 'c\n' })
    const context = meddled(testContext({ workspace: root }), failsAt('locked/b'))
    const set: readonly Directive[] = [
      write('a'),
      { kind: 'Patch', filePath: 'locked/b', content: '@@\n-b\n+B\n' },
      { kind: 'Delete', filePath: 'c' },
    ]
    const options = { baseDir: root, partial: true, shown: undefined }
    expect(await applyTransaction(set, options, { context, at: [] })).toEqual({
      kind: 'rolled_back',
      error: 'write of locked/b failed: EACCES: permission denied',
      notRestored: [],
      items: [
        { file_path: 'a', kind: 'New', success: false, error_msg: undone },
        {
          file_path: 'locked/b',
          kind: 'Patch',
          success: false,
          error_msg: 'write of locked/b failed: EACCES: permission denied',
        },
        { file_path: 'c', kind: 'Delete', success: false, error_msg: undone },
      ],
    })
    expect(readTree(root)).toEqual({ a: 'a\n', 'locked/b': 'b\n', c: 'c\n' })
  })

  it.each([
    ['a folder deleted in part', 'gone', (root: string) => rmSync(join(root, 'gone/run'))],
    ['a text added in part', 'log', (root: string) => appendFileSync(join(root, 'log'), '2')],
  ] as const)('that is half done is undone too: %s', async (_, failing, half) => {
    const root = makeTree(tree, modes)
    const before = readModes(root)
    const context = meddled(
      testContext({ workspace: root }),
      failsHalfWay(failing, () => half(root)),
    )
    const set: readonly Directive[] = [
      write('a'),
      failing === 'log' ? append('log') : { kind: 'Delete', filePath: failing },
    ]
    expect(await apply(root, set, context)).toMatchObject({
      kind: 'rolled_back',
      error: 'stopped half-way',
      notRestored: [],
    })
    expect(readTree(root)).toEqual(tree)
    expect(readModes(root)).toEqual(before)
  })

  it('because of a file that someone else just created does not change that file', async () => {
    const root = makeTree({ a: 'a\n' })
    const context = meddled(testContext({ workspace: root }), (path) => {
      if (path === 'lib/b') writeFileSync(join(root, 'lib'), 'not ours')
    })
    const result = await apply(root, [write('a'), write('lib/b')], context)
    expect(result).toMatchObject({ kind: 'rolled_back', notRestored: [] })
    expect(readTree(root)).toEqual({ a: 'a\n', lib: 'not ours' })
  })

  it('removes only folders that are empty again', async () => {
    const root = makeTree({ a: 'a\n' })
    const context = meddled(testContext({ workspace: root }), (path) => {
      if (path !== 'lib/deep/c') return
      mkdirSync(join(root, 'lib/other'))
      throw new BatonError('FILE_FAILED', 'EIO')
    })
    await apply(root, [write('lib/deep/b'), write('lib/deep/c')], context)
    expect(readTree(root)).toEqual({ a: 'a\n', 'lib/other/': '' })
  })

  it('that cannot be undone is reported, while the rest is restored', async () => {
    const root = makeTree({ a: 'a\n', b: 'b\n' })
    let writes = 0
    const context = meddled(testContext({ workspace: root }), (path) => {
      if (path === 'a') writes += 1
      if (path === 'c' || (path === 'a' && writes > 1)) throw new BatonError('FILE_FAILED', `${path}: EIO`)
    })
    const set: readonly Directive[] = [{ kind: 'Delete', filePath: 'b' }, write('a'), write('c')]
    expect(await apply(root, set, context)).toMatchObject({
      kind: 'rolled_back',
      error: 'c: EIO',
      notRestored: ['a: EIO'],
    })
    expect(readTree(root)).toEqual({ a: 'new\n', b: 'b\n' })
  })

  it('is undone to the state before the set also when the run was resumed in between', async () => {
    const root = makeTree({ a: 'a\n', b: 'b\n' })
    const known = new Map<string, unknown>()
    const call = (meddle: Meddling): Promise<TransactionResult> => {
      const context = meddled(testContext({ workspace: root }), meddle)
      const recall = <T>(at: Place, work: () => T): T => {
        const place = placeText(at)
        if (!known.has(place)) known.set(place, work())
        return known.get(place) as T
      }
      const { effects } = context.services
      const recalling: Effects = {
        ...effects,
        observe: (at, observation, read) => recall(at, () => effects.observe(at, observation, read)),
        observeAsync: (at, observation, read) => recall(at, () => effects.observeAsync(at, observation, read)),
        changeFile: (at, asked, plan) => recall(at, () => effects.changeFile(at, asked, plan)),
      }
      const set: readonly Directive[] = [write('a'), { kind: 'Delete', filePath: 'b' }, write('c')]
      return apply(root, set, withServices(context, { effects: recalling }))
    }
    const killed = call((path) => {
      if (path === 'c') throw new Error('killed')
    })
    await expect(killed).rejects.toThrow('killed')
    expect(readTree(root)).toEqual({ a: 'new\n' })

    expect(await call(failsAt('c'))).toMatchObject({ kind: 'rolled_back', notRestored: [] })
    expect(readTree(root)).toEqual({ a: 'a\n', b: 'b\n' })
  })
})

describe('applyTransaction', () => {
  it('keeps modes, and records every write and every revert at its own place', async () => {
    const root = makeTree({ a: 'a\n', b: 'b\n' }, { a: 0o755 })
    const context = testContext({ workspace: root })
    expect((await apply(root, [write('a'), { kind: 'Rename', fromPath: 'b', filePath: 'c' }], context)).kind).toBe(
      'applied',
    )
    expect(readModes(root)).toMatchObject({ a: 0o755 })

    await apply(root, [{ kind: 'Delete', filePath: 'a' }, write('z')], meddled(context, failsAt('z')))
    const places = context.records.flatMap((record) => (record.k === 'started' ? [record.p] : []))
    expect(places).toEqual(['apply/0', 'apply/1', 'apply/0', 'apply/1', 'apply/undo/0/0', 'apply/undo/0/1'])
    expect(context.sent.map((event) => ('op' in event ? event.op : ''))).toEqual([
      'write',
      'move',
      'delete',
      'write',
      'chmod',
    ])
    expect(readModes(root)).toMatchObject({ a: 0o755 })
  })

  it('returns plain JSON, with the failed hunks', async () => {
    const root = makeTree({ a: 'a\n' })
    const set: readonly Directive[] = [
      { kind: 'Patch', filePath: 'a', content: '@@\n-a\n+A\n@@\n-none\n+X\n' },
      { kind: 'New', filePath: '../out', content: '' },
    ]
    const options = { baseDir: root, partial: true, shown: new Map<string, string>() }
    const result = await applyTransaction(set, options, { context: testContext({ workspace: root }), at: [] })
    const cause = 'its context and removed lines are not in the file'
    expect(result).toEqual({
      kind: 'applied',
      items: [
        {
          file_path: 'a',
          kind: 'Patch',
          success: false,
          error_msg: `1 of 2 hunks failed: ${cause}`,
          error_hunks: [{ hunk_body: '@@\n-none\n+X', cause }],
        },
        { file_path: '../out', kind: 'New', success: false, error_msg: `../out leads out of ${root}` },
      ],
    })
    expect(JSON.parse(JSON.stringify(result))).toEqual(result)
  })

  it('names files relative to the base folder, even if the answer does not', async () => {
    const root = makeTree({ a: 'a\n', b: 'b\n', c: 'c\n' })
    const set: readonly Directive[] = [
      write(join(root, 'sub/n')),
      { kind: 'Rename', fromPath: join(root, 'b'), filePath: join(root, 'd') },
      { kind: 'Delete', filePath: 'c' },
      write(root),
      write('/elsewhere'),
    ]
    const options = { baseDir: root, partial: true, shown: undefined }
    const result = await applyTransaction(set, options, { context: testContext({ workspace: root }), at: [] })
    const paths = 'items' in result ? result.items.map((item) => item.file_path) : []
    expect(paths).toEqual(['sub/n', 'd', 'c', '.', '/elsewhere'])
    expect(readTree(root)).toEqual({ a: 'a\n', d: 'b\n', 'sub/n': 'new\n' })
  })

  it('does nothing when there is nothing to do, or the run was stopped', async () => {
    const root = makeTree({ a: 'a\n' })
    const context = testContext({ workspace: root })
    expect(await apply(root, [], context)).toEqual({ kind: 'applied', items: [] })
    const signal = AbortSignal.abort(new Error('stopped'))
    await expect(apply(root, [write('a')], withServices(context, { signal }))).rejects.toThrow('stopped')
    expect(readTree(root)).toEqual({ a: 'a\n' })
  })

  it('refuses to remove what it could not restore', async () => {
    const root = makeTree({ a: 'a\n', 'big/file': '', 'pipes/x': '' })
    truncateSync(join(root, 'big/file'), 129 * 1024 * 1024)
    execFileSync('mkfifo', [join(root, 'pipes/pipe')])
    const context = testContext({ workspace: root })
    for (const [filePath, reason] of [
      ['big', /more than 128 MB or 20000 files, too much to restore/],
      ['pipes', /pipes\/pipe is a device or pipe, which could not be restored/],
    ] as const) {
      expect(await apply(root, [write('a'), { kind: 'Delete', filePath }], context)).toMatchObject({
        kind: 'refused',
        items: [{ success: false }, { kind: 'Delete', success: false, error_msg: expect.stringMatching(reason) }],
      })
    }
    expect(context.sent).toEqual([])
  })

  it('recognizes a file that was shown under another name of its folder', async () => {
    const root = makeTree({ 'real/a': 'a\n', dir: { link: 'real' } })
    const shown = new Map([[join(root, 'dir/a'), sha256('a\n')]])
    const options = { baseDir: root, partial: false, shown }
    const call = { context: testContext({ workspace: root }), at: [] }
    expect((await applyTransaction([write('real/a')], options, call)).kind).toBe('applied')
    expect(await applyTransaction([write('real/a', 'newer\n')], options, call)).toEqual({
      kind: 'stale',
      paths: ['real/a'],
      unseen: [],
    })
    expect((await applyTransaction([write('real/a', 'newer\n')], { ...options, shown: undefined }, call)).kind).toBe(
      'applied',
    )
  })
})
