import { expect, it } from 'vitest'
import { createSseDecoder, type SseEvent } from '../../src/model/sse.ts'

function decode(...pieces: readonly (string | Uint8Array)[]): SseEvent[] {
  const decoder = createSseDecoder()
  const events = pieces.flatMap((piece) => decoder.push(typeof piece === 'string' ? Buffer.from(piece) : piece))
  return [...events, ...decoder.end()]
}

function data(...pieces: readonly (string | Uint8Array)[]): string[] {
  return decode(...pieces).map((event) => event.data)
}

it.each(['\n', '\r\n', '\r'])('ends lines at %j', (end) => {
  expect(data(`data: a${end}${end}data: b${end}${end}`)).toEqual(['a', 'b'])
})

it.each(['\n', '\r\n', '\r'])('returns the same events for a stream with %j split after every byte', (end) => {
  const bytes = Buffer.from(`: hi${end}event: note${end}data: über${end}data: 漢字${end}${end}data: x${end}${end}`)
  expect(decode(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual([
    { name: 'note', data: 'über\n漢字', complete: true },
    { name: '', data: 'x', complete: true },
  ])
})

it('skips a byte order mark and comments', () => {
  expect(data('\uFEFFdata: a\n\n', ': keep-alive\n\n', 'data: b\n\n')).toEqual(['a', 'b'])
})

it('removes only one blank after the colon', () => {
  expect(data('data:a\n\ndata:  b\n\ndata\n\n')).toEqual(['a', ' b', ''])
})

it('ignores unused fields', () => {
  expect(decode('id: 7\nretry: 10\ndata: a\nother: b\n\n')).toEqual([{ name: '', data: 'a', complete: true }])
})

it('returns no event for a name without data', () => {
  expect(decode('event: ping\n\ndata: a\n\n')).toEqual([{ name: '', data: 'a', complete: true }])
})

it('marks a last event without its blank line as incomplete', () => {
  expect(decode('data: a\n\ndata: b')).toEqual([
    { name: '', data: 'a', complete: true },
    { name: '', data: 'b', complete: false },
  ])
})

it('accepts a line of 10 MB that arrives in small pieces', () => {
  const piece = Buffer.alloc(16 * 1024, 'x')
  const pieces = Array.from({ length: 640 }, () => piece)
  const [event, ...others] = data('data: ', ...pieces, '\n\n')
  expect(event).toHaveLength(640 * 16 * 1024)
  expect(others).toEqual([])
})

it('counts the bytes that belong to no finished event', () => {
  const decoder = createSseDecoder()
  decoder.push(Buffer.from('data: abc'))
  expect(decoder.pending()).toBe(9)
  decoder.push(Buffer.from('\n\n'))
  expect(decoder.pending()).toBe(0)
})

it.each([
  ['one id for all', ['7', '7', '7', '7', '7']],
  ['an id that comes again', ['1', '2', '1', '2', '1']],
  ['an id for each', ['1', '2', '3', '4', '5']],
])('returns every event, also equal ones, whatever their ids are: %s', (_, ids) => {
  const texts = ['a', 'a', 'b', 'b', 'a']
  expect(data(...texts.map((text, index) => `id: ${ids[index]}\ndata: ${text}\n\n`))).toEqual(texts)
})

it('returns lines in which servers report failures as events, in order', () => {
  const stream = 'data: a\n\nerror: {"code":1}\n\n{"detail":"b"}\nnoise: c\nInternal error\ndata: d\n\n'
  const events = [
    { name: '', data: 'a', complete: true },
    { name: 'error', data: '{"code":1}', complete: true },
    { name: '', data: '{"detail":"b"}', complete: true },
    { name: '', data: 'd', complete: true },
  ]
  expect(decode(stream)).toEqual(events)
  expect(decode(...[...Buffer.from(stream)].map((byte) => Uint8Array.of(byte)))).toEqual(events)
})

it('recognizes a comment that is split anywhere', () => {
  const decoder = createSseDecoder()
  for (const piece of ['data: a\n\n: data', ': b', '\n', ':', ' c\n\n']) decoder.push(Buffer.from(piece))
  expect(decoder.pending()).toBe(0)
  decoder.push(Buffer.from('da'))
  expect(decoder.pending()).toBe(2)
})
