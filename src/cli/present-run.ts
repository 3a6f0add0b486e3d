import { shellWord } from '../base/command.ts'
import { closedPipe, isSuspension, messageOf, OutputLost, StopSignal } from '../base/error.ts'
import type { Listener } from '../event/bus.ts'
import { escapeControls, harmless } from '../render/format.ts'
import { createLiveView, createPulseRenderer } from '../render/live.ts'
import {
  createAnswerRenderer,
  createJsonRenderer,
  createPinRenderer,
  type Renderer,
  withHarmlessText,
  type Write,
} from '../render/renderer.ts'
import { createStepRenderer } from '../render/steps.ts'
import { createPaint } from '../render/style.ts'
import type { RunReport } from '../wiring/conduct.ts'
import { type GlobalFlags, usageError } from './command.ts'
import type { CommandIo, Surroundings } from './io.ts'
import { describeError } from './report.ts'
import { openResult, type ResultFlags } from './result-file.ts'

/**
 * Shows a run while it goes: the result on stdout or in `--output`, everything else on stderr.
 * @throws BatonError USAGE, before the run, FILE_FAILED, after it, when `--output` cannot be written
 */
export async function presentRun<Report extends RunReport>(
  { flags, around: { cwd, env } }: { readonly flags: GlobalFlags & ResultFlags; readonly around: Surroundings },
  io: CommandIo,
  run: (listener: Listener) => Promise<Report>,
): Promise<Report> {
  const result = openResult(flags, { ...io, cwd })
  const screen = createScreen(flags, { ...io, env, result: result.write })
  try {
    const report = await run((event) => screen.event(event))
    screen.close()
    result.finish(report.exitCode)
    reportEnd(report, flags, { ...io, env })
    return report
  } finally {
    screen.close()
  }
}

function reportEnd(report: RunReport, flags: GlobalFlags, io: CommandIo): void {
  const paint = createPaint({ env: io.env, isTerminal: io.errIsTerminal })
  const { error, skipped, repeated, exitCode } = report
  const isQuiet = flags.level === 'quiet' || flags.json
  const hint = (text: string): void => io.err(`${paint('cyan', 'hint')}: ${text}\n`)
  if (repeated.length > 0 && !isQuiet) {
    const places = repeated.map(({ kind, place }) => `${kind} ${place}`).join(', ')
    io.err(`${paint('yellow', 'repeated')}: ${harmless(places)}\n`)
    hint('They were in progress when the run was interrupted; model calls among them may have been paid for twice.')
  }
  if (error instanceof StopSignal) {
    if (exitCode === closedPipe) return
    // a lost output is reported at the end of the process
    if (!(error instanceof OutputLost)) io.err(`${error.message}\n`)
  } else if (isSuspension(error)) {
    io.err(`${paint('yellow', 'suspended')}: ${report.mask(harmless(messageOf(error)))}\n`)
    for (const { kind, place } of report.suspended) io.err(`  ${kind} ${harmless(place)}\n`)
  } else if (error !== undefined) {
    io.err(report.mask(describeError(error, { cwd: io.cwd, paint })))
  }
  if (skipped !== undefined && flags.level !== 'quiet') {
    io.err(`${paint('yellow', 'skipped')}: ${harmless(skipped.reason)}\n`)
    hint(harmless(skipped.hint))
  }
  if (exitCode !== 0 && report.canResume && !isQuiet)
    io.err(`${paint('cyan', 'resume')}: ${resumeCommand(report.runId, flags)}\n`)
}

/** Resumes a run from the same folder, with the flags that decide where its record is and which secrets are set. */
function resumeCommand(runId: string, { chdir, envFile, config }: GlobalFlags): string {
  const flags = [
    ...(chdir === undefined ? [] : ['-C', chdir]),
    ...(envFile === undefined ? [] : ['--env-file', envFile]),
    ...config.filter((setting) => setting.startsWith('runs.dir=')).flatMap((setting) => ['-c', setting]),
  ]
  return ['baton resume', runId, ...flags.map(shellWord)].join(' ')
}

/** The settings of `-c` and `--max-cost`. @throws BatonError USAGE for an invalid amount */
export function overridesOf({
  config,
  maxCost,
}: Pick<GlobalFlags, 'config'> & { readonly maxCost: string | undefined }): readonly string[] {
  if (maxCost === undefined) return config
  if (/^(?:\d+(?:\.\d*)?|\.\d+)$/.test(maxCost) && Number(maxCost) > 0) {
    return [...config, `budget.usd=${Number(maxCost)}`]
  }
  throw usageError(`--max-cost ${maxCost} is not an amount in US dollars`, 'Write for example --max-cost 0.50.')
}

export interface ScreenIo extends Pick<CommandIo, 'env' | 'out' | 'err' | 'outIsTerminal' | 'errIsTerminal'> {
  /** Where the result goes: `out`, or a file, which gets it as it is. */
  readonly result: Write
}

/**
 * Everything that is shown of one run, on both streams: JSON lines; or its result on stdout and steps on stderr, with a
 * live view where stderr is a terminal that a person looks at. Foreign text that reaches a terminal is made harmless.
 */
export function createScreen(
  { json, level }: Pick<GlobalFlags, 'json' | 'level'>,
  io: ScreenIo & Pick<CommandIo, 'columns' | 'rows' | 'signal' | 'onContinue'>,
): Required<Renderer> {
  const { env, out, outIsTerminal, err, errIsTerminal, result } = io
  const elsewhere = result === out ? [] : [createAnswerRenderer(result)]
  if (json) {
    const write: Write = outIsTerminal ? (text) => out(escapeControls(text)) : out
    return joined([createJsonRenderer(write), ...elsewhere])
  }

  const paint = createPaint({ env, isTerminal: errIsTerminal })
  const now = (): number => performance.now()
  const isQuiet = level === 'quiet'
  const isWatched = errIsTerminal && !env['CI'] && env['TERM'] !== 'dumb' && !isQuiet
  const live = isWatched ? createLiveView(err, { ...io, paint, now }) : undefined
  const above = live?.above ?? ((write: Write) => write)
  const forTerminal = (renderer: Renderer, isTerminal: boolean): Renderer =>
    isTerminal ? withHarmlessText(renderer) : renderer

  const answers = createAnswerRenderer(outIsTerminal ? above(out) : out)
  return joined([
    ...(isQuiet ? [] : [live ?? createPulseRenderer(err, { now })]),
    forTerminal(createStepRenderer(above(err), { paint, level }), errIsTerminal),
    ...(elsewhere.length > 0 ? elsewhere : [forTerminal(answers, outIsTerminal)]),
    ...(isQuiet ? [] : [forTerminal(createPinRenderer(err, { paint }), errIsTerminal)]),
  ])
}

function joined(renderers: readonly Renderer[]): Required<Renderer> {
  return {
    event(event) {
      for (const renderer of renderers) renderer.event(event)
    },
    close() {
      for (const renderer of renderers) renderer.close?.()
    },
  }
}
