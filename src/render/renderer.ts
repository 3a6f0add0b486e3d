import type { RunEvent } from '../event/event.ts'
import { harmless } from './format.ts'
import type { Paint } from './style.ts'

/** Draws the events of a run. `close` leaves the screen as a shell expects it. */
export interface Renderer {
  event(event: RunEvent): void
  close?(): void
}

/** Text that goes to one stream. */
export type Write = (text: string) => void

/**
 * The result on stdout and nothing else. A prompt file: the final answer of each task, headed by its label when there are
 * several. An agent: what AIPack users expect, `print` and string outputs.
 */
export function createAnswerRenderer(write: Write): Renderer {
  let target: 'prompt' | 'agent' = 'prompt'
  let answers = 0

  return {
    event(event) {
      switch (event.type) {
        case 'run.started':
          target = event.target
          return
        case 'answer':
          if (event.count > 1) write(`${answers > 0 ? '\n' : ''}==> ${event.label} <==\n`)
          write(withNewline(event.text))
          answers += 1
          return
        case 'print':
          if (target === 'agent') write(withNewline(event.text))
          return
        case 'output':
          if (typeof event.output === 'string') write(withNewline(event.output))
          return
        default:
      }
    },
  }
}

function withNewline(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`
}

/** JSON lines: every event on one line, LF only, the terminal event last. */
export function createJsonRenderer(write: Write): Renderer {
  return { event: (event) => write(`${JSON.stringify(event)}\n`) }
}

/** Makes the texts of all events harmless, for a terminal. Pipes and files get every byte as it is. */
export function withHarmlessText(renderer: Renderer): Renderer {
  return {
    event(event) {
      // pieces of answers are many, and drawn only by the live view, which cleans what it shows
      if (event.type !== 'item.delta') renderer.event(harmlessIn(event) as RunEvent)
    },
    close: () => renderer.close?.(),
  }
}

function harmlessIn(value: unknown): unknown {
  if (typeof value === 'string') return harmless(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(harmlessIn)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, harmlessIn(item)]))
}

/** True for what happens inside an agent of the run: the tasks and rounds of a nested prompt file are not those of the run. */
export function isNested({ agent }: RunEvent): boolean {
  return agent.split('/').some((name) => ['pre', 'pre_task', 'post_task', 'post', 'ask', 'agent'].includes(name))
}

/**
 * Pins, printed when the run is over: those of the run, then of its tasks, then of child runs; each by priority, the
 * last value per id, and of a redo chain the last round only.
 */
export function createPinRenderer(write: Write, { paint }: { readonly paint: Paint }): Renderer {
  const pins = new Map<string, Pin>()

  return {
    event(event) {
      if (event.type === 'redo' && !isNested(event)) pins.clear()
      if (event.type !== 'pin') return
      const pin = readPin(event)
      pins.set([pin.run, pin.task, event.id].join('\n'), pin)
    },
    close() {
      for (const { event } of [...pins.values()].toSorted(comparePins)) {
        write(`${paint('bold', event.label)} ${event.content}\n`)
      }
      pins.clear()
    },
  }
}

/**
 * The place of a pin is that of its section: `main/task/2/output`. `run`: the agent run it belongs to. `task`: the
 * position of its task, -1 for pins of the whole run. `order`: compared number by number.
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
