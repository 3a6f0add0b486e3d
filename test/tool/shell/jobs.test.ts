import { expect, it } from 'vitest'
import { createJobs, type EndedLine, type RunningLine } from '../../../src/tool/shell/session.ts'
import { createOutputWindow } from '../../../src/tool/shell/output-window.ts'

/** A line that runs until it is stopped. */
function line() {
  let resolve: (end: EndedLine) => void = () => {}
  const ended = new Promise<EndedLine>((done) => (resolve = done))
  let stopped = false
  const running: RunningLine = {
    pid: 1,
    output: createOutputWindow(),
    ended,
    async stop() {
      stopped = true
      resolve({ end: { kind: 'killed', signal: 'SIGTERM' }, leftOthers: false, directory: '' })
    },
  }
  return { running, wasStopped: () => stopped }
}

it('uses no name twice, also if a record knows only the later ones', async () => {
  const jobs = createJobs()
  jobs.know('bash_3')
  const { id } = await jobs.start('sleep 1', async () => line().running)
  expect(id).toBe('bash_4')
  expect(jobs.find('bash_3')).toBe('gone')
  await jobs.close()
})

it('starts at most eight, also when they are requested at once', async () => {
  const jobs = createJobs()
  const started = await Promise.allSettled(
    Array.from({ length: 12 }, () => jobs.start('sleep 1', async () => line().running)),
  )
  expect(started.filter(({ status }) => status === 'fulfilled')).toHaveLength(8)
  expect(await jobs.close()).toHaveLength(8)
})

it('does not count failed starts', async () => {
  const jobs = createJobs()
  for (let count = 0; count < 10; count += 1) {
    await expect(jobs.start('x', () => Promise.reject(new Error('no shell')))).rejects.toThrow('no shell')
  }
  expect((await jobs.start('sleep 1', async () => line().running)).id).toBe('bash_1')
})

it('ends one that was about to start when the conversation ended', async () => {
  const jobs = createJobs()
  const late = line()
  let begin: (line: RunningLine) => void = () => {}
  const starting = jobs.start('sleep 1', () => new Promise((done) => (begin = done)))
  const closed = jobs.close()
  begin(late.running)
  await starting
  expect((await closed).map(({ id }) => id)).toEqual(['bash_1'])
  expect(late.wasStopped()).toBe(true)
})
