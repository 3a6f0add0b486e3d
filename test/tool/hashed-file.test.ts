import { appendFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { sha256 } from '../../src/base/hash.ts'
import { hashedFile } from '../../src/tool/hashed-file.ts'
import { testContext } from '../helpers/context.ts'
import { tempTree } from '../helpers/temp.ts'

const text = 'a line\n'.repeat(100_000)

it('caches the hash of a file until somebody writes, replaces or removes it', async () => {
  const folder = tempTree({ 'a.txt': text })
  const context = testContext({ workspace: folder })
  const path = join(folder, 'a.txt')
  const others: readonly (() => void)[] = [
    () => writeFileSync(path, text),
    () => appendFileSync(path, ''),
    () => {
      writeFileSync(join(folder, 'b.txt'), text)
      renameSync(join(folder, 'b.txt'), path)
    },
    () => rmSync(path),
  ]
  for (const [index, change] of others.entries()) {
    await wait(200)
    const hashed = await hashedFile(path, context)
    expect([hashed?.hash, hashed?.isUnchanged()]).toEqual([sha256(text), true])
    change()
    // the second change writes nothing
    expect(hashed?.isUnchanged()).toBe(index === 1)
  }
})

it('does not cache a file that was just written, or does not exist', async () => {
  const folder = tempTree({})
  const context = testContext({ workspace: folder })
  writeFileSync(join(folder, 'a.txt'), text)
  expect(await hashedFile(join(folder, 'a.txt'), context)).toBeUndefined()
  expect(await hashedFile(join(folder, 'b.txt'), context)).toBeUndefined()
})
