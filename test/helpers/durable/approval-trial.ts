import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ModelReply, startModelServer } from '../model-server.ts'
import { tempTree } from '../temp.ts'
import { callsTools } from '../tool-model.ts'
import { readJournal } from './journal-state.ts'
import { type Disturbance, play } from './play.ts'
import { makeWorldOf } from './scenario.ts'
import { isBegun, type Trial } from './trial.ts'

export const approvalPhases = ['run', 'approve', 'reject', 'resume'] as const

type Phase = (typeof approvalPhases)[number]

/** How the processes that run, answer and resume are disturbed; a phase that is not listed is undisturbed. */
export type ApprovalTry = { readonly [phase in Phase]?: Disturbance }

export interface ApprovalTrial extends Trial {
  /** Operations on the journal in each phase when undisturbed. */
  readonly operations: { readonly [phase in Phase]: number }
}

const prompt = '+++\nmodel = "m"\ntools = ["todo"]\ntemplate = true\n+++\n{{data.task.input}}\n'
const words = ['one', 'two'] as const

/**
 * Two tasks wait for one approval each; a process approves one, another rejects the other, and a last one resumes the
 * run. Processes killed on the way are started again. Checks that nothing is paid for twice without need, that what was
 * decided is neither asked nor decided again, and that the model gets the reason.
 */
export async function tryApprovals(disturbed: ApprovalTry): Promise<ApprovalTrial> {
  const asked: string[] = []
  const told: string[] = []
  const server = await startModelServer(({ body }): ModelReply => {
    const messages = body?.messages ?? []
    const word = messages.find(({ role }) => role === 'user')?.content.trim() ?? ''
    const result = messages.find(({ role }) => role === 'tool')?.content
    asked.push(`${word} ${result === undefined ? 0 : 1}`)
    if (result === undefined) return callsTools(['todo', { todos: [{ content: word, status: 'pending' }] }])
    told.push(result)
    return { text: `${word} ends` }
  })
  const problems: string[] = []
  let stops = 0
  const operations = { run: 0, approve: 0, reject: 0, resume: 0 }
  const world = makeWorldOf({ 'baton.toml': '', 'ask.md': prompt }, tempTree())
  mkdirSync(join(world.home, 'config'), { recursive: true })
  writeFileSync(join(world.home, 'config/config.toml'), '[permission]\ntodo = "ask"\n')

  /** The calls that are recorded as paid, under the server's names for them. */
  async function paid(): Promise<readonly string[]> {
    const records = (await readJournal(world))?.records ?? []
    return records.flatMap(({ k, p, kind, status }) => {
      const [, task, turn] = /^task\/(\d)\/agent\/ask\/turn\/(\d)#0$/.exec(p ?? '') ?? []
      return k === 'ended' && kind === 'model' && status === 'ok' ? [`${words[Number(task) as 0 | 1]} ${turn}`] : []
    })
  }

  async function decided(): Promise<readonly string[]> {
    const records = (await readJournal(world))?.records ?? []
    return records.flatMap(({ k, p, kind, status }) =>
      k === 'ended' && kind === 'approval' && status === 'ok' ? [p ?? ''] : [],
    )
  }

  /** The process of a phase, repeated if it was killed. */
  async function through(phase: Phase, isOver: (code: number | null, output: string) => boolean): Promise<void> {
    for (const disturb of [disturbed[phase], undefined]) {
      const [had, answers] = [new Set(await paid()), await decided()]
      const before = asked.length
      const args = await argumentsOf(phase)
      const played = await play([...args], { world, url: server.url, ...(disturb && { disturb }) })
      const { code, stdout, stderr } = played
      if (disturb === undefined) operations[phase] = played.operations.length
      const again = asked.slice(before).filter((key) => had.has(key))
      problems.push(...again.map((key) => `I3: ${key} was paid for, and asked again`))
      for (const place of answers) {
        const repeated = stdout.includes(`"approval.requested","id":"${await numberOf(place)}"`)
        if (repeated) problems.push(`I3: ${place} was decided, and asked again`)
      }
      if (code === null) stops += 1
      else if (isOver(code, `${stdout}${stderr}`)) return
      else problems.push(`I5: ${phase} ends with exit ${code}: ${stderr}`)
    }
    problems.push(`I5: ${phase} did not end`)
  }

  /** The places of the approval requests, in the order in which they were first recorded. */
  async function places(): Promise<readonly string[]> {
    const records = (await readJournal(world))?.records ?? []
    const all = records.flatMap(({ k, p, kind }) => (k === 'started' && kind === 'approval' ? [p ?? ''] : []))
    return [...new Set(all)]
  }

  async function numberOf(place: string): Promise<number> {
    return (await places()).indexOf(place) + 1
  }

  async function argumentsOf(phase: Phase): Promise<readonly string[]> {
    const journal = await readJournal(world)
    const waiting = ['--on-ask', 'suspend', '--json']
    if (phase === 'run' && !isBegun(journal)) return ['run', 'ask.md', '-i', words[0], '-i', words[1], ...waiting]
    const run = journal?.run ?? ''
    if (phase === 'run' || phase === 'resume') return ['resume', run, ...waiting]
    const call = await numberOf(`task/${phase === 'approve' ? 0 : 1}/agent/ask/turn/0/tool/0:todo/approval`)
    const reason = phase === 'reject' ? ['--reason', 'not today'] : []
    return [phase, run, String(call), ...reason, '--no-resume']
  }

  try {
    await through('run', (code) => code === 5)
    for (const phase of ['approve', 'reject'] as const) {
      // a process that was killed may already have recorded the answer
      await through(phase, (code, output) => code === 0 || (code === 2 && output.includes('is already decided')))
    }
    await through('resume', (code) => code === 0)
    const results = [...new Set(told)].toSorted()
    const expected = ['- [ ] one', 'Error: rejected by the user: not today']
    if (results.join('|') !== expected.join('|')) problems.push(`I5: the model was told ${results.join(' | ')}`)
    // a call whose end is not recorded may have to be repeated, once for each process that was killed
    if (asked.length > 4 + stops * words.length) problems.push(`I4: the model was asked ${asked.length} times`)
    return { problems, stops, operations }
  } finally {
    await server.close()
  }
}
