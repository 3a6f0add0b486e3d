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
 * are the answer. File changes are left out, because their diffs or names are shown; an answer that keeps them is written
 * once it is final.
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
  let changes = createChangesFilter()

  function add(piece: string): void {
    show(changes.take(piece))
  }

  function show(text: string): void {
    if (text === '') return
    said += text
    flow.add(text)
    isOpen = !text.endsWith('\n')
    isEnded = false
    hasWritten = true
  }

  function finishLine(): void {
    show(changes.end())
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
        changes = createChangesFilter()
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
        changes = createChangesFilter()
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
          if (!streams || !isSame(said, event.text, changes.hasLeftOut())) whole.event(event, result)
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

/** Without its file changes an answer may have other blank lines around them. */
function isSame(said: string, answer: string, hasLeftOut: boolean): boolean {
  if (!hasLeftOut) return said.trim() === answer.trim()
  const [left, right] = [said, answer].map((text) => text.trim().replaceAll(/\s+/g, ' '))
  return left === right
}

/** Leaves the file changes out of a text that comes in pieces. */
interface ChangesFilter {
  /** What can be shown by now. */
  readonly take: (piece: string) => string
  /** What was held back, once nothing follows. */
  readonly end: () => string
  readonly hasLeftOut: () => boolean
}

const marks = { begin: '<FILE_CHANGES', end: '</FILE_CHANGES>' } as const

function createChangesFilter(): ChangesFilter {
  /** The start of a line that may be a mark. */
  let held = ''
  let isInside = false
  /** Of the line whose start was taken: whether it is shown. */
  let open: 'shown' | 'left out' | undefined
  let hasLeftOut = false
  /** Whether the last line that was shown is empty, or none was. */
  let isBlank = true
  /** Whether nothing was shown since the changes. */
  let isAfter = false

  /** Whether a line that starts like this is left out. */
  function leavesOut(start: string): boolean {
    if (isInside) {
      isInside = !start.startsWith(marks.end)
      isAfter = !isInside
      return true
    }
    if (!start.startsWith(marks.begin)) return false
    hasLeftOut = true
    isInside = !start.includes(marks.end)
    isAfter = !isInside
    return true
  }

  function lineOf(text: string): string {
    if (leavesOut(text)) return ''
    const isEmpty = text.trim() === ''
    const isSecond = isEmpty && isAfter && isBlank
    isBlank = isEmpty
    isAfter = isSecond
    return isSecond ? '' : text
  }

  function startOf(text: string): string {
    open = leavesOut(text) ? 'left out' : 'shown'
    if (open === 'left out') return ''
    isBlank = isAfter = false
    return text
  }

  return {
    take(piece) {
      const lines = (held + piece).split(/(?<=\n)/)
      const last = lines.at(-1)?.endsWith('\n') === true ? '' : (lines.pop() ?? '')
      held = ''
      let shown = ''
      for (const text of lines) {
        if (open === undefined) shown += lineOf(text)
        else if (open === 'shown') shown += text
        open = undefined
      }
      if (last === '') return shown
      if (open !== undefined) return open === 'shown' ? shown + last : shown
      const mark = isInside ? marks.end : marks.begin
      if (last.length >= mark.length || !mark.startsWith(last)) return shown + startOf(last)
      held = last
      return shown
    },
    end() {
      const rest = held === '' ? '' : lineOf(held)
      held = ''
      open = undefined
      return rest
    },
    hasLeftOut: () => hasLeftOut,
  }
}
