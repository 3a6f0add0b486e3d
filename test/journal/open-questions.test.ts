import { expect, it } from 'vitest'
import { isWaitingForApproval } from '../../src/base/error.ts'
import type { Approver, Decision, Question } from '../../src/event/permission.ts'
import { parsePlace } from '../../src/event/place.ts'
import { createOpenQuestions } from '../../src/journal/open-questions.ts'

const action = { kind: 'write', path: '/w/a.md', named: 'a.md' } as const
const call = parsePlace('conversation/ask/turn/0/tool/0:edit')
const numbered = parsePlace('conversation/ask/turn/0/tool/0:edit#1')

function question(at = call): Question {
  const { signal } = new AbortController()
  return { id: '1', at, isReopened: false, signal, isGranted: () => false }
}

/** An approver who never answers, and is notified when a question is withdrawn. */
function silent(): { readonly approver: Approver; readonly takenBack: string[] } {
  const takenBack: string[] = []
  return {
    takenBack,
    approver: (_, { id, signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          takenBack.push(id)
          reject(new Error('taken back'))
        })
      }),
  }
}

function outcome(asked: Promise<Decision>): Promise<Decision | 'waits'> {
  return asked.catch((error: unknown) => {
    if (!isWaitingForApproval(error)) throw error
    return 'waits' as const
  })
}

it('a question is answered by the place of its call, and withdrawn from others who were asked', async () => {
  const { approver, takenBack } = silent()
  const { approver: ask, questions } = createOpenQuestions(approver)
  const asked = ask(action, question(numbered))
  questions.answer(parsePlace('conversation/ask/turn/0/tool/1:edit'), 'deny')
  questions.answer(call, { remark: 'not so' })
  expect(await asked).toEqual({ remark: 'not so' })
  expect(takenBack).toEqual(['1'])
})

it('the first answer counts, and an error of someone asked is an error of the question', async () => {
  const { approver: ask, questions } = createOpenQuestions(async () => 'allow')
  const asked = ask(action, question())
  expect(await asked).toBe('allow')
  questions.answer(call, 'deny')
  const { approver: broken } = createOpenQuestions(() => Promise.reject(new Error('no terminal')))
  await expect(broken(action, question())).rejects.toThrow('no terminal')
})

it.each([
  ['the call', call],
  ['an effect of it', numbered],
])('a question that is withdrawn by the place of %s stays open, even if it is asked later', async (_, at) => {
  for (const [withdrawn, asked] of [
    [at, call],
    [at, numbered],
  ] as const) {
    const { approver: ask, questions } = createOpenQuestions(silent().approver)
    const before = outcome(ask(action, question(asked)))
    questions.withdraw(withdrawn)
    expect(await Promise.all([before, outcome(ask(action, question(asked)))])).toEqual(['waits', 'waits'])
  }
})

it('a call is asked about again after its withdrawal has ended', async () => {
  const { approver: ask, questions } = createOpenQuestions(async () => 'allow')
  const end = questions.withdraw(call)
  expect(await outcome(ask(action, question()))).toBe('waits')
  end()
  expect(await outcome(ask(action, question()))).toBe('allow')
})
