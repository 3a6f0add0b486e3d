import type { RunEvent } from '../event/event.ts'
import { isNested } from '../event/place.ts'
import { type AnswerFlow, createAnswerRenderer, lineFlow, type Renderer, type Write } from './renderer.ts'

/** The main agent of the only task of a run. */
const mainAgent = /^(?:redo\/\d+\/)?task\/0\/ask$/

export interface StreamedOptions {
  /** How the streamed text is written. */
  readonly flow: AnswerFlow
  /** Writes all other answers. */
  readonly whole: Renderer
}

/**
 * Streams the answer if a run has a single task and the main agent answers it. All other answers, and those that agents
 * have changed afterwards, are written once they are final. In code mode the model writes programs, and their outputs
 * are the answer.
 */
export function createStreamedAnswer(
  write: Write,
  { flow, whole }: StreamedOptions = { flow: lineFlow(write), whole: createAnswerRenderer(write) },
): Renderer {
  let streams = false
  let writesPrograms = false
  /** Whether the text of the current item belongs to the answer. */
  let isAnswer = true
  /** The answer so far: all text since the last tool call, in code mode all outputs. */
  let said = ''
  /** Whether the last line of what was written has not ended. */
  let isOpen = false
  let hasWritten = false
  /** Whether the last line was ended although its text does not end there. */
  let isEnded = false

  function add(text: string): void {
    if (text === '') return
    said += text
    flow.add(text)
    isOpen = !text.endsWith('\n')
    isEnded = false
    hasWritten = true
  }

  function finishLine(): void {
    if (isOpen) flow.add('\n')
    isEnded ||= isOpen
    isOpen = false
    flow.end()
  }

  /** Parts of an answer are joined by blank lines. */
  function beginPart(): void {
    if (said === '') return
    said += '\n\n'
    write(isEnded ? '\n' : '\n\n')
    isEnded = false
  }

  function ofMainAgent(event: RunEvent): void {
    switch (event.type) {
      case 'prompt.created':
        writesPrograms = event.mode === 'code'
        said = ''
        return
      case 'item.started':
        isAnswer = event.item.type !== 'summary' && (!writesPrograms || event.item.type === 'program_output')
        if (!writesPrograms && isAnswer) said = ''
        else if (isAnswer && streams) beginPart()
        hasWritten = false
        return
      case 'item.delta':
        if (streams && isAnswer && event.reasoning !== true) add(event.text)
        return
      case 'item.completed':
      // what has arrived of a stopped answer stays
      case 'prompt.error':
        finishLine()
        return
      case 'prompt.output': {
        const { text, item_id: item } = event.output
        // not said by the model, such as a note that its rounds are over
        if (!streams || text === undefined || item !== undefined) return
        beginPart()
        add(text)
        finishLine()
        return
      }
      case 'retry':
        finishLine()
        if (hasWritten) write('(the answer was cut off and starts over)\n')
        if (!writesPrograms) said = ''
        return
      default:
        return
    }
  }

  return {
    takesPieces: true,
    event(event: RunEvent, result?: string) {
      switch (event.type) {
        case 'tasks.planned':
          if (!isNested(event)) streams = event.count === 1
          return
        case 'prompt.created':
        case 'prompt.output':
        case 'prompt.error':
        case 'item.started':
        case 'item.delta':
        case 'item.completed':
        case 'retry':
          if (mainAgent.test(event.agent)) ofMainAgent(event)
          return
        case 'answer':
          if (!streams || said.trim() !== event.text.trim()) whole.event(event, result)
          return
        case 'run.completed':
        case 'run.failed':
          // what was said before it was stopped stays
          finishLine()
          whole.event(event, result)
          return
        default:
          whole.event(event, result)
      }
    },
    close: finishLine,
  }
}
