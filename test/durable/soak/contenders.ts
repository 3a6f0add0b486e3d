import { violations } from '../../helpers/durable/checker.ts'
import { finishedIn } from '../../helpers/durable/finished.ts'
import { readJournal } from '../../helpers/durable/journal-state.ts'
import { play, type Played } from '../../helpers/durable/play.ts'
import { makeWorld } from '../../helpers/durable/scenario.ts'
import { atOnce, type Fault, numbersTo, type Point, type SoakContext } from './fault.ts'

/** Several processes resume one run at the same time: one continues, the others report that it is taken. */
export const contenders: Fault = {
  id: 'F11',
  name: 'two to six processes resume one run at once',
  points: (context) => atOnce(numbersTo(15), context, (number) => contend(2 + (number % 5), context)),
}

async function contend(count: number, { server, reference, random }: SoakContext): Promise<Point> {
  const killedAt = 1 + Math.floor(random() * 90)
  const at = `${count} processes after a kill at ${killedAt}`
  const world = makeWorld()
  const account = server.account()
  const options = { world, url: account.url }
  const killed = await play(['run', 'ask.md', '--json'], { ...options, disturb: { at: killedAt, when: 'after' } })
  const before = await readJournal(world)
  if (before === undefined || before.records.length < 2) return { at, problems: [], isHit: false }
  const resumes = await Promise.all(numbersTo(count).map(() => play(['resume', before.run, '--json'], options)))
  const problems = resumes.flatMap(refusalProblems)
  const winners = resumes.filter(({ code, stdout }) => code === 0 && stdout.includes('run.completed'))
  if (winners.length === 0) return { at, problems: [...problems, 'I5: nobody finished the run'], isHit: true }
  const journal = await readJournal(world)
  if (journal === undefined) return { at, problems: ['I1: the journal is gone'], isHit: true }
  const stops = [{ journal: before, written: killed.sizes }]
  const finished = finishedIn(world, winners[0] as Played)
  const evidence = { reference, stops, journal, finished, calls: account.calls, concurrency: 4 }
  return { at, problems: [...problems, ...violations(evidence)], isHit: true }
}

function refusalProblems({ code, stderr }: Played): readonly string[] {
  return code === 0 || (code === 2 && stderr.includes('hint:')) ? [] : [`I7: exit ${code}: ${stderr}`]
}

/** A run is resumed while it is still running: that is refused and has no effect. */
export const resumedAlive: Fault = {
  id: 'F11',
  name: 'a run is resumed again and again while it is going',
  points: (context) => atOnce(numbersTo(10), context, (number) => resumeAlive(number * 60, context)),
}

async function resumeAlive(delayMs: number, { server, reference }: SoakContext): Promise<Point> {
  const at = `${delayMs} ms after the start`
  const world = makeWorld()
  const account = server.account()
  const options = { world, url: account.url }
  const running = play(['run', 'ask.md', '--json'], options)
  await new Promise((resolve) => setTimeout(resolve, delayMs))
  const before = await readJournal(world)
  const resumed = before === undefined ? undefined : await play(['resume', before.run, '--json'], options)
  const finished = finishedIn(world, await running)
  const journal = await readJournal(world)
  if (journal === undefined) return { at, problems: ['I1: the journal is gone'], isHit: true }
  const evidence = { reference, stops: [], journal, finished, calls: account.calls, concurrency: 4 }
  return {
    at,
    problems: [...(resumed === undefined ? [] : refusalProblems(resumed)), ...violations(evidence)],
    isHit: true,
  }
}
