import { expect, it } from 'vitest'
import type { Question } from '../../src/event/permission.ts'
import { createQuestions } from '../../src/library/conversations.ts'

const action = { kind: 'write', path: '/w/a.md', named: 'a.md' } as const

function question(id: string, signal: AbortSignal): Question {
  return { id, at: [], isReopened: false, signal, isGranted: () => false }
}

it('a question is withdrawn when its signal is aborted, also if that happened before it was asked', async () => {
  const { ask } = createQuestions()
  const stop = new AbortController()
  const early = ask(action, question('1', stop.signal))
  stop.abort(new Error('stopped'))
  const late = ask(action, question('2', stop.signal))
  await expect(early).rejects.toThrow('stopped')
  await expect(late).rejects.toThrow('stopped')
})

it('a question is answered by its id, and all are rejected when nobody answers any more', async () => {
  const { ask, decide, close } = createQuestions()
  const { signal } = new AbortController()
  const asked = ['1', '2', '3'].map((id) => ask(action, question(id, signal)))
  decide({ type: 'reject', id: '2', reason: 'not that' })
  decide({ type: 'approve', id: '1' })
  close()
  expect(await Promise.all([...asked, ask(action, question('4', signal))])).toEqual([
    'allow',
    { remark: 'not that' },
    'deny',
    'deny',
  ])
})
