import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { JournalRecord } from '../../src/journal/record.ts'
import { appendToFile } from '../../src/tool/workspace-files.ts'
import { placeAt } from '../helpers/effects.ts'
import { Killed, type Lives, resumedProcess } from '../helpers/resumed-process.ts'
import { tempTree } from '../helpers/temp.ts'

const all = ['task/0', 'task/1', 'task/2']

/** Each task adds the same line to one file, in this order. */
async function tasks(
  root: string,
  records: JournalRecord[],
  { order, ...lives }: Lives & { readonly order: string[] },
) {
  const { context, uncertain } = await resumedProcess(root, records, lives)
  expect(uncertain).toEqual([])
  try {
    for (const at of order) appendToFile(join(root, 'log'), 'done\n', { context, at: placeAt(`${at}/log`) })
  } catch (error) {
    if (!(error instanceof Killed)) throw error
  }
}

it.each(['the change', 'its end'] as const)(
  'a line is appended once by each task, whichever comes first and wherever two processes are killed: before %s',
  async (diesBefore) => {
    for (const other of ['the change', 'its end'] as const) {
      for (let first = 1; first <= 6; first += 1) {
        for (let second = 1; second <= 8; second += 2) {
          const root = tempTree({ log: 'start\n' })
          const records: JournalRecord[] = []
          await tasks(root, records, { order: all, lives: first, diesBefore })
          // tasks run concurrently: a different one may be first this time
          await tasks(root, records, { order: all.toReversed(), lives: second, diesBefore: other }).catch((error) => {
            if (!(error instanceof Killed)) throw error
          })
          await tasks(root, records, { order: ['task/1', 'task/0', 'task/2'] })
          expect([first, second, readFileSync(join(root, 'log'), 'utf8')]).toEqual([
            first,
            second,
            'start\ndone\ndone\ndone\n',
          ])
        }
      }
    }
  },
)
