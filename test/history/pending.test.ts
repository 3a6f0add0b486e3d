import { expect, it } from 'vitest'
import { pendingEffects } from '../../src/history/pending.ts'
import { project } from '../../src/history/run-view.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { openFileRecords } from '../../src/journal/source.ts'
import { uncertainLines } from '../../src/render/runs.ts'
import { createPaint } from '../../src/render/style.ts'
import { type MadeRun, makeRun } from './fixtures.ts'
import { type AnyEffect, effectOf, placeAt } from '../helpers/effects.ts'

const model = effectOf({ kind: 'model', repeat: 'safe', request: { provider: 'test::small' } })
const command = effectOf({ kind: 'command', repeat: 'unsafe', request: { command: 'make', args: [] } })

function fail({ effects }: MadeRun, place: string, effect: AnyEffect): Promise<unknown> {
  return effects
    .perform(placeAt(`task/0/${place}`), effect, () => Promise.reject(new Error('status 400')))
    .catch(() => {})
}

function begin({ journal }: MadeRun, place: string, { kind, repeat, request }: AnyEffect): void {
  journal.note({ k: 'started', p: `task/0/${place}`, kind, repeat, fp: 'x', request })
}

it('lists unfinished effects, and failed ones whose outcome only a person can know', async () => {
  const run = await makeRun()
  run.journal.note({ k: 'begin', p: 'task/0', key: {} })
  await fail(run, 'ask#0', model)
  await fail(run, 'exec', command)
  await fail(run, 'program', { ...command, repeat: 'ended' })
  begin(run, 'ask#1', model)
  begin(run, 'other', command)
  await run.end('error', 1)

  const source = openFileRecords(run.folder, { mask: noMask })
  const { open } = await project(source, { most: 0, keepsOpen: true })
  const pending = pendingEffects(open)
  source.close()
  expect(pending.map(({ place, resume, error }) => ({ place, resume, error }))).toEqual([
    { place: 'task/0/exec', resume: 'choice', error: 'status 400' },
    { place: 'task/0/ask#1', resume: 'again', error: null },
    { place: 'task/0/other', resume: 'choice', error: null },
  ])
  const paint = createPaint({ env: {}, isTerminal: false })
  expect(uncertainLines(pending, { paint })).toEqual([
    '',
    'in progress when the run stopped',
    '1.9  model test::small  task/0/ask#1',
    '  outcome unknown; resume repeats it',
    '1.10  command make  task/0/other',
    '  outcome unknown; resume needs your decision: --uncertain 1.10=redo, =done or =fail',
    '',
    'failed with an unknown outcome',
    '1.5  command make  task/0/exec',
    '  failed with: status 400; resume needs your decision: --uncertain 1.5=redo, =done or =fail',
  ])
})
