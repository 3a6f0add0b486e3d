import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import type { OutputLost } from '../src/base/error.ts'
import { createOutlet } from '../src/process.ts'
import { tempTree } from './helpers/temp.ts'

/** No descriptor: only the stream exists. */
const none = -1

function failing(code: string): Writable {
  const error = Object.assign(new Error(`${code}: no`), { code })
  return new Writable({ write: (_chunk, _encoding, done) => void setImmediate(done, error) })
}

it('the process ends when its last write has finished', async () => {
  const parts: string[] = []
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      setImmediate(() => {
        parts.push(chunk)
        done()
      })
    },
  })
  const outlet = createOutlet({ stream, descriptor: none, onLost: () => undefined })
  outlet.write('a')
  outlet.write('b')
  expect(await outlet.end()).toBeUndefined()
  expect(parts).toEqual(['a', 'b'])
})

it.each([
  ['EPIPE', 141],
  ['ECONNRESET', 141],
  ['ENOSPC', 1],
  ['EIO', 1],
])('reports an error that occurs after a write once: %s is exit code %i', async (code, exitCode) => {
  const told: OutputLost[] = []
  const outlet = createOutlet({ stream: failing(code), descriptor: none, onLost: (lost) => told.push(lost) })
  outlet.write('a')
  outlet.write('b')
  expect(told).toEqual([])
  const lost = await outlet.end()
  expect(told).toEqual([lost])
  expect(lost).toMatchObject({ exitCode, cause: { code } })
  outlet.write('c')
  expect(await outlet.end()).toBe(lost)
})

it('writes a whole file, and reports at once when it cannot be written', async () => {
  const file = join(tempTree({ 'result.txt': '' }), 'result.txt')
  const text = 'ü\n'.repeat(200_000)
  const stream = new Writable({ write: () => expect.unreachable() })
  const descriptor = openSync(file, 'w')
  const outlet = createOutlet({ stream, descriptor, onLost: () => expect.unreachable() })
  outlet.write(text)
  expect(await outlet.end()).toBeUndefined()
  closeSync(descriptor)
  expect(readFileSync(file, 'utf8')).toBe(text)

  const readOnly = openSync(file, 'r')
  const told: OutputLost[] = []
  createOutlet({ stream, descriptor: readOnly, onLost: (lost) => told.push(lost) }).write('more')
  closeSync(readOnly)
  expect(told).toMatchObject([{ exitCode: 1, cause: { code: 'EBADF' } }])
})
