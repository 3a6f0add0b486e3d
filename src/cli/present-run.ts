import { BatonError } from '../base/error.ts'
import { shellWord } from '../base/shell-word.ts'
import { closedPipe, OutputLost, StopSignal } from '../base/stop.ts'
import type { RunReport } from '../wiring/conduct.ts'
import type { Listener } from '../event/bus.ts'
import { harmless } from '../render/harmless.ts'
import { createPaint } from '../render/style.ts'
import type { CommandIo } from './io.ts'
import type { GlobalFlags } from './options.ts'
import { describeError } from './report.ts'
import { openResultFile, type ResultSink } from './result-file.ts'
import { createScreen } from './screen.ts'

export interface Presentation {
  readonly flags: GlobalFlags
  readonly env: CommandIo['env']
  readonly result: ResultSink
}

/** Shows a run while it goes: the result where it belongs, everything else on stderr. */
export async function presentRun(
  { flags, env, result }: Presentation,
  io: CommandIo,
  run: (listener: Listener) => Promise<RunReport>,
): Promise<RunReport> {
  const screen = createScreen(flags, { ...io, env, result: result.write })
  try {
    const report = await run((event) => screen.event(event))
    screen.close()
    result.finish(report.exitCode)
    tellEnd(report, { flags, env }, io)
    return report
  } finally {
    screen.close()
  }
}

function tellEnd(report: RunReport, { flags, env }: Omit<Presentation, 'result'>, io: CommandIo): void {
  const paint = createPaint({ env, isTerminal: io.errIsTerminal })
  const { error, skipped, repeated, exitCode } = report
  const isQuiet = flags.level === 'quiet' || flags.json
  const hint = (text: string): void => io.err(`${paint('cyan', 'hint')}: ${text}\n`)
  if (repeated.length > 0 && !isQuiet) {
    const places = repeated.map(({ kind, place }) => `${kind} ${place}`).join(', ')
    io.err(`${paint('yellow', 'done again')}: ${harmless(places)}\n`)
    hint('They were under way when the run broke off: model calls among them may have been paid for twice.')
  }
  if (error instanceof StopSignal) {
    if (exitCode === closedPipe) return
    // that is told at the end of the process
    if (!(error instanceof OutputLost)) io.err(`${error.message}\n`)
  } else if (error !== undefined) {
    io.err(report.mask(describeError(error, { cwd: io.cwd, paint })))
  }
  if (skipped !== undefined && flags.level !== 'quiet') {
    io.err(`${paint('yellow', 'skipped')}: ${harmless(skipped.reason)}\n`)
    hint(harmless(skipped.hint))
  }
  if (exitCode !== 0 && report.canResume && !isQuiet)
    io.err(`${paint('cyan', 'go on')}: ${goOnCommand(report.runId, flags)}\n`)
}

/** What goes on with a run from the same place: with what decides where its record is and which secrets there are. */
function goOnCommand(runId: string, { chdir, envFile, config }: GlobalFlags): string {
  const place = config.filter((setting) => setting.startsWith('runs.dir='))
  const flags = [
    ...(chdir === undefined ? [] : ['-C', chdir]),
    ...(envFile === undefined ? [] : ['--env-file', envFile]),
    ...place.flatMap((setting) => ['-c', setting]),
  ]
  return ['baton resume', runId, ...flags.map(shellWord)].join(' ')
}

/** `--max-cost` as the setting it stands for. @throws BatonError USAGE */
export function costLimit(maxCost: string | undefined): readonly string[] {
  if (maxCost === undefined) return []
  if (/^(?:\d+(?:\.\d*)?|\.\d+)$/.test(maxCost) && Number(maxCost) > 0) return [`budget.usd=${Number(maxCost)}`]
  throw new BatonError('USAGE', `--max-cost ${maxCost} is not an amount in US dollars`, {
    hint: 'Write for example --max-cost 0.50.',
  })
}

export interface ResultFlags extends Pick<GlobalFlags, 'json' | 'level'> {
  readonly output: string | undefined
  /** What is run. */
  readonly file: string
}

/** `--output`: stdout stays empty, but for events. Events are whole whatever becomes of the file. */
export function openResult(
  { output, file, json, level }: ResultFlags,
  { cwd, out, outIsTerminal, err }: CommandIo,
): ResultSink {
  if (output === undefined) return { write: json ? () => undefined : out, finish: () => undefined }
  const note = level === 'quiet' ? () => undefined : err
  const rescue = outIsTerminal ? (text: string) => out(harmless(text)) : out
  return openResultFile(output, { cwd, source: file, note, rescue: json ? () => undefined : rescue })
}
