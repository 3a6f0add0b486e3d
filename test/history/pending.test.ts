import { expect, it } from 'vitest'
import type { EffectRequest } from '../../src/event/effects.ts'
import { pendingEffects } from '../../src/history/pending.ts'
import { uncertainLines } from '../../src/render/run-tree.ts'
import { createPaint } from '../../src/render/style.ts'
import { type MadeRun, makeRun } from './fixtures.ts'

const model: EffectRequest = { kind: 'model', repeat: 'safe', request: { provider: 'test::small' } }
const command: EffectRequest = { kind: 'command', repeat: 'unsafe', request: { command: 'make', args: [] } }

function fail({ effects }: MadeRun, place: string, effect: EffectRequest): Promise<unknown> {
  return effects.perform(['task', '0', place], effect, () => Promise.reject(new Error('status 400'))).catch(() => {})
}

function begin({ journal }: MadeRun, place: string, { kind, repeat, request }: EffectRequest): void {
  journal.note({ k: 'started', p: `task/0/${place}`, kind, repeat, fp: 'x', request })
}

it('lists what was under way, and what failed where only a person knows what it did', async () => {
  const run = await makeRun()
  run.journal.note({ k: 'begin', p: 'task/0', key: {} })
  await fail(run, 'ask#0', model)
  await fail(run, 'exec', command)
  begin(run, 'ask#1', model)
  begin(run, 'other', command)
  await run.end('error', 1)

  const pending = await pendingEffects(run.folder)
  expect(pending.map(({ place, resume, error }) => ({ place, resume, error }))).toEqual([
    { place: 'task/0/exec', resume: 'choice', error: 'status 400' },
    { place: 'task/0/ask#1', resume: 'again', error: null },
    { place: 'task/0/other', resume: 'choice', error: null },
  ])
  const paint = createPaint({ env: {}, isTerminal: false })
  expect(uncertainLines(pending, { paint, lines: 40, workspace: '/w' })).toEqual([
    '',
    'under way when it ended',
    '1.7  model test::small  task/0/ask#1',
    '  end not known; a resume does it again',
    '1.8  command make  task/0/other',
    '  end not known; a resume needs a choice: --uncertain 1.8=redo, =done or =fail',
    '',
    'failed, and only you can tell what it has done',
    '1.5  command make  task/0/exec',
    '  it ended with: status 400; a resume needs a choice: --uncertain 1.5=redo, =done or =fail',
  ])
})
