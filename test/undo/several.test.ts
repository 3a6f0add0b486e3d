import { rmSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { saveFile } from '../../src/tool/workspace-files.ts'
import { undoWorld } from './world.ts'

it('restores what several runs have changed, the newest first, and leaves out what is undone already', async () => {
  const { run, undo, undoAll, look } = undoWorld({ 'a.txt': 'one\n' })
  const before = look()
  const first = await run((at, call) => saveFile(at('a.txt'), 'two\n', call()))
  const second = await run((at, call) => saveFile(at('a.txt'), 'three\n', call()))
  const third = await run((at, call) => saveFile(at('b.txt'), 'b\n', call()))
  await undo(third)
  expect(await undoAll([third, second, first])).toMatchObject({
    kind: 'undone',
    reports: [{ items: [{ path: 'a.txt', outcome: 'restored' }] }, { items: [{ path: 'a.txt', outcome: 'restored' }] }],
  })
  expect(look()).toEqual(before)
})

it('leaves everything as it is if a file of any of them has changed since', async () => {
  const { run, undoAll, look, at } = undoWorld({ 'a.txt': 'one\n' })
  const first = await run((path, call) => saveFile(path('old.txt'), 'old\n', call()))
  const second = await run((path, call) => saveFile(path('a.txt'), 'two\n', call()))
  writeFileSync(at('old.txt'), 'mine\n')
  const before = look()
  expect(await undoAll([second, first])).toMatchObject({
    kind: 'refused',
    items: [{ path: 'old.txt', why: 'it has changed since the run' }],
  })
  expect(look()).toEqual(before)
  rmSync(at('old.txt'))
  expect(await undoAll([second, first])).toMatchObject({ kind: 'undone' })
})
