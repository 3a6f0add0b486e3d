import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { FileChangeRecord } from '../../src/event/effects.ts'
import { findOwnChanges, ownChangesHook } from '../../src/tool/own-changes.ts'
import { tempTree } from '../helpers/temp.ts'

function world(files: { readonly [path: string]: string }) {
  const root = tempTree({ ...files, 'home/x': '' })
  const around = { env: {}, home: join(root, 'home') }
  const hook = ownChangesHook(root, around)
  const at = (path: string): string => join(root, path)
  return {
    at,
    hook,
    write: (path: string, text: string) => writeFileSync(at(path), text),
    change: (record: Partial<FileChangeRecord>, act: () => void) => hook.change?.(record as FileChangeRecord, act),
    /** The paths among these that are as Baton has left them. */
    own: (paths: readonly string[], since = 0) =>
      [...findOwnChanges(paths.map(at), since, around).own].map((path) => path.slice(root.length + 1)),
    isPending: (paths: readonly string[]) => findOwnChanges(paths.map(at), 0, around).isPending,
  }
}

describe('the changes of an undo or a resumed run', () => {
  it('are recognized as long as the content is the one they left', () => {
    const { own, change, write, at } = world({ 'a.txt': 'one', 'b.txt': 'one', 'c.txt': 'one' })
    change({ op: 'write', path: 'a.txt' }, () => write('a.txt', 'two'))
    change({ op: 'delete', path: 'b.txt' }, () => rmSync(at('b.txt')))
    expect(own(['a.txt', 'b.txt', 'c.txt'])).toEqual(['a.txt', 'b.txt'])
    write('a.txt', 'saved')
    write('b.txt', 'saved')
    expect(own(['a.txt', 'b.txt'])).toEqual([])
  })

  it('count only if they are later than what the run read', () => {
    const { own, change, write } = world({ 'a.txt': 'one' })
    change({ op: 'write', path: 'a.txt' }, () => write('a.txt', 'two'))
    expect(own(['a.txt'], Date.now() + 1_000)).toEqual([])
  })

  it('include files of a removed folder', () => {
    const { own, change, at } = world({ 'd/e/a.txt': 'one' })
    change({ op: 'delete', path: 'd' }, () => rmSync(at('d'), { recursive: true }))
    expect(own(['d/e/a.txt'])).toEqual(['d/e/a.txt'])
  })

  it('include what a command changed while it ran, and wait for a command that is still running', async () => {
    const { own, hook, isPending, write, at } = world({ 'a.txt': 'one', 'b.txt': 'one', 'd/c.txt': 'one' })
    await hook.effect?.('command', async () => {
      write('a.txt', 'two')
      rmSync(at('d/c.txt'))
      expect([isPending(['a.txt']), isPending(['d/c.txt'])]).toEqual([true, true])
      expect(own(['a.txt'])).toEqual([])
    })
    expect(own(['a.txt', 'd/c.txt'])).toEqual(['a.txt', 'd/c.txt'])
    expect(isPending(['a.txt'])).toBe(false)
    // later than the times of a file system can be off
    await new Promise((resolve) => setTimeout(resolve, 50))
    write('a.txt', 'saved')
    expect(own(['a.txt'])).toEqual([])
  })

  it('do not include effects that change no files', async () => {
    const { own, hook, write } = world({ 'a.txt': 'one' })
    await hook.effect?.('model', async () => write('a.txt', 'two'))
    expect(own(['a.txt'])).toEqual([])
  })

  it('do not wait for a killed process, and skip a truncated line', () => {
    const { own, change, isPending, write, at } = world({ 'a.txt': 'one' })
    const folder = at('home/.local/state/baton')
    mkdirSync(folder, { recursive: true })
    const killed = { id: '1', pid: 999_999_999, from: Date.now() - 1_000 }
    writeFileSync(join(folder, 'own-changes.jsonl'), `${JSON.stringify(killed)}\n{"id":"2","pi\n`)
    change({ op: 'write', path: 'a.txt' }, () => write('a.txt', 'two'))
    expect(own(['a.txt'])).toEqual(['a.txt'])
    write('a.txt', 'three')
    expect(isPending(['a.txt'])).toBe(false)
  })
})
