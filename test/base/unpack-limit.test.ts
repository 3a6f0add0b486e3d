import { deflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { openPdfText } from '../../src/base/pdf-text.ts'
import { openPdf } from '../../src/base/pdf.ts'
import { withUnpackLimit } from '../../src/base/unpack-limit.ts'
import { packedPdf, packedTwice } from '../helpers/packed-pdf.ts'

const most = 1024 * 1024
const spaces = deflateSync(Buffer.alloc(4 * most, ' '))

describe('a document that expands when it is unpacked is refused at the limit', () => {
  it.each([
    ['compressed', '/FlateDecode', spaces],
    ['compressed twice', '[/FlateDecode/FlateDecode]', packedTwice(4 * most)],
    ['compressed in hexadecimal digits', '[/ASCIIHexDecode/FlateDecode]', Buffer.from(`${spaces.toString('hex')}>`)],
    ['of repeated bytes', '/RunLengthDecode', Buffer.from('81'.padEnd(4, '20').repeat(40_000), 'hex')],
  ])('%s', async (_kind, filter, content) => {
    const bytes = packedPdf({ filter, content })
    const text = async (): Promise<string> => (await openPdfText(bytes)).page(1)
    await expect(withUnpackLimit({ name: 'a.pdf', most }, text)).rejects.toThrow(
      'a.pdf cannot be read: it needs more than 1mb when it is unpacked',
    )
    expect(await withUnpackLimit({ name: 'a.pdf' }, text)).toBe('')
  })

  it('in the list of its objects', async () => {
    const objects = Buffer.alloc(4 * most, ' ')
    objects.write('9 0 \n<<>>')
    const bytes = packedPdf({ filter: '/FlateDecode', content: deflateSync(objects), isObjects: true })
    await expect(withUnpackLimit({ name: 'a.pdf', most }, () => openPdf(bytes, 'a.pdf'))).rejects.toThrow(
      'a.pdf cannot be read: it needs more than 1mb when it is unpacked',
    )
    expect(await withUnpackLimit({ name: 'a.pdf' }, () => openPdf(bytes, 'a.pdf'))).toMatchObject({ pageCount: 1 })
  })

  it('while other failures are unchanged', async () => {
    const { Uint8Array: before } = globalThis
    const failing = (): Promise<never> => Promise.reject(new Error('other'))
    await expect(withUnpackLimit({ name: 'a.pdf', most }, failing)).rejects.toThrow('other')
    expect(globalThis.Uint8Array).toBe(before)
  })
})
