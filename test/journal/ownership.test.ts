import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { createEffects } from '../../src/journal/effects.ts'
import { readRunState } from '../../src/journal/run-state.ts'
import type { OwnerPort } from '../../src/journal/owner.ts'
import { processOwners } from '../../src/journal/owner.ts'
import { openRun } from '../../src/journal/store.ts'
import { openGate, placeAt } from '../helpers/effects.ts'
import { newRunFolder } from './fixtures/run-folder.ts'

const now = (): Date => new Date(0)
const container = (pid: number): OwnerPort => ({
  self: () => ({ pid, start: 'ticks:1', boot: 'boot', host: `host${pid}`, ns: `pid:[${pid}]` }),
  isVisible: ({ ns }) => ns === `pid:[${pid}]`,
  isAlive: () => Promise.resolve(false),
})

/** A writer in a container that has just recorded something, and its folder. */
async function written() {
  const folder = newRunFolder()
  const journal = await openRun({ folder, now, owners: container(7) })
  onTestFinished(() => journal.close().catch(() => undefined))
  journal.note({ k: 'done', p: 'a' })
  journal.push()
  return { folder, journal, open: () => openRun({ folder, now, owners: container(8) }) }
}

function age(folder: string, seconds: number): void {
  for (const name of readdirSync(folder)) {
    const then = Date.now() / 1000 - seconds
    utimesSync(join(folder, name), then, then)
  }
}

const taken = expect.objectContaining({ code: 'JOURNAL_FAILED', message: expect.stringContaining('taken over') })

describe('a run of a process that is not visible from here', () => {
  it('is not taken over if it had a recent heartbeat', async () => {
    const { folder, open } = await written()
    await expect(open()).rejects.toMatchObject({
      code: 'USAGE',
      message: `the run in ${folder} is being executed by process 7 on host7, in another container or on another machine`,
      hint: expect.stringMatching(/^If it is gone, resume in (29|30) seconds: /),
    })
    expect(await readRunState(folder, { owners: container(8) })).toMatchObject({ isRunning: true })
    age(folder, 20)
    await expect(open()).rejects.toMatchObject({ code: 'USAGE' })
    expect(readdirSync(folder)).toEqual(['j-000001.jsonl'])
  })

  it('is taken over without one, and the process is fenced: files, commands and answers', async () => {
    const { folder, journal, open } = await written()
    age(folder, 31)
    expect(await readRunState(folder, { owners: container(8) })).toMatchObject({ isRunning: false })
    const next = await open()
    onTestFinished(() => next.close())
    expect(next.epoch).toBe(2)

    const effects = createEffects({ ...openGate, journal, signal: new AbortController().signal })
    const acts: string[] = []
    const plan = () => ({
      record: { op: 'write', path: 'a.md', before: null, after: null },
      act: () => void acts.push('written'),
    })
    expect(() => effects.changeFile(placeAt('s#0'), { op: 'write', path: 'a.md' }, plan)).toThrow(taken)
    const action = { kind: 'command', program: 'x', caller: 'x' } as const
    for (const repeat of ['safe', 'unsafe'] as const) {
      const effect = { kind: 'http' as const, request: repeat, action, repeat }
      await expect(effects.perform(placeAt('s#1'), effect, async () => acts.push('sent'))).rejects.toEqual(taken)
    }
    expect(acts).toEqual([])
  })

  it('has no more heartbeats once the journal is closed, also if its file was created only then', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const journal = await openRun({ folder: newRunFolder(), now })
    journal.note({ k: 'use', p: 'x', path: 'a', hash: 'b' })
    await journal.close()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('has heartbeats while it waits, which end with the wait', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const { folder, journal, open } = await written()
    age(folder, 60)
    vi.advanceTimersByTime(5000)
    expect(readdirSync(folder)).toEqual(['j-000001.alive', 'j-000001.jsonl'])
    await expect(open()).rejects.toMatchObject({ code: 'USAGE' })
    age(folder, 60)
    vi.advanceTimersByTime(5000)
    await expect(open()).rejects.toMatchObject({ code: 'USAGE' })
    await journal.close()
    expect(readdirSync(folder)).toEqual(['j-000001.jsonl'])
  })

  it('is judged by the clock that dates the files', async () => {
    const { folder, open } = await written()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
    onTestFinished(() => void vi.useRealTimers())
    await expect(open()).rejects.toMatchObject({ code: 'USAGE' })
    expect(readdirSync(folder)).toEqual(['j-000001.jsonl'])
  })
})

it('has an owner in another container or machine, which is recognized by name', () => {
  const self = processOwners.self()
  expect(processOwners.isVisible(self)).toBe(true)
  expect(processOwners.isVisible({ ...self, boot: 'another' })).toBe(false)
  if (self.ns !== undefined) expect(processOwners.isVisible({ ...self, ns: 'pid:[1]' })).toBe(false)
  expect(processOwners.isVisible({ pid: 1, start: 'epoch:1', boot: '', host: self.host })).toBe(true)
  expect(processOwners.isVisible({ pid: 1, start: 'epoch:1', boot: '', host: 'another' })).toBe(false)
})

describe('a run folder that is deleted during the run', () => {
  const gone = expect.objectContaining({ code: 'JOURNAL_FAILED', message: expect.stringContaining('was deleted') })

  it('is reported before the next effect', async () => {
    const { folder, journal } = await written()
    rmSync(folder, { recursive: true })
    expect(() => journal.fenced()).toThrow(gone)
    expect(journal.failure.reason).toBeInstanceOf(BatonError)
    await expect(journal.close()).rejects.toEqual(gone)
  })

  it('is reported at the end, if there was no effect', async () => {
    const { folder, journal } = await written()
    rmSync(folder, { recursive: true })
    await expect(journal.close()).rejects.toEqual(gone)
  })

  it('is reported although another one has replaced it', async () => {
    const { folder, journal } = await written()
    rmSync(folder, { recursive: true })
    mkdirSync(folder)
    writeFileSync(join(folder, 'x'), '')
    await expect(journal.close()).rejects.toEqual(gone)
  })
})
