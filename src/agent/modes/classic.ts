import { BatonError } from '../../base/error.ts'
import { modelText } from '../../base/model-text.ts'
import { fencedCall, makeCallMessage, strayCall, WrittenCall, writtenCall } from './written-call.ts'
import type { Mode } from './mode.ts'

/**
 * Text and tools: the model is asked, its tool calls are run, and it is asked again with their results until it calls
 * none. A call that it writes as text is requested once more as a call, and an empty answer once more as an answer.
 */
export const classic: Mode = {
  id: 'classic',
  name: 'Classic (text + tools)',
  open({ offered, output }) {
    /** The model was told that its text is not a call, and has called nothing since. */
    let isTold = false
    let isAskedAgain = false
    return {
      offer: { acceptsEmpty: 'again' },
      limitNote: (rounds) => `Exceeded maximum number of rounds (${rounds}). Stopping.`,
      take({ text, calls, end, empty }) {
        if (calls.length > 0) {
          isTold = false
          isAskedAgain = false
          return { kind: 'calls' }
        }
        if (empty !== undefined) {
          const { error, hasCalls } = empty
          if (isAskedAgain) return { kind: 'fail', error }
          isAskedAgain = true
          const message = hasCalls ? withoutToolsMessage() : emptyMessage()
          return { kind: 'again', message, warning: `${error.message}: asking it once more`, refused: error }
        }
        if (end !== 'done') return { kind: 'end', end }
        const written = writtenCall(text, offered, { json: output === undefined })
        if (written === undefined) {
          const fenced = output === undefined ? fencedCall(text, offered) : undefined
          // the second time it means to show it
          if (fenced !== undefined && !isTold) {
            isTold = true
            return { kind: 'again', message: makeCallMessage(fenced), warning: notRun(fenced) }
          }
          const stray = strayCall(text)
          if (stray === undefined) return { kind: 'end', end }
          if (isTold) return { kind: 'fail', error: notAnswered(stray, text) }
          isTold = true
          const warning = `the model wrote a call of ${stray} as text, which it does not have: asking it to answer`
          return { kind: 'again', message: strayCallMessage(stray), warning }
        }
        if (isTold) return { kind: 'fail', error: notCalled(written, text) }
        isTold = true
        return { kind: 'again', message: makeCallMessage(written), warning: notRun(written) }
      },
    }
  },
}

function notRun(tool: string): string {
  return `the model wrote a call of ${tool} as text, which is not run: asking it to call the tool`
}

function notCalled(tool: string, text: string): BatonError {
  const message = `the model wrote a call of the tool "${tool}" as text again instead of calling it, so nothing was run`
  return new BatonError('MODEL_FAILED', message, {
    hint: 'Its server may not know the form of its tool calls: turn tool calling on there, use another model, or remove tools.',
    cause: new WrittenCall(text),
  })
}

function notAnswered(tool: string, text: string): BatonError {
  const message = `the model wrote a call of the tool "${tool}" as text again, which it does not have, instead of an answer`
  return new BatonError('MODEL_FAILED', message, {
    hint: 'Tell the model in the instruction to answer with text, give it the tools that it needs, or name another model.',
    cause: new WrittenCall(text),
  })
}

function emptyMessage(): string {
  return modelText`Your last answer was empty. Answer now.`
}

function withoutToolsMessage(): string {
  return modelText`Your last answer only called a tool, but there are none, so nothing was run. Answer with text now.`
}

function strayCallMessage(tool: string): string {
  return modelText`Your last answer is a call of a tool "${tool}", which does not exist, so nothing was run. Answer with text now, with what you know.`
}
