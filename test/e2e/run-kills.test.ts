import { expect, it } from 'vitest'
import { jsonLines } from '../helpers/baton.ts'
import { type Disturbance, play } from '../helpers/durable/play.ts'
import { makeWorldOf } from '../helpers/durable/scenario.ts'
import { serveTree } from '../helpers/http-served.ts'
import { startModelServer } from '../helpers/model-server.ts'
import { core, countKills } from '../helpers/series.ts'
import { tempTree } from '../helpers/temp.ts'

// `npm run soak -- series run-kills` kills at every operation, in all three ways.

const count = countKills('run-kills')

interface Seen {
  /** It was killed: the number of operations varies, so that the point may be beyond the end. */
  readonly isHit: boolean
  readonly operations: number
  /** What does not agree. */
  readonly problems: readonly string[]
  readonly states: readonly string[]
}

/** Kills a run as it starts, and compares what is said about it with what a resume does: over HTTP or by the command. */
async function tryRun(disturb: Disturbance, resumeOver: 'http' | 'command'): Promise<Seen> {
  const server = await startModelServer(() => ({ text: 'Hello.' }))
  const files = { 'baton.toml': '', '.git/HEAD': '', 'ask.md': '+++\nmodel = "m"\n+++\nHello?\n' }
  const world = makeWorldOf(files, tempTree())
  const baton = (...args: readonly string[]) => play(args, { world, url: server.url })
  const { operations, code, stderr } = await play(['run', 'ask.md'], { world, url: server.url, disturb })
  const place = { folder: world.workspace, home: world.home }
  const served = await serveTree({}, { place, env: { BATON_GATEWAY_URL: server.url } })
  const problems: string[] = code === null || code === 0 ? [] : [`exit ${code}: ${stderr}`]
  const runs = jsonLines((await baton('runs', '--json')).stdout)
  const table = (await baton('runs')).stdout
  for (const { id, begun, status } of runs) {
    if (status === 'done') continue
    const { canResume } = (await served.get(`/api/runs/${String(id)}`)).body
    if (canResume === (begun === false)) problems.push(`begun is ${String(begun)}, canResume ${String(canResume)}`)
    if (table.includes('never begun') !== (begun === false)) problems.push(`the table has:\n${table}`)
    if (table.includes(`baton resume ${String(id)}`) !== canResume) problems.push(`the table offers:\n${table}`)
    if (resumeOver === 'http') {
      const { status: answer } = await served.post(`/api/runs/${String(id)}/resume`)
      if ((answer === 202) !== canResume || (answer !== 202 && answer !== 409))
        problems.push(`resume answers ${answer}`)
    } else {
      const resumed = await baton('resume', String(id))
      if (resumed.code !== (canResume === true ? 0 : 2))
        problems.push(`resume ends with ${resumed.code}: ${resumed.stderr}`)
      if (resumed.code === 2 && !resumed.stderr.includes('was never begun'))
        problems.push(`resume says ${resumed.stderr}`)
    }
  }
  await served.serving.close()
  await server.close()
  const states = runs.map(({ begun, status }) => (begun === false ? 'never begun' : String(status)))
  return { isHit: code === null, operations: operations.length, problems, states }
}

it(
  'the possibility of a resume is reported correctly, wherever a run was killed',
  { timeout: core(60_000, 3_600_000) },
  async () => {
    const { operations, problems } = await tryRun({}, 'command')
    expect(problems).toEqual([])
    const states = new Set<string>()
    const wrong: unknown[] = []
    let tried = 0
    for (let at = 1; at <= operations; at += 1) {
      for (const when of ['before', 'half', 'after'] as const) {
        tried += 1
        if (tried % core(13, 1) !== 0) continue
        const seen = await tryRun({ at, when }, tried % 2 === 0 ? 'http' : 'command')
        count.add(seen)
        if (seen.problems.length > 0) wrong.push({ at, when, problems: seen.problems })
        for (const state of seen.states) states.add(state)
      }
    }
    expect(wrong).toEqual([])
    expect([...states]).toEqual(expect.arrayContaining(['never begun', 'interrupted']))
  },
)
