import type { RunEvent } from '../event/event.ts'
import { formatCost, formatDuration, oneLine } from './format.ts'
import { isNested } from './nested.ts'
import type { Renderer, Write } from './renderer.ts'
import type { Paint } from './style.ts'

export interface LiveOptions {
  readonly paint: Paint
  /** Columns of the terminal, asked at every frame. */
  readonly width: () => number
  readonly now: () => number
  /** Draws what else is to be seen, above the status line. */
  readonly lines: Renderer
}

const frameMs = 100
const clearLine = '\r\u001b[K'

/**
 * One status line on a terminal that is redrawn in place and never wider than the screen; everything else scrolls
 * above it. The timer does not keep the process alive.
 */
export function createLiveRenderer(write: Write, { paint, width, now, lines }: LiveOptions): Renderer {
  const started = now()
  let status = createStatus()
  let drawn = false

  const timer = setInterval(draw, frameMs)
  timer.unref()

  function draw(): void {
    const text = oneLine(`${formatDuration(now() - started)} · ${describe(status)}`, width() - 1)
    write(`${clearLine}${paint('dim', text)}`)
    drawn = true
  }

  function clear(): void {
    if (drawn) write(clearLine)
    drawn = false
  }

  return {
    event(event) {
      status = next(status, event)
      if (event.type === 'item.delta') return
      clear()
      lines.event(event)
    },
    close() {
      clearInterval(timer)
      clear()
      lines.close()
    },
  }
}

interface Status {
  readonly planned: number
  readonly finished: number
  readonly step: string
  readonly tokens: number
  readonly costUsd: number | null
  /** The end of what is streaming in. */
  readonly tail: string
}

function createStatus(): Status {
  return { planned: 0, finished: 0, step: 'starting', tokens: 0, costUsd: 0, tail: '' }
}

const tailLength = 200

function next(status: Status, event: RunEvent): Status {
  switch (event.type) {
    case 'tasks.planned':
      return isNested(event) ? status : { ...status, planned: event.count, finished: 0 }
    case 'task.completed':
    case 'task.skipped':
    case 'task.failed':
      return isNested(event) ? status : { ...status, finished: status.finished + 1, tail: '' }
    case 'agent.started':
      return { ...status, step: event.agent === '' ? event.name : event.agent, tail: '' }
    case 'item.delta':
      return { ...status, tail: (status.tail + event.text).slice(-tailLength) }
    case 'usage':
      return { ...status, tokens: event.total.input + event.total.output, costUsd: event.total_cost_usd }
    case 'retry':
    case 'fallback':
      return { ...status, tail: '' }
    default:
      return status
  }
}

function describe({ planned, finished, step, tokens, costUsd, tail }: Status): string {
  const parts = [
    planned > 1 ? `${finished}/${planned} tasks` : '',
    step,
    tokens > 0 ? `${tokens.toLocaleString('en-US')} tokens` : '',
    formatCost(costUsd),
    tail.trim(),
  ]
  return parts.filter((part) => part !== '').join(' · ')
}
