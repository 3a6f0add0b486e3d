import { expect, it } from 'vitest'
import { jsonLines } from '../helpers/baton.ts'
import { type Disturbance, type Played, play } from '../helpers/durable/play.ts'
import { makeWorldOf } from '../helpers/durable/scenario.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { core } from '../helpers/series.ts'
import { tempTree } from '../helpers/temp.ts'

// `npm run soak -- series record-faults` tries each error at every operation.

const files = { 'baton.toml': '', '.git/HEAD': '', 'ask.md': '+++\nmodel = "m"\n+++\nHello?\n' }

interface Tried extends Played {
  readonly paid: number
  /** The status of each recorded run. */
  readonly recorded: readonly string[]
}

async function tryRun(disturb: Disturbance, args: readonly string[] = ['run', 'ask.md', '-q']): Promise<Tried> {
  const server = await startModelServer(() => ({ text: 'Hello.' }))
  const world = makeWorldOf(files, tempTree())
  const played = await play(args, {
    world,
    url: server.url,
    disturb: { scope: 'state', reads: true, ...disturb },
  })
  const paid = server.requests.length
  const { stdout } = await play(['runs', '--json'], { world, url: server.url })
  await server.close()
  return { ...played, paid, recorded: jsonLines(stdout).map(({ status }) => String(status)) }
}

/** What does not hold for a run while the disk failed. */
function problemsOf({ code, stderr, paid, recorded, stdout }: Tried, error: string): readonly string[] {
  const problems: string[] = []
  if (paid > 0 && recorded.length === 0) problems.push('a call was paid and nothing is recorded')
  if (code === 0 && (recorded.join() !== 'done' || !stdout.includes('Hello.')))
    problems.push(`success, and recorded is ${recorded.join()}`)
  if (code !== 0 && code !== 1) problems.push(`it ends with ${code}`)
  if (code === 1 && !stderr.includes(error)) problems.push(`it ends without ${error}: ${stderr}`)
  return problems
}

it(
  'nothing is paid without a record, whatever operation of the disk fails',
  { timeout: core(120_000, 3_600_000) },
  async () => {
    const { operations, code } = await tryRun({})
    expect(code).toBe(0)
    const ends = new Set<number | null>()
    let tried = 0
    for (const error of ['ENOSPC', 'EIO', 'EMFILE', 'ENOMEM']) {
      for (const when of ['fail', 'failing', 'full'] as const) {
        for (let at = 1; at <= operations.length; at += 1) {
          tried += 1
          if (tried % core(89, 1) !== 0) continue
          const seen = await tryRun({ at, when, code: error })
          const problems = problemsOf(seen, error)
          expect({ error, when, at, on: operations[at - 1], problems }).toMatchObject({ problems: [] })
          ends.add(seen.code)
        }
      }
    }
    expect([...ends]).toContain(1)
  },
)

it('a run that cannot create its key ends before a call, with the remedy', async () => {
  const { operations } = await tryRun({})
  const at = 1 + operations.findIndex(([, path]) => path.startsWith('run-key'))
  for (const error of ['ENOSPC', 'EIO', 'EMFILE', 'ENOMEM']) {
    const { code, stderr, paid } = await tryRun({ at, when: 'failing', code: error })
    expect({ code, paid }).toEqual({ code: 1, paid: 0 })
    expect(stderr).toContain(error)
    expect(stderr).toContain('run-key')
    expect(stderr).toContain(error === 'EMFILE' ? 'raise the limit' : 'set BATON_HOME')
  }
})

it('a folder without write permission is reported, also with -q, and the run continues', async () => {
  const { operations } = await tryRun({})
  const at = 1 + operations.findIndex(([, path]) => path.startsWith('run-key'))
  for (const error of ['EROFS', 'EACCES']) {
    const { code, stderr, paid, stdout, recorded } = await tryRun({ at, when: 'failing', code: error })
    expect({ code, paid, stdout, recorded }).toEqual({ code: 0, paid: 1, stdout: 'Hello.\n', recorded: [] })
    expect(stderr.match(/not recorded and cannot be resumed/g)).toHaveLength(1)
  }
})
