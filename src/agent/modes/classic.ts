import { BatonError } from '../../base/error.ts'
import { makeCallMessage, WrittenCall, writtenCall } from './written-call.ts'
import type { Mode } from './mode.ts'

/**
 * Text and tools: the model is asked, its tool calls are run, and it is asked again with their results until it calls
 * none. A call that it writes as text is requested once more as a call.
 */
export const classic: Mode = {
  id: 'classic',
  name: 'Classic (text + tools)',
  open({ offered, output }) {
    /** The model was told that its text is not a call, and has called nothing since. */
    let isTold = false
    return {
      limitNote: (rounds) => `Exceeded maximum number of rounds (${rounds}). Stopping.`,
      take({ text, calls, end }) {
        if (calls.length > 0) {
          isTold = false
          return { kind: 'calls' }
        }
        const mayCall = end === 'done' && offered.length > 0
        const written = mayCall ? writtenCall(text, offered, { json: output === undefined }) : undefined
        if (written === undefined) return { kind: 'end', end }
        if (isTold) return { kind: 'fail', error: notCalled(written, text) }
        isTold = true
        const warning = `the model wrote a call of ${written} as text, which is not run: asking it to call the tool`
        return { kind: 'again', message: makeCallMessage(written), warning }
      },
    }
  },
}

function notCalled(tool: string, text: string): BatonError {
  const message = `the model wrote a call of the tool "${tool}" as text again instead of calling it, so nothing was run`
  return new BatonError('MODEL_FAILED', message, {
    hint: 'Its server may not know the form of its tool calls: turn tool calling on there, use another model, or remove tools.',
    cause: new WrittenCall(text),
  })
}
