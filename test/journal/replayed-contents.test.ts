import { expect, it } from 'vitest'
import { sha256 } from '../../src/base/hash.ts'
import { replayedContents } from '../../src/journal/replayed-contents.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { openMemoryRecords } from '../helpers/memory-journal.ts'

const text = (bytes: Uint8Array | undefined): string | undefined => bytes && Buffer.from(bytes).toString()

it('contents are found by their hash, which is not computed again if it is known', () => {
  const { keep, findKept } = replayedContents(openMemoryRecords([], noMask))
  keep?.({ bytes: 'one' })
  // a hash that does not belong to these bytes shows where it came from
  keep?.({ bytes: Buffer.from('two'), hash: 'known' })
  keep?.({ file: '/gone', hash: 'of a file' })
  expect([sha256('one'), 'known', sha256('two'), 'of a file'].map((hash) => text(findKept?.(hash)))).toEqual([
    'one',
    'two',
    undefined,
    undefined,
  ])
})

it('a content is stored as it was when it was added', () => {
  const { keep, findKept } = replayedContents(openMemoryRecords([], noMask))
  const bytes = Buffer.from('before')
  keep?.({ bytes, hash: 'known' })
  bytes.write('behind')
  expect(text(findKept?.('known'))).toBe('before')
})
