import { modelText } from '../base/model-text.ts'
import { defined, type JsonObject } from '../base/json.ts'
import { sha256 } from '../base/hash.ts'
import type { ModelEnd } from '../event/agent.ts'
import { defaultRounds } from '../event/limits.ts'
import { inputOf } from './tool-calls.ts'
import { canonicalText } from './message-log.ts'
import type { CalledTool, Mode, Reply, Step } from './modes/mode.ts'
import type { OpenPrompt } from './open-prompt.ts'
import type { Turns } from './turns.ts'

interface LoopOptions {
  /** Default: those of the mode. */
  readonly maxRounds?: number
  /** The limit that the model is told, if that was another one when the run began. */
  readonly toldRounds?: number
  readonly options: JsonObject
}

/**
 * Answers a prompt: asks the model, does what its answer asks for, and asks it again with the results, until it has
 * nothing more to do or a limit is reached. The mode says how the model is asked and what an answer means; the turns
 * record what is asked and done.
 * @throws BatonError of a model call or of a call that ends the run; a suspension
 */
export async function answerPrompt(
  prompt: OpenPrompt,
  mode: Mode,
  turns: Turns,
  { maxRounds = mode.rounds ?? defaultRounds, toldRounds = maxRounds, options }: LoopOptions,
): Promise<ModelEnd> {
  const { timeline, signal, say, warn } = prompt
  const { tools, offered, output } = turns
  const open = await mode.open({ signal, tools, offered, ...defined({ output }), say, rounds: toldRounds, options })
  const repeats = createRepeats()
  await prompt.prepare(open.instructions)
  for (let round = 1; ; round += 1) {
    // messages for the conversation are delivered first; retries and fallback models are inside
    const answer = await turns.ask(prompt, open.offer)
    const { text, calls, itemId } = answer
    const isLastRound = answer.isLast || round >= maxRounds
    let step: Step = open.take(answer)
    // a replay accepts what the run accepted, and fails where it failed
    if (step.kind === 'again' && (isLastRound || turns.endsHere())) {
      if (step.refused !== undefined) throw step.refused
      if (!isLastRound) step = { kind: 'end', end: answer.end }
    }

    if (step.kind === 'nothing') {
      timeline.addText(step.note)
      return step.end
    }

    if (step.kind === 'end') {
      // agents may still work for the model
      const goesOn = !isLastRound && (await turns.hasMail(signal))
      if (text !== '') timeline.addText(text, { itemId, interim: goesOn })
      if (goesOn) continue
      return step.end
    }

    if (step.kind === 'program') {
      // in the last round as well: what it outputs is the answer
      const { told, isDone } = step.give(await turns.runProgram(prompt, step))
      repeats.add([{ call: { type: 'tool_call', id: '', name: step.function, input: text }, result: told }], warn)
      const limit = limitReached(answer, isLastRound, repeats)
      const isOver = isDone && (limit !== undefined || !(await turns.hasMail(signal)))
      const end = isOver ? 'done' : limit
      if (end === 'max_rounds') timeline.addNote(open.limitNote(maxRounds))
      // the next prompt of the conversation should know what was output
      if (end === undefined || timeline.all().some(({ type }) => type === 'text')) turns.tell(told)
      if (end === undefined) continue
      return end
    }

    const limit = limitReached(answer, isLastRound, repeats)
    if (text.trim() !== '') timeline.addText(text, { itemId, interim: limit === undefined })
    if (limit !== undefined) {
      turns.refuse(calls, modelText`not run: the call limit is reached`)
      if (limit === 'max_rounds') timeline.addNote(open.limitNote(maxRounds))
      return limit
    }
    if (step.kind === 'fail') throw step.error
    if (step.kind === 'again') turns.askAgain(step.message, step.warning)
    else repeats.add(await turns.runTools(prompt, calls), warn)
  }
}

function limitReached({ isLast }: Reply, isLastRound: boolean, repeats: Repeats): ModelEnd | undefined {
  if (isLast) return 'max_turns'
  if (isLastRound) return 'max_rounds'
  return repeats.isEndless() ? 'repeated_calls' : undefined
}

const warnsAt = 3
const endsAt = 10

/** Calls that a model repeats, with the same result each time. */
interface Repeats {
  readonly add: (called: readonly CalledTool[], warn: (message: string) => void) => void
  readonly isEndless: () => boolean
}

function createRepeats(): Repeats {
  const counts = new Map<string, number>()
  let isEndless = false
  return {
    add(called, warn) {
      for (const { call, result } of called) {
        const key = sha256(JSON.stringify([call.name, canonicalText(inputOf(call)), result.text]))
        const count = (counts.get(key) ?? 0) + 1
        counts.set(key, count)
        if (count === warnsAt) {
          warn(`the model has called ${call.name} ${warnsAt} times with the same input and the same result`)
        }
        if (count >= endsAt) isEndless = true
      }
    },
    isEndless: () => isEndless,
  }
}
