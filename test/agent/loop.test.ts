import { describe, expect, it } from 'vitest'
import { answerPrompt } from '../../src/agent/loop.ts'
import type { Mode, Step } from '../../src/agent/modes/mode.ts'
import { callOf, fakeTurns } from '../helpers/fake-turns.ts'

const calls = { text: 'I look.', calls: [callOf('look')] }
const look: Step = { kind: 'calls' }
const end: Step = { kind: 'end', end: 'done' }
const again: Step = { kind: 'again', message: 'Sure?', warning: '' }

/** A mode in which the answers lead to these steps. */
function leading(...steps: readonly Step[]): Mode {
  const left = [...steps]
  return {
    id: 'm',
    name: 'm',
    open: () => ({ take: () => left.shift() ?? end, limitNote: (rounds) => `${rounds} rounds` }),
  }
}

function program(isDone: boolean): Step {
  return {
    kind: 'program',
    function: 'code',
    input: null,
    run: async () => ({ text: '' }),
    give: ({ text }) => ({ told: { text }, isDone }),
  }
}

type Scripted = ReturnType<typeof fakeTurns>

/** What was done for a prompt, why it ended, and its texts; `~`: no part of the answer. */
async function answered({ prompt, turns, done }: Scripted, mode: Mode, maxRounds?: number): Promise<unknown> {
  const limit = maxRounds === undefined ? {} : { maxRounds }
  const reason = await answerPrompt(prompt, mode, turns, { options: {}, ...limit })
  const texts = prompt.timeline
    .all()
    .map((one) => (one.type === 'text' ? `${one.interim === true ? '~' : ''}${one.text}` : one.type))
  return { done: done.join(', '), reason, texts }
}

describe('a prompt', () => {
  it('is sent again with the results of calls until an answer contains no call', async () => {
    expect(await answered(fakeTurns([calls, calls, { text: 'Yes.' }]), leading(look, look, end))).toEqual({
      done: 'ask, call look, ask, call look, ask',
      reason: 'done',
      texts: ['~I look.', '~I look.', 'Yes.'],
    })
  })

  it('continues if a message arrives at its end, but not in its last round', async () => {
    const mails = [true, false]
    const hasMail = async (): Promise<boolean> => mails.shift() ?? true
    const replies = [{ text: 'One.' }, { text: 'Two.' }]
    expect(await answered(fakeTurns(replies, { hasMail }), leading(end, end))).toEqual({
      done: 'ask, ask',
      reason: 'done',
      texts: ['~One.', 'Two.'],
    })
    expect(await answered(fakeTurns(replies, { hasMail }), leading(end), 1)).toEqual({
      done: 'ask',
      reason: 'done',
      texts: ['One.'],
    })
  })

  it.each([
    ['max_turns', [{ ...calls, isLast: true }], undefined, ['I look.']],
    ['max_rounds', [calls], 1, ['I look.', '1 rounds']],
  ] as const)('that reaches %s has its calls refused', async (reason, replies, rounds, texts) => {
    expect(await answered(fakeTurns(replies), leading(look), rounds)).toEqual({
      done: 'ask, refuse look',
      reason,
      texts,
    })
  })

  it('ends when the same call has had the same result ten times', async () => {
    const same = fakeTurns(
      Array.from({ length: 12 }, () => calls),
      {
        runTools: async (_, asked) => asked.map((call) => ({ call, result: { text: 'same' } })),
      },
    )
    expect(await answered(same, leading(...Array.from({ length: 12 }, () => look)))).toMatchObject({
      done: `${'ask, '.repeat(11)}refuse look`,
      reason: 'repeated_calls',
    })
  })

  it('is repeated once to check its answer, except in a replay of a run that accepted it', async () => {
    const replies = [{ text: 'Perhaps.' }, { text: 'Yes.' }]
    expect(await answered(fakeTurns(replies), leading(again, end))).toEqual({
      done: 'ask, again: Sure?, ask',
      reason: 'done',
      texts: ['~Perhaps.', 'Yes.'],
    })
    expect(await answered(fakeTurns(replies, { endsHere: () => true }), leading(again))).toEqual({
      done: 'ask',
      reason: 'done',
      texts: ['Perhaps.'],
    })
  })

  it('has the text of an answer that cannot be used', async () => {
    const scripted = fakeTurns([{ text: 'Look!' }])
    const error = new Error('of no use')
    await expect(answered(scripted, leading({ kind: 'fail', error }))).rejects.toBe(error)
    expect(scripted.prompt.timeline.all()).toMatchObject([{ text: 'Look!', interim: true }])
  })

  it('ends with a note if there is nothing to continue with', async () => {
    const nothing: Step = { kind: 'nothing', end: 'incomplete', note: 'nothing' }
    expect(await answered(fakeTurns([{}]), leading(nothing))).toEqual({
      done: 'ask',
      reason: 'incomplete',
      texts: ['nothing'],
    })
  })
})

describe('a program', () => {
  it('is run, and its result returned to the model, until one marks itself as the last', async () => {
    expect(await answered(fakeTurns([]), leading(program(false), program(true)))).toEqual({
      done: 'ask, run code, tell ran, ask, run code',
      reason: 'done',
      texts: [],
    })
  })

  it('is also run in the last round', async () => {
    expect(await answered(fakeTurns([]), leading(program(false)), 1)).toEqual({
      done: 'ask, run code, tell ran',
      reason: 'max_rounds',
      texts: ['1 rounds'],
    })
    expect(await answered(fakeTurns([]), leading(program(true)), 1)).toMatchObject({ reason: 'done', texts: [] })
  })
})
