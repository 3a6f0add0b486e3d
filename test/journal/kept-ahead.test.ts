import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sha256 } from '../../src/base/hash.ts'
import { createMask } from '../../src/journal/secrets.ts'
import { openRun } from '../../src/journal/store.ts'
import { newRunFolder } from './fixtures/run-folder.ts'

const { signal } = new AbortController()
const secret = 'sk-example-1234567890'

async function world() {
  const folder = newRunFolder()
  const mask = createMask({ EXAMPLE_API_KEY: secret })
  const journal = await openRun({ folder, now: () => new Date(0), mask })
  const file = join(dirname(dirname(folder)), 'large.txt')
  const blobs = (): readonly string[] => {
    try {
      return readdirSync(join(folder, 'blobs'))
    } catch {
      return []
    }
  }
  return { journal, file, blobs }
}

const large = 'a line of a large file\n'.repeat(16_000)

describe('content that is stored before its change', () => {
  it('is not read again by the change, of a file or of bytes', async () => {
    const { journal, file, blobs } = await world()
    writeFileSync(file, large)
    const hash = sha256(large)
    const bytes = Buffer.from(`${large}more\n`)
    await journal.keepAhead?.({ file, hash }, signal)
    await journal.keepAhead?.({ bytes, hash: sha256(bytes) }, signal)
    expect(blobs().toSorted()).toEqual([hash, sha256(bytes)].toSorted())
    rmSync(file)
    journal.keep?.({ file, hash })
    expect(Buffer.from(journal.findKept?.(hash) ?? []).toString()).toBe(large)
    expect(Buffer.from(journal.findKept?.(sha256(bytes)) ?? [])).toEqual(bytes)
    await journal.close()
  })

  it('is left to the change if it contains a secret, also across two chunks', async () => {
    const { journal, blobs } = await world()
    const edge = 128 * 1024
    for (const at of [1000, edge - 5, edge]) {
      const bytes = Buffer.from(`${large.slice(0, at)}${secret}${large}`)
      const hash = sha256(bytes)
      await journal.keepAhead?.({ bytes, hash }, signal)
      expect(blobs().filter((name) => name.startsWith(hash) || name.endsWith('.tmp'))).toEqual([])
      journal.keep?.({ bytes, hash })
      expect(blobs()).toContain(`${hash}.masked`)
    }
    await journal.close()
  })

  it('is left to the change if it has changed since, or cannot be read', async () => {
    const { journal, file, blobs } = await world()
    writeFileSync(file, 'other')
    await journal.keepAhead?.({ file, hash: sha256(large) }, signal)
    await journal.keepAhead?.({ file: `${file}.gone`, hash: sha256(large) }, signal)
    expect(blobs()).toEqual([])
    await journal.close()
  })

  it('counts towards the size of the run', async () => {
    const { journal, blobs } = await world()
    journal.limitSize?.(100_000)
    const keeping = journal.keepAhead?.({ bytes: Buffer.from(large), hash: sha256(large) }, signal)
    await expect(keeping).rejects.toMatchObject({ code: 'RUN_TOO_LARGE' })
    expect(blobs()).toEqual([])
    await journal.close()
  })
})
