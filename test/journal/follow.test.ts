import { appendFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { beginning, followJournal, parsePosition, type Position, positionText } from '../../src/journal/follow.ts'
import { encodeLine } from '../../src/journal/record.ts'
import { segmentFile } from '../../src/journal/segment.ts'
import { tempTree } from '../helpers/temp.ts'

const line = (epoch: number, number: number, place = `task/${number}`): string =>
  encodeLine(JSON.stringify({ e: epoch, n: number, t: 0, k: 'begin', p: place, key: {} }))

function follower() {
  const folder = tempTree()
  const reader = followJournal(folder)
  const read = async () => {
    const seen: { readonly place: string; readonly position: Position }[] = []
    await reader.read((record, position) => void ('p' in record && seen.push({ place: record.p, position })))
    return seen
  }
  return {
    reader,
    read,
    places: async () => (await read()).map(({ place }) => place),
    file: (epoch: number) => segmentFile(folder, epoch),
  }
}

describe('a follower of a run', () => {
  it('gets each record once, as soon as its line is complete', async () => {
    const { places, file } = follower()
    expect(await places()).toEqual([])
    const [first, second] = [line(1, 0), line(1, 1)]
    writeFileSync(file(1), first + second.slice(0, 20))
    expect(await places()).toEqual(['task/0'])
    expect(await places()).toEqual([])
    appendFileSync(file(1), second.slice(20))
    expect(await places()).toEqual(['task/1'])
  })

  it('continues with later processes, after all records of the earlier ones', async () => {
    const { places, file } = follower()
    writeFileSync(file(1), line(1, 0))
    await places()
    appendFileSync(file(1), `${line(1, 1)}a line that was torn`)
    writeFileSync(file(2), line(2, 0, 'task/2'))
    // the third was withdrawn
    writeFileSync(file(4), line(4, 0, 'task/3'))
    expect(await places()).toEqual(['task/1', 'task/2', 'task/3'])
    appendFileSync(file(4), line(4, 1, 'task/4'))
    expect(await places()).toEqual(['task/4'])
  })

  it('gets no damaged lines, and none of a foreign process', async () => {
    const { places, file } = follower()
    writeFileSync(file(1), `${line(1, 0)}${line(1, 1).replace('task/1', 'task/9')}\n\nx\n${line(2, 2)}${line(1, 3)}`)
    expect(await places()).toEqual(['task/0', 'task/3'])
  })

  it('gets lines of any length', async () => {
    const { places, file } = follower()
    const long = `task/${'x'.repeat(3_000_000)}`
    writeFileSync(file(1), line(1, 0) + line(1, 1, long) + line(1, 2))
    expect((await places()).map((place) => place.length)).toEqual([6, long.length, 6])
  })

  it('reaches the same positions, however much was available at once', async () => {
    const [slow, fast] = [follower(), follower()]
    const seen: Position[] = []
    const add = async (epoch: number, number: number) => {
      for (const { file } of [slow, fast]) appendFileSync(file(epoch), line(epoch, number))
      seen.push(...(await slow.read()).map(({ position }) => position))
    }
    for (const epoch of [1, 2]) for (const number of [0, 1, 2]) await add(epoch, number)
    expect((await fast.read()).map(({ position }) => position)).toEqual(seen)
    expect(seen.toSorted((one, other) => one - other)).toEqual(seen)
    expect(slow.reader.position()).toBe(seen.at(-1))
  })
})

describe('a position', () => {
  it('survives conversion to text', () => {
    for (const text of ['0.0', '1.0', '2.17344', '8191.1099511627775'])
      expect(positionText(parsePosition(text) ?? NaN)).toBe(text)
    expect(parsePosition('0.0')).toBe(beginning)
  })

  it.each(['', '1', '.1', '1.', '-1.1', '1.1.1', '1.1e3', ' 1.1', '1.1099511627776', '8192.0', '12345.1'])(
    'is refused in %j',
    (text) => {
      expect(parsePosition(text)).toBeUndefined()
    },
  )
})
