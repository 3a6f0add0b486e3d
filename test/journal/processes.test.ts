import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { newRunFolder, readings, recordsIn } from './fixtures/run-folder.ts'

const typescript = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href

interface Started {
  readonly child: ChildProcessWithoutNullStreams
  readonly nextLine: () => Promise<string>
  readonly kill: () => Promise<void>
}

function startFixture(name: string, folder: string): Started {
  const script = join(import.meta.dirname, 'fixtures', name)
  const child = spawn(process.execPath, ['--import', typescript, script, folder], { stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stderr.pipe(process.stderr)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const exit = once(child, 'exit')
  return {
    child,
    nextLine: async () => String((await lines.next()).value),
    async kill() {
      child.kill('SIGKILL')
      await exit
    },
  }
}

it('keeps every acknowledged record of a writer that is killed', async () => {
  const rounds = [1, 40, 170, 400].map(async (count) => {
    const folder = newRunFolder()
    const { child, nextLine, kill } = startFixture('appender.ts', folder)
    const acknowledged: string[] = []
    while (acknowledged.length < count) acknowledged.push(await nextLine())
    child.kill('SIGKILL')
    for (let line = await nextLine(); line !== 'undefined'; line = await nextLine()) acknowledged.push(line)
    await kill()

    const records = await recordsIn(folder)
    const kept = new Map(records.flatMap((record) => (record.k === 'done' ? [[record.p, record.value]] : [])))
    // the kill itself may cut off the last line
    for (const place of acknowledged.slice(0, -1)) expect(kept.get(place)).toBe(place.repeat(50))
    expect(acknowledged.length).toBeGreaterThanOrEqual(count)
  })
  await Promise.all(rounds)
})

it('lets exactly one of several processes continue a run, repeatedly', async () => {
  const folder = newRunFolder()
  let contenders = Array.from({ length: 4 }, () => startFixture('contender.ts', folder))
  for (const { nextLine } of contenders) expect(await nextLine()).toBe('ready')

  for (let round = 1; round <= 3; round += 1) {
    for (const { child } of contenders) child.stdin.write('go\n')
    const answers = await Promise.all(contenders.map(({ nextLine }) => nextLine()))
    const expected = [...Array<string>(contenders.length - 1).fill('USAGE'), `won ${round}`]
    expect(answers.toSorted()).toEqual(expected)
    const winner = answers.indexOf(`won ${round}`)
    await contenders[winner]?.kill()
    contenders = contenders.filter((_, index) => index !== winner)
  }

  const headers = (await readings(folder)).flatMap((reading) =>
    reading.type === 'record' && reading.record.k === 'seg' ? [reading.record.e] : [],
  )
  expect(headers).toEqual([1, 2, 3])
  expect(await recordsIn(folder)).toHaveLength(3)
})
