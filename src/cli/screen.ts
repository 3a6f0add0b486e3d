import type { RunEvent } from '../event/event.ts'
import { createAnswerRenderer } from '../render/answers.ts'
import { withHarmlessText } from '../render/harmless.ts'
import { createJsonRenderer, escapeControls } from '../render/json.ts'
import { createLiveView, type LiveView } from '../render/live.ts'
import { createPinRenderer } from '../render/pins.ts'
import { createPulseRenderer } from '../render/pulse.ts'
import type { Renderer, Write } from '../render/renderer.ts'
import { createStepRenderer } from '../render/steps.ts'
import { createPaint } from '../render/style.ts'
import type { CommandIo } from './io.ts'
import type { GlobalFlags } from './options.ts'

type Streams = Pick<CommandIo, 'env' | 'out' | 'err' | 'outIsTerminal' | 'errIsTerminal'>
type View = Pick<CommandIo, 'columns' | 'rows' | 'signal' | 'onContinue'>

export interface ScreenIo extends Streams, View {
  /** Where the result goes: `out`, or a file, which gets it as it is. */
  readonly result: Write
}

/** Everything that is shown of one run, on both streams. */
export interface Screen extends Renderer {
  /** Writes whole lines to stderr, above what is drawn there. */
  readonly say: Write
}

/**
 * What a run is shown with: JSON lines; or its result on stdout and steps on stderr, with a live view where stderr is a
 * terminal that a person looks at (DESIGN 12). Texts of others that reach a terminal are made harmless.
 */
export function createScreen({ json, level }: Pick<GlobalFlags, 'json' | 'level'>, io: ScreenIo): Screen {
  const elsewhere = io.result === io.out ? [] : [createAnswerRenderer(io.result)]
  if (json) return joined([createJsonRenderer(jsonWriter(io)), ...elsewhere], io.err)

  const paint = createPaint({ env: io.env, isTerminal: io.errIsTerminal })
  const live = isWatched(io) && level !== 'quiet' ? liveView(io) : undefined
  const err = live === undefined ? io.err : live.above(io.err)
  const out = live === undefined || !io.outIsTerminal ? io.out : live.above(io.out)

  const steps = forTerminal(createStepRenderer(err, { paint, level }), io.errIsTerminal)
  const answers = elsewhere.length > 0 ? elsewhere : [forTerminal(createAnswerRenderer(out), io.outIsTerminal)]
  const pins = level === 'quiet' ? [] : [forTerminal(createPinRenderer(io.err, { paint }), io.errIsTerminal)]
  const view = live ?? (level === 'quiet' ? undefined : createPulseRenderer(io.err, { now: monotonic }))
  return joined([...(view === undefined ? [] : [view]), steps, ...answers, ...pins], err)
}

function isWatched({ errIsTerminal, env }: Streams): boolean {
  return errIsTerminal && !env['CI'] && env['TERM'] !== 'dumb'
}

function liveView({ err, env, columns, rows, signal, onContinue }: ScreenIo): LiveView {
  const paint = createPaint({ env, isTerminal: true })
  return createLiveView(err, { paint, columns, rows, signal, onContinue, now: monotonic })
}

function monotonic(): number {
  return performance.now()
}

function forTerminal(renderer: Renderer, isTerminal: boolean): Renderer {
  return isTerminal ? withHarmlessText(renderer) : renderer
}

function jsonWriter({ out, outIsTerminal }: Streams): Write {
  return outIsTerminal ? (text) => out(escapeControls(text)) : out
}

function joined(renderers: readonly Renderer[], say: Write): Screen {
  return {
    event: (event: RunEvent) => {
      for (const renderer of renderers) renderer.event(event)
    },
    close() {
      for (const renderer of renderers) renderer.close()
    },
    say,
  }
}
