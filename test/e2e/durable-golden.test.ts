import { afterAll, beforeAll, expect, it } from 'vitest'
import { encodeLine } from '../../src/journal/record.ts'
import { goldenNames, resumeGolden } from '../helpers/durable/golden.ts'
import { type CountingServer, startCountingServer } from '../helpers/durable/server.ts'

// Journals written by earlier versions: test/fixtures/journals, created by scripts/golden-journals.mjs. Every later
// version resumes them and pays for nothing again.

let server: CountingServer
beforeAll(async () => {
  server = await startCountingServer()
})
afterAll(() => server.close())

it.concurrent.each(goldenNames())('%s is resumed without a single model call', async (name) => {
  const { code, given, expected, calls } = await resumeGolden(name, { server })
  expect({ code, calls, ...given }).toEqual({ code: 0, calls: 0, ...expected })
})

it('records and fields of a later version are skipped', async () => {
  const change = (text: string): string => {
    const lines = text.split('\n').slice(0, -1)
    const [first = '', ...others] = lines.map((line) => line.slice(9))
    const header = { ...(JSON.parse(first) as object), later: true }
    const last = JSON.stringify({ e: 1, n: lines.length, t: 0, k: 'later.kind', p: 'task/0', what: { is: 'this' } })
    return [JSON.stringify(header), ...others, last].map(encodeLine).join('')
  }
  const { code, given, expected, calls } = await resumeGolden('v2-nested', { server, change })
  expect({ code, calls, ...given }).toEqual({ code: 0, calls: 0, ...expected })
})
