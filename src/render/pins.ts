import type { RunEvent } from '../event/event.ts'
import { isNested } from './nested.ts'
import type { Renderer, Write } from './renderer.ts'
import type { Paint } from './style.ts'

type PinEvent = Extract<RunEvent, { readonly type: 'pin' }>

interface Pin {
  readonly event: PinEvent
  /** The agent run it belongs to. */
  readonly run: string
  /** Position of the task, -1 for pins of the whole run. */
  readonly task: number
}

/**
 * Pins, printed when the run is over: those of the run, then of its tasks, then of child runs; each by priority, the
 * last value per id, and of a redo chain the last round only (DESIGN 6).
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
      for (const { event } of [...pins.values()].toSorted(compare)) {
        write(`${paint('bold', event.label)} ${event.content}\n`)
      }
      pins.clear()
    },
  }
}

/** The place of a pin is that of its section: `main/task/2/output`. */
function readPin(event: PinEvent): Pin {
  const [, run = '', task] = /^(.*?)(?:(?:^|\/)task\/(\d+))?\/[^/]*$/.exec(event.agent) ?? []
  return { event, run, task: event.scope === 'run' ? -1 : Number(task ?? 0) }
}

function compare(left: Pin, right: Pin): number {
  return depth(left) - depth(right) || left.task - right.task || priority(left) - priority(right)
}

/** How many agents ran the one that pinned. */
function depth({ run }: Pin): number {
  return run.split('/agent/').length
}

function priority({ event }: Pin): number {
  return event.priority ?? Number.POSITIVE_INFINITY
}
