import { expect, it } from 'vitest'
import { createOutputWindow, lastLines, printedText } from '../../../src/tool/shell/output-window.ts'

/** What is kept of an output that arrives in these pieces, with four bytes at each end. */
function kept(...pieces: readonly string[]) {
  const window = createOutputWindow(4)
  for (const piece of pieces) window.add(Buffer.from(piece))
  const { head, tail, lost } = window.take()
  return [head.toString(), tail.toString(), lost]
}

it('keeps the beginning and the end, and counts what is between them', () => {
  expect(kept()).toEqual(['', '', 0])
  expect(kept('ab')).toEqual(['ab', '', 0])
  expect(kept('abcdef')).toEqual(['abcd', 'ef', 0])
  expect(kept('abcdefgh')).toEqual(['abcd', 'efgh', 0])
  expect(kept('abcdefghij')).toEqual(['abcd', 'ghij', 2])
  expect(kept(...'abcdefghijklmnopqrstuvwxyz'.split(''))).toEqual(['abcd', 'wxyz', 18])
  expect(kept('abc', 'defghijkl', 'm', 'no')).toEqual(['abcd', 'lmno', 7])
})

it('returns the output since the last time', () => {
  const window = createOutputWindow(4)
  window.add(Buffer.from('one'))
  expect(window.take().head.toString()).toBe('one')
  window.add(Buffer.from('two and more'))
  expect(window.take()).toMatchObject({ lost: 4 })
  expect(window.take()).toMatchObject({ head: Buffer.alloc(0), tail: Buffer.alloc(0), lost: 0 })
})

it('shows the last lines, without control sequences, and takes nothing', () => {
  const last = (bytes: string | Buffer, atEachEnd?: number): string => {
    const window = createOutputWindow(atEachEnd)
    window.add(Buffer.from(bytes))
    const lines = lastLines(window, 2)
    expect(window.take().head.length).toBeGreaterThan(0)
    return lines
  }
  expect(last('one\ntwo\nthree\n')).toBe('two\nthree')
  expect(last('one\ntwo\nthree\n', 7)).toBe('two\nthree')
  expect(last('one\ntwo\nthree\n', 6)).toBe('three')
  expect(last('10%\r20%\u001b[2K\r\u001b[32m30%\u001b[0m')).toBe('30%')
  expect(last('\u001b]0;title\u0007\u001b[2Jx\u0007')).toBe('x␇')
  expect(last(Buffer.from([0, 1, 2, 3]))).toBe('')
  expect(last(Buffer.from('caf\u00e9').subarray(0, 4))).toBe('caf')
  // of a long line, the end may be a part of a secret
  expect(last(`${'x'.repeat(5000)}`)).toBe('')
  expect(last(`${'x'.repeat(5000)}\nlast`)).toBe('last')
})

it('uses limited memory however long it continues', () => {
  const window = createOutputWindow()
  const piece = Buffer.alloc(64 * 1024, 'x')
  const before = process.memoryUsage().arrayBuffers
  for (let count = 0; count < 4000; count += 1) window.add(piece)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024)
  expect(window.take().lost).toBe(4000 * 64 * 1024 - 512 * 1024)
})

const text = (bytes: string | Buffer): string =>
  printedText({ head: Buffer.from(bytes), tail: Buffer.alloc(0), lost: 0 })

it('is plain text, as it finally appeared on a terminal', () => {
  expect(text('\u001b[1;31mred\u001b[0m and \u001b]0;title\u0007plain\r\n')).toBe('red and plain\n')
  expect(text('10 %\r50 %\r100 %\ndone\r\n')).toBe('100 %\ndone\n')
  expect(text('b\bbo\bol\bld\bd')).toBe('bold')
  expect(text('\u001b]8;;https://evil.example\u001b\\here\u001b]8;;\u001b\\\u001bP1$r\u001b\\\u001bc')).toBe('here')
  expect(text('a\u0007b\u009bc\u202ed')).toBe('a␇b�c�d')
  expect(text(Buffer.from([0x61, 0xff, 0xe4, 0x0a]))).toBe('a��\n')
  expect(text('\u001b]0;never ended\nnext line')).toBe('\nnext line')
})

it('reports only the size of binary data', () => {
  expect(text(Buffer.alloc(3000))).toBe(
    '[binary data, 3kb: write it to a file, or show a part of it with xxd or base64]',
  )
})

it('does not split a character at an omission', () => {
  const head = Buffer.from('aä').subarray(0, 2)
  const tail = Buffer.from('äb').subarray(1)
  expect(printedText({ head, tail, lost: 1000 })).toBe('a\n[1,000 bytes are not kept: it printed 1kb]\nb')
})

it('keeps the beginning of a character for the next time, while more may come', () => {
  const window = createOutputWindow()
  const bytes = Buffer.from('a€😀b')
  let seen = ''
  for (const byte of bytes) {
    window.add(Buffer.from([byte]))
    seen += printedText(window.take({ isWhole: false }))
  }
  expect(seen).toBe('a€😀b')
  window.add(bytes.subarray(0, 2))
  expect(printedText(window.take({ isWhole: false }))).toBe('a')
  expect(printedText(window.take())).toBe('\ufffd')
  expect(window.take().head).toHaveLength(0)
})

it('drops bytes that begin no character', () => {
  const window = createOutputWindow(4)
  for (const bytes of [[0xff], [0x80, 0x80, 0x80, 0x80], [0xe2, 0x41], [0xf0, 0x9f, 0x98, 0x80]]) {
    window.add(Buffer.from(bytes))
    expect(window.take({ isWhole: false }).head).toHaveLength(bytes.length)
    expect(window.size()).toBe(0)
  }
  window.add(Buffer.from('abcdefgh€').subarray(0, 10))
  expect(window.take({ isWhole: false })).toMatchObject({ lost: 2 })
})
