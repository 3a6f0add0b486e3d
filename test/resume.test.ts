import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fingerprint } from '../src/journal/matching.ts'
import type { Entry } from '../src/journal/record.ts'
import { noMask } from '../src/journal/secrets.ts'
import { openSigningKey } from '../src/journal/signing.ts'
import { openRun } from '../src/journal/store.ts'
import { resumeRun, type ResumeOptions } from '../src/wiring/resume.ts'
import { tempTree } from './helpers/temp.ts'

const end: Entry = { k: 'run.end', exit: 1, stop: 'failed' }
const command = {
  k: 'started',
  p: 'task/0/pre_task/0:a/data#0',
  kind: 'command',
  repeat: 'unsafe',
  fp: fingerprint('rm', noMask),
  request: ['rm', 'a.md'],
} satisfies Entry

/** A folder with a run by one writer, and a resume of it that is expected to do nothing. */
async function recorded(entries: readonly Entry[]): Promise<{
  readonly folder: string
  readonly refusal: (options?: Partial<ResumeOptions>) => Promise<unknown>
}> {
  const home = tempTree({ 'a.md': 'Say hello.\n' })
  const folder = join(home, 'runs/20251122-000000-aaaaaa')
  const key = openSigningKey({ env: {}, home })
  const journal = await openRun({ folder, now: () => new Date(0), key })
  const invocation = {
    file: 'a.md',
    cwd: home,
    inputs: [],
    onFiles: [],
    overrides: [],
    vars: [],
    patienceMs: 0,
    env: {},
  }
  const facts = { invocation, workspace: home }
  journal.note({ k: 'run.start', run: '20251122-000000-aaaaaa', file: 'a.md', hash: 'ff', version: '1', facts })
  for (const entry of entries) journal.note(entry)
  await journal.close()
  const events: unknown[] = []
  return {
    folder,
    async refusal(options = {}) {
      const before = readdirSync(folder)
      const refused = await resumeRun({ folder, env: {}, home, ...options }, (event) => events.push(event)).catch(
        (error: unknown) => error,
      )
      expect([events, readdirSync(folder)]).toEqual([[], before])
      return refused
    },
  }
}

describe('a resume refuses and gives the reason', () => {
  it('while the process of the run is alive', async () => {
    const { refusal } = await recorded([])
    expect(await refusal()).toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(`is being executed by process ${process.pid}`),
    })
  })

  it('when a damaged record is followed by others', async () => {
    const { folder, refusal } = await recorded([{ k: 'begin', p: 'task/0', key: {} }, end])
    const file = join(folder, 'j-000001.jsonl')
    writeFileSync(file, readFileSync(file, 'utf8').replace('task/0', 'task/1'))
    const damaged = { code: 'JOURNAL_FAILED', message: expect.stringContaining(`${file} is damaged`) }
    expect(await refusal()).toMatchObject(damaged)
    expect(await refusal()).toMatchObject(damaged)
  })

  it('when the record does not contain how the run was started', async () => {
    const folder = join(tempTree(), 'run')
    const key = openSigningKey({ env: {}, home: folder })
    const journal = await openRun({ folder, now: () => new Date(0), key })
    journal.note(end)
    await journal.close()
    await expect(resumeRun({ folder, env: {}, home: folder }, () => undefined)).rejects.toMatchObject({
      code: 'USAGE',
      message: `the run in ${folder} cannot be resumed: its record does not say how it was started`,
    })
  })

  it('when the named part to rerun does not exist, and lists the existing ones', async () => {
    const parts = ['task/0', 'task/1'].map((p): Entry => ({ k: 'begin', p, key: {} }))
    const { refusal } = await recorded([...parts, end])
    expect(await refusal({ from: 'task/2' })).toMatchObject({
      code: 'USAGE',
      message: '--from task/2: this run has no such part',
      hint: 'Parts are: task/0, task/1. See baton runs show.',
    })
    expect(await (await recorded([end])).refusal({ from: 'x' })).toMatchObject({ hint: 'No part of it was started.' })
  })

  it('when an effect with unknown outcome needs a decision, and names the effect', async () => {
    const { refusal } = await recorded([command, end])
    const undecided = { code: 'UNCERTAIN', message: expect.stringContaining('1.2  command("rm", "a.md") at task/0') }
    expect(await refusal()).toMatchObject({ ...undecided, hint: expect.stringContaining('--uncertain 1.2=redo') })
    expect(await refusal()).toMatchObject(undecided)
  })

  it('with the current state of the file and the consequence of each choice', async () => {
    const change = { op: 'write', path: 'a.md', before: 'x', after: 'y' }
    const at = 'task/0/pre_task/0:a/data#0'
    const { refusal } = await recorded([
      { k: 'started', p: at, kind: 'file', repeat: 'safe', fp: 'f', request: change },
      end,
    ])
    expect(await refusal()).toMatchObject({
      code: 'UNCERTAIN',
      message: expect.stringMatching(
        `1.2  write of a.md at ${at}: a.md has 11 bytes now, last changed at .* UTC: neither the state before the change nor the one after it$`,
      ),
      hint: `Check, then resume with one of these for each:
  --uncertain 1.2=redo  the change is applied to the current content
  --uncertain 1.2=done  the current content is kept
  --uncertain 1.2=fail  it counts as failed: the caller gets an error`,
    })
  })

  it('when a different choice was made before; the same choice is accepted', async () => {
    const other: Entry = { ...command, p: 'task/1/pre_task/0:a/data#0' }
    const { refusal } = await recorded([command, { k: 'choice', p: command.p, of: [1, 2], choice: 'done' }, other, end])
    expect(await refusal({ uncertain: ['1.2=redo'] })).toMatchObject({
      code: 'USAGE',
      message: '--uncertain 1.2: it was already decided: done',
    })
    expect(await refusal({ uncertain: ['1.2=done'] })).toMatchObject({
      code: 'UNCERTAIN',
      message: expect.stringContaining('1.4  command'),
    })
  })

  it('when the script ended because of an effect that was decided to have failed', async () => {
    const { refusal } = await recorded([command, { k: 'choice', p: command.p, of: [1, 2], choice: 'fail' }, end])
    expect(await refusal()).toMatchObject({ code: 'UNCERTAIN', message: expect.stringContaining('1.2  command') })
  })

  it.each([
    ['1.2', 'is not a choice'],
    ['1.2=again', 'is not a choice'],
    ['=redo', 'is not a choice'],
    ['9.9=redo', 'this run has no such effect'],
    ['1.1=done', 'this run has no such effect'],
  ])('when %s is not a valid choice for the run', async (choice, reason) => {
    const { refusal } = await recorded([command, end])
    expect(await refusal({ uncertain: [choice] })).toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(reason),
    })
  })
})

it('and does not change the record when the program cannot be loaded', async () => {
  const { folder } = await recorded([end])
  const before = readdirSync(folder)
  const report = await resumeRun(
    { folder, env: {}, home: join(folder, '../..'), overrides: ['budget.usd=much'] },
    () => undefined,
  )
  expect([report.exitCode, readdirSync(folder)]).toEqual([2, before])
})
