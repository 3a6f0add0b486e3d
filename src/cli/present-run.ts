import { shellWord } from '../base/command.ts'
import {
  closedPipe,
  isBatonError,
  isSuspension,
  isWaitingForApproval,
  limitOfRun,
  messageOf,
  OutputLost,
  StopSignal,
  stopText,
} from '../base/error.ts'
import { durationText } from '../base/clock.ts'
import { displayPath } from '../base/files.ts'
import { defined } from '../base/json.ts'
import { isPiece, type Listener, withoutPieces } from '../event/bus.ts'
import { isRoundLimit } from '../event/limits.ts'
import { harmless, harmlessName } from '../base/terminal-text.ts'
import { type BelowLine, createLiveView, createPulseRenderer } from '../render/live.ts'
import {
  createAnswerRenderer,
  createJsonRenderer,
  createPinRenderer,
  lineFlow,
  pieceFlow,
  type Renderer,
  withHarmlessText,
  type Write,
} from '../render/renderer.ts'
import type * as Markdown from '../render/markdown.ts'
import type { createStreamedAnswer } from '../render/streamed-answer.ts'
import { noMask } from '../journal/secrets.ts'
import { createStepRenderer, type StepOptions } from '../render/steps.ts'
import { createPaint, paintDiff } from '../render/style.ts'
import { isUnusable } from '../run/answer.ts'
import { faultyScript } from '../run/ending.ts'
import type { RunReport } from '../wiring/conduct.ts'
import type { GlobalFlags } from './command.ts'
import { type CommandIo, isWatched, type Surroundings } from './io.ts'
import { describeError, describeReported } from './report.ts'
import { openResult, type ResultFlags } from './result-file.ts'
import { withPlace } from './with-place.ts'

/**
 * Shows a run in progress: the result on stdout or in `--output`, everything else on stderr.
 * @throws BatonError if `--output` cannot be written: USAGE before the run, FILE_FAILED after it; FILE_FAILED if `--report`
 *   cannot be written
 */
export async function presentRun<Report extends RunReport>(
  {
    flags,
    around: { cwd, env },
    isChat = false,
    ...view
  }: {
    readonly flags: GlobalFlags & ResultFlags & RunFiles
    readonly around: Surroundings
    /** A further message continues what a limit of its model stopped. */
    readonly isChat?: boolean
  } & ViewOptions,
  io: CommandIo,
  run: (listener: Listener, hold: Screen['hold']) => Promise<Report>,
): Promise<Report> {
  const result = openResult(flags, { ...io, cwd })
  const isRendered = io.outIsTerminal && !flags.json && flags.raw !== true && flags.dry === undefined
  const markdown = isRendered && env['TERM'] !== 'dumb' ? await import('../render/markdown.ts') : undefined
  const screen = createScreen({ ...flags, ...view, markdown }, { ...io, env, result: result.write })
  let hasChanged = false
  try {
    const listener: Listener = (event, result) => {
      hasChanged ||=
        (event.type === 'file.changed' && event.isolated !== true) ||
        (event.type === 'run.started' && event.resumed === true)
      screen.event(event, result)
    }
    const report = await run(screen.takesPieces ? listener : withoutPieces(listener), screen.hold)
    screen.close()
    result.finish(report.exitCode)
    if (hasChanged && flags.level !== 'quiet' && !flags.json) await reportChanges(report, flags, { ...io, env })
    if (report.isPlanned && report.folder !== undefined && flags.level !== 'quiet' && !flags.json) {
      const paint = createPaint({ env, isTerminal: io.errIsTerminal })
      io.err(`not applied · ${paint('cyan', 'apply')}: baton ${withPlace(`apply ${report.runId}`, flags)}\n`)
    }
    if (isChat && isRoundLimit(report.error)) reportStopped(report, { ...io, env })
    else {
      // where somebody types, the next message continues, and the chat is open: nobody else may resume it
      const { canResume } = report
      const isHere = isChat && view.below !== undefined && !isSuspension(report.error)
      const ended = { ...report, canResume: canResume && !isHere }
      await reportEnd(isChat ? await inChatWords(ended) : ended, flags, { ...io, env })
    }
    if (!isChat && (flags.report ?? env['GITHUB_STEP_SUMMARY'])) {
      const { reportRun } = await import('./report-file.ts')
      await reportRun(report, flags, { cwd, env, home: io.home, err: io.err })
    }
    // the process stays until they are delivered, but nobody waits for them
    void report.notified?.then((problems) => {
      for (const message of flags.level === 'quiet' ? [] : problems)
        io.err(
          describeReported(
            { severity: 'warning', message },
            { cwd, paint: createPaint({ env, isTerminal: io.errIsTerminal }) },
          ),
        )
    })
    return report
  } finally {
    screen.close()
  }
}

/** A file that a pack keeps for itself: it is undone with the others, but nobody looks for it. */
function isCache(path: string): boolean {
  return /^\.(?:aipack|baton)\/(?:.*\/)?\.cache\//.test(path)
}

/** Prints one line: how many files have changed, how to see the changes, and how to undo them. */
async function reportChanges({ folder, runId }: RunReport, flags: GlobalFlags, io: CommandIo): Promise<void> {
  if (folder === undefined) return
  const [{ openChanges }, { changedFiles }] = await Promise.all([
    import('../undo/open-changes.ts'),
    import('../undo/diff.ts'),
  ])
  // a damaged record is reported by the commands that need it
  const count = await openChanges(folder, noMask).then(
    ({ changes }) => changedFiles(changes).filter(({ path }) => !isCache(path)).length,
    () => 0,
  )
  if (count === 0) return
  const paint = createPaint({ env: io.env, isTerminal: io.errIsTerminal })
  const commands = Object.entries({ see: `runs show ${runId} --diff`, undo: `undo ${runId}` })
  const ways = commands.map(([what, words]) => `${paint('cyan', what)}: baton ${withPlace(words, flags)}`)
  io.err([`${count} ${count === 1 ? 'file' : 'files'} changed`, ...ways].join(' · ') + '\n')
}

/** In a chat, a model is chosen by a command. */
async function inChatWords(report: RunReport): Promise<RunReport> {
  if (!isBatonError(report.error)) return report
  const { inChat } = await import('./chat/next-message.ts')
  return { ...report, error: inChat(report.error) }
}

function reportStopped({ error, mask }: RunReport, io: CommandIo): void {
  const paint = createPaint({ env: io.env, isTerminal: io.errIsTerminal })
  io.err(`${paint('yellow', 'stopped')}: ${mask(harmless(messageOf(error)))}; your next message continues\n`)
}

/** Effects that a suspended run waits for: those of a batch are many. */
const mostShown = 8

async function reportEnd(report: RunReport, flags: GlobalFlags & RunFiles, io: CommandIo): Promise<void> {
  const paint = createPaint({ env: io.env, isTerminal: io.errIsTerminal })
  const { error, skipped, repeated, asleepMs, exitCode } = report
  const isQuiet = flags.level === 'quiet' || flags.json
  const hint = (text: string): void => io.err(`${paint('cyan', 'hint')}: ${text}\n`)
  if (repeated.length > 0 && !isQuiet) {
    io.err(`${paint('yellow', 'repeated')}: ${harmless(await repeatedText(repeated))}\n`)
    hint('They were in progress when the run was interrupted; model calls among them may have been paid for twice.')
  }
  if (asleepMs > 0 && !isQuiet) {
    io.err(`${paint('yellow', 'asleep')}: ${durationText(asleepMs)}, which do not count as work\n`)
  }
  if (error instanceof StopSignal) {
    if (exitCode === closedPipe) return
    // lost output is reported at the end of the process
    if (!(error instanceof OutputLost)) io.err(`${stopText(error)}\n`)
  } else if (isWaitingForApproval(error)) {
    const { waitingLines } = await import('../render/approval.ts')
    const command = (words: string): string => `baton ${withPlace(words.replace('RUN', report.runId), flags)}`
    const lines = waitingLines(report.approvals, { paint, command: report.canResume ? command : undefined })
    for (const line of lines) io.err(`${report.mask(line)}\n`)
  } else if (isSuspension(error)) {
    io.err(`${paint('yellow', 'suspended')}: ${report.mask(harmless(messageOf(error)))}\n`)
    for (const { kind, place } of report.suspended.slice(0, mostShown)) io.err(`  ${kind} ${harmlessName(place)}\n`)
    const more = report.suspended.length - mostShown
    if (more > 0) io.err(`  and ${more} more\n`)
  } else if (error !== undefined) {
    io.err(report.mask(describeError(error, { cwd: io.cwd, paint })))
  }
  if (skipped !== undefined && flags.level !== 'quiet') {
    io.err(`${paint('yellow', 'skipped')}: ${harmless(skipped.reason)}\n`)
    hint(harmless(skipped.hint))
  }
  if (exitCode === 0 || !report.canResume || isQuiet) return
  const faulty = faultyScript(error)
  // the unusable answer was paid for, but a resume does not use it again
  const anew = isUnusable(error) ? '  # asks for a new answer' : ''
  const once =
    faulty === undefined ? anew : ` --use-current  # once ${harmlessName(displayPath(io.cwd, faulty))} is fixed`
  // a resume does not read the file again, so the limit must be a flag
  const limit = limitOfRun(error)
  const raised = limit === undefined ? '' : ` ${limitFlags[limit] ?? `-c ${limit}=N`}`
  // not needed by a resume, which keeps them, but shown
  const files = Object.entries({ output: flags.output, record: flags.record, report: flags.report })
  const named = files.flatMap(([flag, file]) => (file === undefined ? [] : [` --${flag} ${shellWord(file)}`])).join('')
  io.err(`${paint('cyan', 'resume')}: baton ${withPlace(`resume ${report.runId}`, flags)}${named}${raised}${once}\n`)
}

/** How the limits of a run are raised for a resume; the others by `-c`. */
const limitFlags: { readonly [limit: string]: string } = {
  'budget.usd': '--max-cost USD',
  max_rounds: '--max-rounds N',
  timeout: '--timeout TIME',
  'retry.patience': '-c retry.patience=TIME',
  'runs.max_size': '-c runs.max_size=SIZE',
}

/** What was repeated, and who did it. */
async function repeatedText(repeated: RunReport['repeated']): Promise<string> {
  const { askerText } = await import('../event/sub-agents.ts')
  const texts = repeated.map(({ kind, place }) => {
    const who = askerText(place)
    return `${repeatedKinds[kind] ?? kind}${who === '' ? '' : ` of ${who}`}`
  })
  return [...new Set(texts)].join(', ')
}

/** Kinds of effects, as people name them. */
const repeatedKinds: { readonly [kind: string]: string } = {
  model: 'a model call',
  command: 'a command',
  tool: 'a tool call',
  http: 'a request',
  approval: 'a question',
}

interface ViewOptions extends Pick<StepOptions, 'said'> {
  /** Creates the renderer for the answers. Default: they are shown when they are final. */
  readonly answers?: typeof createStreamedAnswer
  /** How Markdown is shown on a terminal. Default: as it is written. */
  readonly markdown?: Pick<typeof Markdown, 'createMarkdownFlow' | 'markdownText'> | undefined
  /** Further lines at the end of the live view. */
  readonly below?: (() => readonly BelowLine[]) | undefined
}

/** Additional files that a run writes, as given on the command line. */
interface RunFiles {
  readonly output?: string | undefined
  readonly record?: string | undefined
  readonly report?: string | undefined
}

export interface ScreenIo extends Pick<CommandIo, 'env' | 'out' | 'err' | 'draw' | 'outIsTerminal' | 'errIsTerminal'> {
  /** Where the result goes: `out`, or a file, which gets it verbatim. */
  readonly result: Write
}

export interface Screen extends Required<Renderer> {
  /** Hides the live view until the returned function is called. */
  readonly hold: () => () => void
}

/**
 * Everything that one run shows, on both streams: JSON lines; or its result on stdout and its steps on stderr, with a
 * live view if stderr is a watched terminal. Control characters of foreign text never reach a terminal.
 */
export function createScreen(
  {
    json,
    level,
    dry,
    answers: drawAnswers,
    markdown,
    below,
    said,
  }: Pick<ResultFlags, 'json' | 'level' | 'dry'> & ViewOptions,
  io: ScreenIo & Pick<CommandIo, 'columns' | 'rows' | 'signal' | 'onContinue'>,
): Screen {
  const { env, out, outIsTerminal, err, draw, errIsTerminal, result } = io
  const elsewhere = result === out ? [] : [createAnswerRenderer(result, { lastLine: 'as it is' })]
  if (json) {
    return joined([createJsonRenderer(out), ...elsewhere])
  }

  const paint = createPaint({ env, isTerminal: errIsTerminal })
  const now = (): number => performance.now()
  const isQuiet = level === 'quiet'
  const live = isWatched(io) && !isQuiet ? createLiveView(draw, { ...io, paint, now, below }) : undefined
  const above = live?.above ?? ((write: Write) => write)
  const outPaint = createPaint({ env, isTerminal: outIsTerminal })
  const writeOut = outIsTerminal ? above(out) : out
  const look = { paint: outPaint, columns: io.columns }
  const finalAnswers = createAnswerRenderer(
    dry === 'changes' && outIsTerminal
      ? (text) => writeOut(paintDiff(text.split('\n'), outPaint).join('\n'))
      : writeOut,
    markdown && { look: (text) => markdown.markdownText(text, look) },
  )
  const whole = outIsTerminal ? withHarmlessText(finalAnswers) : finalAnswers
  const flow =
    markdown?.createMarkdownFlow(writeOut, look) ??
    (outIsTerminal && env['TERM'] === 'dumb'
      ? pieceFlow(writeOut)
      : lineFlow(writeOut, outIsTerminal ? harmless : undefined))
  const answers = drawAnswers?.(writeOut, { flow, whole }) ?? whole
  return joined(
    [
      ...(isQuiet ? [] : [live ?? createPulseRenderer(err, { now })]),
      // before the steps, so that the pins of a round are above the line that starts the next one
      ...(isQuiet ? [] : [createPinRenderer(above(err), { paint })]),
      createStepRenderer(above(err), { paint, level, showsOutput: errIsTerminal, ...defined({ said }) }),
      ...(elsewhere.length > 0 ? elsewhere : [answers]),
    ],
    live?.hold,
  )
}

function joined(renderers: readonly Renderer[], hold: Screen['hold'] = () => () => undefined): Screen {
  const ofPieces = renderers.filter(({ takesPieces }) => takesPieces === true)
  return {
    hold,
    takesPieces: ofPieces.length > 0,
    event(event, result) {
      for (const renderer of isPiece(event) ? ofPieces : renderers) renderer.event(event, result)
    },
    close() {
      for (const renderer of renderers) renderer.close?.()
    },
  }
}
