import type { RunEvent } from '../event/event.ts'
import { createAnswerRenderer, isNested, type Renderer, type Write } from './renderer.ts'

/** The main agent of the only task of a run. */
const mainAgent = /^(?:redo\/\d+\/)?task\/0\/ask$/

/**
 * Streams the answer line by line if a run has a single task and the main agent answers it. All other answers, and
 * those that agents have changed afterwards, are written once they are final.
 */
export function createStreamedAnswer(write: Write): Renderer {
  const whole = createAnswerRenderer(write)
  let streams = false
  let pending = ''
  /** All text of the model since the last tool call. */
  let said = ''
  let hasWritten = false

  function add(text: string): void {
    pending += text
    said += text
    const end = pending.lastIndexOf('\n') + 1
    if (end === 0) return
    write(pending.slice(0, end))
    hasWritten = true
    pending = pending.slice(end)
  }

  function finishLine(): void {
    if (pending !== '') write(`${pending}\n`)
    hasWritten ||= pending !== ''
    pending = ''
  }

  return {
    takesPieces: true,
    event(event: RunEvent, result?: string) {
      switch (event.type) {
        case 'tasks.planned':
          if (!isNested(event)) streams = event.count === 1
          return
        case 'item.started':
          said = ''
          hasWritten = false
          return
        case 'item.delta':
          if (streams && event.reasoning !== true && mainAgent.test(event.agent)) add(event.text)
          return
        case 'item.completed':
          if (mainAgent.test(event.agent)) finishLine()
          return
        case 'retry':
          finishLine()
          if (hasWritten) write('(the answer was cut off and starts over)\n')
          said = ''
          return
        case 'answer':
          if (!streams || said.trim() !== event.text.trim()) whole.event(event, result)
          return
        default:
          whole.event(event, result)
      }
    },
  }
}
