import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sha256 } from '../../../src/base/hash.ts'
import type { OverlayChange } from '../../../src/event/overlay.ts'
import { createOverlay, diskSpace, notePlanned, overlaid } from '../../../src/tool/changes/change-space.ts'
import { testContext } from '../../helpers/context.ts'
import { tempTree } from '../../helpers/temp.ts'

function world(tree: { readonly [path: string]: string }, most?: number) {
  const folder = tempTree(tree)
  const overlay = createOverlay(most)
  const at = (path: string): string => join(folder, path)
  return {
    folder,
    at,
    overlay,
    files: overlaid(overlay, diskSpace(folder, testContext({ workspace: folder })).files),
    write: (path: string, text: string) => overlay.add({ op: 'write', path: at(path), hash: sha256(text) }, text),
    move: (from: string, path: string) => overlay.add({ op: 'move', from: at(from), path: at(path) }),
  }
}

it('shows files as they would be after writes, moves and deletions, and the disk elsewhere', () => {
  const { files, write, move, overlay, at } = world({ 'a.txt': 'a', 'old/b.txt': 'b', 'old/c.txt': 'c', 'd.txt': 'd' })
  write('a.txt', 'aa')
  write('old/b.txt', 'bb')
  move('old', 'new')
  write('deep/x/e.txt', 'e')
  overlay.add({ op: 'copy', from: at('d.txt'), path: at('copy.txt') })
  overlay.add({ op: 'delete', path: at('d.txt') })
  const texts = ['a.txt', 'new/b.txt', 'new/c.txt', 'deep/x/e.txt', 'copy.txt'].map((path) => files.textAt(at(path)))
  expect(texts).toEqual(['aa', 'bb', 'c', 'e', 'd'])
  const kinds = ['old', 'old/c.txt', 'd.txt', 'deep/x', 'deep', 'new'].map((path) => files.kindAt(at(path)))
  expect(kinds).toEqual([undefined, undefined, undefined, 'folder', 'folder', 'folder'])
  expect(files.bytesAt(at('new/c.txt'))).toBe(1)
})

it('follows links on the disk, and removes a link without its target', () => {
  const { folder, files, write, overlay, at } = world({ 'real/a.txt': 'a' })
  symlinkSync('real', join(folder, 'link'))
  symlinkSync('real/a.txt', join(folder, 'file'))
  write('link/a.txt', 'aa')
  expect(files.textAt(at('real/a.txt'))).toBe('aa')
  write('file', 'aaa')
  expect([files.textAt(at('real/a.txt')), files.textAt(at('file'))]).toEqual(['aaa', 'aaa'])
  overlay.add({ op: 'delete', path: at('file') })
  expect([files.kindAt(at('file')), files.textAt(at('link/a.txt'))]).toEqual([undefined, 'aaa'])
})

it('has a limited size, and stores only the last content of each file', () => {
  const { write, files, at } = world({}, 100)
  for (let count = 0; count < 50; count += 1) expect(write('a.txt', `${count}`.padEnd(60, 'x'))).toBe(true)
  expect(write('b.txt', 'y'.repeat(41))).toBe(false)
  expect(files.kindAt(at('b.txt'))).toBeUndefined()
  expect(files.textAt(at('a.txt')).startsWith('49')).toBe(true)
})

it('reads texts that are stored with the run, and knows which files the run would have created', () => {
  const { folder, overlay, files, at } = world({ 'a.txt': 'a' })
  const { services } = testContext({ workspace: folder })
  const kept = {
    find: (hash: string) => (hash === sha256('kept') ? 'kept' : undefined),
    keep() {},
    async keepAhead() {},
  }
  const write = (path: string, text: string): OverlayChange => ({ op: 'write', path: at(path), hash: sha256(text) })
  const changes = [write('a.txt', 'given'), write('b.txt', 'kept'), write('c.txt', 'lost')]
  const given = new Map([[sha256('given'), 'given']])
  expect(notePlanned(changes, given, { ...services, planned: overlay, texts: kept })).toBe(true)
  expect(['a.txt', 'b.txt'].map((path) => files.textAt(at(path)))).toEqual(['given', 'kept'])
  expect(files.kindAt(at('c.txt'))).toBeUndefined()
  expect(['a.txt', 'b.txt'].map((path) => services.sources.made(at(path)))).toEqual([false, true])
})
