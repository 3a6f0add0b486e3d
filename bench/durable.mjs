import { randomBytes } from 'node:crypto'
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { figure, interleave, quotients } from './rounds.mjs'

/** How fast the journal must be, by the number of callers that wait for their records at the same time. */
const floors = { 1: 0.6, 8: 2.5, 64: 8 }

/**
 * Durable records per second, with callers that each wait until their record is on disk before they submit the next
 * one; against a bare loop that writes the same bytes and calls fdatasync after each.
 */
export async function durable({ library, folder, small }) {
  const { openRun } = await import(`${library}/journal/store.js`)
  const each = small ? 5 : 400
  const value = 'x'.repeat(900)
  // signed, like the journals of all runs
  const key = randomBytes(32)
  let runs = 0

  function appended(callers) {
    return async () => {
      const journal = await openRun({ folder: join(folder, `run-${(runs += 1)}`), now: () => new Date(), key })
      await journal.append({ k: 'done', p: 'first', value })
      const started = performance.now()
      await Promise.all(
        Array.from({ length: callers }, async (_, caller) => {
          for (let turn = 0; turn < each; turn += 1) {
            await journal.append({ k: 'done', p: `task/${caller}/${turn}`, value })
          }
        }),
      )
      const rate = (callers * each) / (performance.now() - started)
      await journal.close()
      return rate
    }
  }

  async function bare() {
    const file = openSync(join(folder, `bare-${(runs += 1)}`), 'ax')
    const line = Buffer.from(`${'x'.repeat(1000)}\n`)
    writeSync(file, line)
    fdatasyncSync(file)
    const started = performance.now()
    for (let turn = 0; turn < each; turn += 1) {
      writeSync(file, line)
      fdatasyncSync(file)
    }
    const rate = each / (performance.now() - started)
    closeSync(file)
    return rate
  }

  const cases = Object.fromEntries(Object.keys(floors).map((callers) => [callers, appended(Number(callers))]))
  const results = await interleave({ bare, ...cases }, small ? 1 : 9)
  return Object.entries(floors).map(([callers, atLeast]) =>
    figure(`durable records per second, ${callers} ${callers === '1' ? 'caller' : 'callers'}`, {
      of: 'a bare write and fdatasync loop',
      ratios: quotients(results[callers], results.bare),
      aim: { atLeast },
    }),
  )
}
