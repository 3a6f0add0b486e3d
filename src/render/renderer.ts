import type { RunEvent } from '../event/event.ts'
import { isNested } from '../event/place.ts'
import { harmless, harmlessName, safeJson } from '../base/terminal-text.ts'
import type { Paint } from './style.ts'

/** Draws the events of a run. `close` leaves the screen as a shell expects it. */
export interface Renderer {
  /** `result`: see `Listener`. */
  event(event: RunEvent, result?: string): void
  /** It draws answers while they stream, so it receives `item.delta`; other renderers do not. */
  readonly takesPieces?: boolean
  close?(): void
}

/** Writes text to a stream. */
export type Write = (text: string) => void

/** How the text of an answer gets to the screen while it arrives. */
export interface AnswerFlow {
  /** In pieces of any size. */
  readonly add: (text: string) => void
  /** The text, or a part of it, is complete: its last line has ended. */
  readonly end: () => void
}

/** Writes whole lines. */
export function lineFlow(write: Write, shown: (text: string) => string = (text) => text): AnswerFlow {
  let open = ''
  return {
    add(text) {
      open += text
      const end = open.lastIndexOf('\n') + 1
      if (end === 0) return
      write(shown(open.slice(0, end)))
      open = open.slice(end)
    },
    end() {
      if (open !== '') write(shown(open))
      open = ''
    },
  }
}

/** Writes each piece at once, for terminals on which nothing else can show what arrives. */
export function pieceFlow(write: Write): AnswerFlow {
  // may be the beginning of a line break
  let held = ''
  return {
    add(text) {
      const all = held + text
      held = all.endsWith('\r') ? '\r' : ''
      const ready = held === '' ? all : all.slice(0, -1)
      if (ready !== '') write(harmless(ready))
    },
    end() {
      if (held !== '') write('\n')
      held = ''
    },
  }
}

/**
 * Writes the result to stdout and nothing else. For a prompt file: the final answer of each task, below its label if
 * there are several. For an agent: what AIPack users expect, `print` and string outputs. Each starts on a new line;
 * `lastLine` says whether a missing line break at the end is added, `look` how an answer is shown.
 */
export function createAnswerRenderer(
  write: Write,
  {
    lastLine = 'ended',
    look = (text) => text,
  }: { readonly lastLine?: 'ended' | 'as it is'; readonly look?: (answer: string) => string } = {},
): Renderer {
  let target: 'prompt' | 'agent' = 'prompt'
  let answers = 0
  let isOpen = false

  function line(text: string): void {
    const hasEnd = text.endsWith('\n')
    write(`${isOpen ? '\n' : ''}${text}${hasEnd || lastLine === 'as it is' ? '' : '\n'}`)
    isOpen = lastLine === 'as it is' && !hasEnd
  }

  return {
    event(event, result) {
      switch (event.type) {
        case 'run.started':
          target = event.target
          return
        case 'answer':
          if (event.count > 1) line(`${answers > 0 ? '\n' : ''}==> ${harmlessName(event.label)} <==\n`)
          line(look(result ?? event.text))
          answers += 1
          return
        case 'print':
          if (target === 'agent') line(`${event.text}\n`)
          return
        case 'output':
          if (typeof event.output === 'string') line(result ?? event.output)
          return
        default:
      }
    },
  }
}

/** JSON lines: one event per line, LF only, the terminal event last. Control characters are always escaped. */
export function createJsonRenderer(write: Write): Renderer {
  return { event: (event) => write(`${safeJson(event)}\n`), takesPieces: true }
}

/** Makes the texts of all events harmless for a terminal. Pipes and files get every byte unchanged. */
export function withHarmlessText(renderer: Renderer): Renderer {
  return {
    event: (event, result) => renderer.event(harmlessIn(event) as RunEvent, result && harmless(result)),
    close: () => renderer.close?.(),
  }
}

function harmlessIn(value: unknown): unknown {
  if (typeof value === 'string') return harmless(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(harmlessIn)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, harmlessIn(item)]))
}

/**
 * Prints pins at the end of a round of the run: first those of the run, then of its tasks, then of child runs; each
 * group by priority, with the last value per id.
 */
export function createPinRenderer(write: Write, { paint }: { readonly paint: Paint }): Renderer {
  const pins = new Map<string, Pin>()

  function show(): void {
    for (const { event } of [...pins.values()].toSorted(comparePins)) {
      write(`${paint('bold', harmlessName(event.label))} ${harmless(event.content)}\n`)
    }
    pins.clear()
  }

  return {
    event(event) {
      if (event.type === 'redo' && !isNested(event)) show()
      if (event.type !== 'pin') return
      const pin = readPin(event)
      pins.set([pin.run, pin.task, event.id].join('\n'), pin)
    },
    close: show,
  }
}

/**
 * The place of a pin is that of its section: `main/task/2/output`. `run`: the agent run it belongs to. `task`: the
 * position of its task, -1 for pins of the whole run. `order`: compared element by element.
 */
function readPin(event: Extract<RunEvent, { readonly type: 'pin' }>) {
  const [, run = '', position] = /^(.*?)(?:(?:^|\/)task\/(\d+))?\/[^/]*$/.exec(event.agent) ?? []
  const task = event.scope === 'run' ? -1 : Number(position ?? 0)
  // outer agents first
  const depth = run.split('/agent/').length
  return { event, run, task, order: [depth, task, event.priority ?? Number.MAX_VALUE] as const }
}

type Pin = ReturnType<typeof readPin>

function comparePins({ order: left }: Pin, { order: right }: Pin): number {
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2]
}
