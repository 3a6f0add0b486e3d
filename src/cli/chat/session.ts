import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { messageOf as errorText, isBatonError, isSuspension, StopSignal, stopText } from '../../base/error.ts'
import { harmless, harmlessName } from '../../base/terminal-text.ts'
import { wrapped } from '../../base/width.ts'
import type { Listener } from '../../event/bus.ts'
import type { Chat, ChatHost, Outgoing, Watching } from '../../chat/chat.ts'
import type { LastTurn } from '../../chat/last-turns.ts'
import type { PendingMessage } from '../../chat/pending-messages.ts'
import type { ChatCommands } from '../../config/chat-commands.ts'
import { issueText } from '../../settings/issue.ts'
import { parsePrompt } from '../../prompt/document.ts'
import { callText } from '../../render/tool-text.ts'
import { createPaint, type Paint } from '../../render/style.ts'
import type { RunReport } from '../../wiring/conduct.ts'
import type { Flags } from '../command-specs.ts'
import type { CommandIo, Surroundings } from '../io.ts'
import { describeError } from '../report.ts'
import { exitCodeOf } from '../../event/exit-code.ts'
import { runBuiltin } from './actions.ts'
import { fileCommands, messageOf } from './file-commands.ts'
import type { ChatInput } from './input.ts'
import type { TerminalInput } from './terminal-input.ts'
import { createStreamedAnswer } from '../../render/streamed-answer.ts'
import { createPerson } from '../approver.ts'
import { isAttended } from '../confirm.ts'
import { presentRun } from '../present-run.ts'
import type { RunSummary } from '../../journal/summary.ts'
import { runProcess, startProcess } from '../../base/process.ts'
import { loadTargetConfig } from '../../config/target-config.ts'
import { judgeCall } from '../../load/rules-in-force.ts'
import { usageError } from '../command.ts'
import { nearest } from '../../base/suggest.ts'
import { builtinCommands, type BuiltinName, isBuiltin } from './slash/builtin.ts'

const noCommands: ChatCommands = { byName: new Map(), warnings: [] }

export interface ChatParts {
  readonly chat: Chat
  /** How further chats are opened. */
  readonly host: ChatHost
  readonly flags: Flags<'chat'>
  readonly around: Surroundings
  readonly io: CommandIo
  readonly input: ChatInput
  /** Where the user types; undefined: messages come from a pipe. */
  readonly terminal: TerminalInput | undefined
  readonly isReopened: boolean
}

/** A chat in progress: what its commands may use. */
export interface Session extends Omit<ChatParts, 'chat' | 'input' | 'terminal' | 'isReopened'> {
  readonly isTerminal: boolean
  /** Aborted by a Ctrl-C during the work on the line in progress, which does not end the chat. */
  readonly stopped: () => AbortSignal
  /** `/clear` and `/resume` replace it. */
  chat: Chat
  readonly background: Background
  /** Prints a text for the user; the model does not get it. */
  readonly say: (text: string) => void
  /** Sends a message and shows its answer. */
  readonly answer: (message: Outgoing, onEvent?: Listener) => Promise<RunReport>
  /** Summarizes the chat, and shows the summary. */
  readonly compact: () => Promise<RunReport>
  /** Resumes a run of the chat and shows it. */
  readonly goOn: (run: string) => Promise<RunReport>
  /** Answers a message that was taken by a process that was killed, and shows the answer. */
  readonly answerTaken: (message: PendingMessage) => Promise<RunReport>
}

/**
 * Reads and executes messages and commands until the input ends. Errors and failed messages do not end a chat. The exit
 * code is 0 in a terminal, and that of the last message from a pipe.
 */
export async function chatSession({ chat, input, terminal, isReopened, ...parts }: ChatParts): Promise<number> {
  const { io, flags, around } = parts
  const isTerminal = terminal !== undefined
  const paint = createPaint({ env: io.env, isTerminal: io.errIsTerminal })
  const background = createBackground(io.signal)
  let { signal } = io
  const stopped = (): AbortSignal => signal
  const place = { flags, around, io, terminal, said: new Set<string>(), stopped }
  const warned = new Set<string>()
  let exitCode = 0

  function inColumns(text: string): string {
    return io.errIsTerminal ? wrapped(text, io.columns()) : text
  }

  async function shown(work: () => Promise<RunReport>): Promise<RunReport> {
    const report = await work()
    exitCode = report.exitCode
    return report
  }

  const session: Session = {
    ...parts,
    isTerminal,
    stopped,
    chat,
    background,
    say(text) {
      if (flags.json || flags.level === 'quiet') return
      io.err(`${inColumns(text)}\n`)
    },
    async answer(message, onEvent) {
      if (message.isApart !== true && session.chat.isLong()) {
        session.say(paint('dim', 'the chat has become long: summarizing it'))
        await session.compact()
      }
      return shown(() =>
        showAnswer(place, (watching, listener) =>
          session.chat.send(message, watching, (event, result) => {
            onEvent?.(event, result)
            listener(event, result)
          }),
        ),
      )
    },
    compact: () => shown(() => showAnswer(place, (watching, listener) => session.chat.compact(watching, listener))),
    answerTaken: (message) =>
      shown(() => showAnswer(place, (watching, listener) => session.chat.sendTaken(message, watching, listener))),
    goOn: (run) => shown(() => showAnswer(place, (watching, listener) => session.chat.resume(run, watching, listener))),
  }

  function report(error: unknown): void {
    io.err(inColumns(describeError(error, { cwd: io.cwd, paint })))
    exitCode = exitCodeOf(error)
  }

  function tellNews(): void {
    for (const task of background.news()) session.say(`${paint('cyan', 'background')} ${endText(task)}`)
  }

  async function commandsNow(): Promise<ChatCommands> {
    const commands = await fileCommands(around)
    const warnings = commands.warnings.map(issueText).filter((text) => !warned.has(text))
    for (const text of warnings) {
      warned.add(text)
      session.say(`${paint('yellow', 'warning')} ${harmless(text)}`)
    }
    return commands
  }

  /** False: the chat is over. */
  async function carryOut(line: string): Promise<boolean> {
    // read again, because the files may have changed since the last message
    const { byName } = line.trimStart().startsWith('/') ? await commandsNow() : noCommands
    const typed = readTyped(line, [...byName.keys()])
    switch (typed.kind) {
      case 'builtin':
        return runBuiltin(typed.name, typed.rest, session)
      case 'shell':
        await runShellLine(typed.command, session)
        return true
      case 'command': {
        const command = byName.get(typed.name)
        if (command !== undefined) await session.answer(await messageOf(command, typed.rest, session))
        return true
      }
      case 'message':
        await session.answer({ text: typed.text })
        return true
    }
  }

  async function attempt(work: () => Promise<boolean>): Promise<boolean> {
    const turn = beginTurn(io, isTerminal)
    signal = turn.signal
    try {
      return await work()
    } catch (error) {
      if (io.signal.aborted) throw error
      // Ctrl-C at a question stops its message
      if (error instanceof StopSignal) session.say(stopText(error))
      else if (isSuspension(error)) session.say(errorText(error))
      else report(error)
      return true
    } finally {
      turn.end()
    }
  }

  async function begin(): Promise<void> {
    if (isReopened) await takeUp(session)
    else if (flags.file !== undefined && (await hasInstruction(flags.file, around.cwd))) await session.answer({})
    if (flags.prompt !== undefined) await carryOut(flags.prompt)
  }

  if (isTerminal && !flags.json && flags.level !== 'quiet') {
    const { headerLines } = await import('./next-message.ts')
    for (const line of await headerLines(session, paint)) session.say(line)
    session.say(
      paint(
        'dim',
        'Enter sends, Alt-Enter adds a line, Ctrl-C stops an answer, Ctrl-D ends the chat; /help lists the commands.',
      ),
    )
  }
  await attempt(() => begin().then(() => true))
  try {
    for (;;) {
      tellNews()
      for (const line of terminal?.held() ?? []) session.say(paint('dim', harmless(line)))
      const given = await input.next(io.signal)
      if (given.kind === 'end') break
      if (given.kind === 'interrupt') {
        session.say('Ctrl-D or /exit ends the chat.')
        continue
      }
      if (given.text.trim() === '') continue
      if (!(await attempt(() => carryOut(given.text)))) break
    }
  } finally {
    for (const line of terminal?.unsent() ?? []) session.say(`${paint('yellow', 'not sent')}: ${harmless(line)}`)
    await endBackground(session)
    tellNews()
    await session.chat.close()
    const id = session.chat.id()
    if (isTerminal && id !== undefined) session.say(`${paint('cyan', 'continue')}: baton chat --resume ${id}`)
  }
  return isTerminal ? 0 : exitCode
}

/** Shows the last messages of a chat, and resumes what was interrupted in it. */
async function takeUp(session: Session): Promise<void> {
  const messages = await session.chat.messages()
  if (session.isTerminal) {
    const turns = await session.chat.lastTurns(shownTurns)
    const paint = createPaint({ env: session.io.env, isTerminal: session.io.errIsTerminal })
    turns.forEach((turn, index) => session.say(turnText(turn, index === turns.length - 1, paint)))
  }
  const open = messages.filter(({ summary }) => isWaiting(summary.status) || isCutShort(summary))
  for (const { run, text } of open.filter(({ kind }) => kind === 'background')) {
    const id = await session.background.start(text, async (watching, listener) => {
      watching.onBegin?.(run)
      return session.chat.resume(run, watching, listener)
    })
    session.say(`resumed in the background: ${id}`)
  }
  const last = messages.findLast(({ kind }) => kind !== 'background')
  if (last !== undefined && open.includes(last)) {
    session.say(
      `the last message ${isWaiting(last.summary.status) ? 'waits for approval' : 'was interrupted'}; resuming it`,
    )
    await session.goOn(last.run).catch(async (error: unknown) => {
      const { inChat } = await import('./next-message.ts')
      throw isBatonError(error) ? inChat(error) : error
    })
  }
  for (const message of session.chat.taken()) await takeUpTaken(message, session)
}

/** The turns that a chat shows when it is continued, and how many lines of each; the last one is shown at length. */
const shownTurns = 3
const shownLines = { question: 6, calls: 8, answer: 12, lastAnswer: 60 } as const

/** A turn as it was on the screen: the question, a line for each tool call, and the end of the answer. */
function turnText({ question, calls, answer }: LastTurn, isLast: boolean, paint: Paint): string {
  const asked = question.split('\n')
  const more = asked.length > shownLines.question ? ['…'] : []
  const left = calls.length - shownLines.calls
  const lines = calls.slice(Math.max(0, left)).map(({ name, input, state }) => {
    const shownName = harmlessName(name)
    const rest = callText(shownName, input).slice(shownName.length)
    return `${state === 'done' ? '' : `${paint('yellow', state)} `}${paint('cyan', shownName)}${rest}`
  })
  const answered = answer.split('\n')
  const most = isLast ? shownLines.lastAnswer : shownLines.answer
  return [
    `> ${harmless([...asked.slice(0, shownLines.question), ...more].join('\n'))}`,
    ...(left > 0 ? [paint('dim', `… ${left} more tool calls`)] : []),
    ...lines,
    ...(answered.length > most ? [paint('dim', `… ${answered.length - most} more lines`)] : []),
    ...(answer === '' ? [] : [harmless(answered.slice(-most).join('\n'))]),
  ].join('\n')
}

/** A message whose run had not begun is sent again, as it was. */
async function takeUpTaken(message: PendingMessage, session: Session): Promise<void> {
  if (message.kind === 'background') {
    const id = await session.background.start(message.text, (watching, listener) =>
      session.chat.sendTaken(message, watching, listener),
    )
    return session.say(`started in the background: ${id}`)
  }
  session.say(`the last message was not answered yet; sending it`)
  if (session.isTerminal) session.say(`> ${harmless(message.text)}`)
  await session.answerTaken(message)
}

/** Whether its process was ended, also by a signal such as that of a lost terminal. Ctrl-C is the wish of the user. */
function isCutShort({ status, exit }: RunSummary): boolean {
  return status === 'interrupted' || (status === 'cancelled' && (exit === 129 || exit === 143))
}

function isWaiting(status: string): boolean {
  return status === 'suspended' || status === 'waiting_for_approval'
}

/** Whether a prompt file has text below its front matter. True for a missing file: running it reports that. */
async function hasInstruction(file: string, cwd: string): Promise<boolean> {
  const path = resolve(cwd, file)
  if (!existsSync(path)) return true
  return (await parsePrompt(file, readFileSync(path, 'utf8'))).instruction !== ''
}

/** A pipe waits for its background tasks; a user who leaves stops them and can resume them. */
async function endBackground({ background, isTerminal, say }: Session): Promise<void> {
  if (isTerminal) {
    const stopped = background.leave()
    if (stopped.length > 0) say(`stopped in the background: ${stopped.join(', ')}; baton chat --continue resumes them`)
  }
  await background.settled()
}

function endText({ id, text, report, iterations: { ended, succeeded } }: BackgroundTask): string {
  const counts = `${succeeded}/${ended} iterations succeeded`
  const state = report?.stopReason === 'done' ? 'done' : (report?.stopReason ?? 'stopped')
  return `${id} ${state}, ${counts}: ${harmless(text)}`
}

const patienceMs = 10 * 60_000

/** What showing the messages of a chat takes. */
interface AnswerPlace {
  readonly flags: Flags<'chat'>
  readonly around: Surroundings
  readonly io: CommandIo
  /** See `StepOptions`. */
  readonly said: Set<string>
  /** Where the user types; undefined: messages come from a pipe. */
  readonly terminal: Pick<TerminalInput, 'typed' | 'askLine' | 'lend'> | undefined
  /** See `Session`. */
  readonly stopped: () => AbortSignal
}

/**
 * Lets Ctrl-C stop the work on one line and not the chat. If that does not end, further ones end the chat: the second
 * from a pipe, the third at a terminal, where two are quickly pressed.
 */
function beginTurn(io: Pick<CommandIo, 'signal' | 'onInterrupt'>, isTerminal: boolean) {
  const turn = new AbortController()
  let patience = isTerminal ? 2 : 1
  const endInterrupts = io.onInterrupt(() => {
    turn.abort(new StopSignal('SIGINT', 130))
    patience -= 1
    return patience >= 0
  })
  return { signal: AbortSignal.any([io.signal, turn.signal]), end: endInterrupts }
}

/** Shows how a message is answered: the streamed answer, tool calls, questions, and how it ended. */
async function showAnswer(
  { flags, around, io, said, terminal, stopped }: AnswerPlace,
  answer: (watching: Watching, listener: Listener) => Promise<RunReport>,
): Promise<RunReport> {
  const signal = stopped()
  signal.throwIfAborted()
  const shown = { ...flags, dry: undefined, output: undefined }
  const turnIo = { ...io, signal }
  const view = { answers: createStreamedAnswer, below: terminal?.typed, said }
  return presentRun({ flags: shown, around, isChat: true, ...view }, turnIo, (listener, hold) => {
    const who = createPerson(flags, {
      ...turnIo,
      cwd: around.cwd,
      hold,
      askLine: terminal?.askLine,
      lend: terminal?.lend,
      span: 'chat',
    })
    const { unattendedApprover: _, ...typing } = who
    const person = terminal === undefined ? who : typing
    const asking = flags.onAsk === 'suspend' ? { onAsk: flags.onAsk } : {}
    const { uncertain, unattended: isUnattended } = flags
    const process = { signal, isAttended: isAttended(flags, io), patienceMs, uncertain, isUnattended }
    return answer({ ...process, ...asking, ...person }, listener)
  })
}

/** A message that runs while the chat continues. */
interface BackgroundTask {
  /** The id of its run. */
  readonly id: string
  readonly text: string
  /** Omitted while it is running. */
  readonly report?: RunReport
  /** How many iterations have ended, and how many of those succeeded. */
  readonly iterations: { readonly ended: number; readonly succeeded: number }
}

/** The background tasks of one chat. */
interface Background {
  /** Starts a task, and resolves to its id once its run is recorded. Rejects if it cannot start. */
  readonly start: (
    text: string,
    answer: (watching: Watching, listener: Listener) => Promise<RunReport>,
  ) => Promise<string>
  readonly tasks: () => readonly BackgroundTask[]
  /** The tasks that have ended since the last call. */
  readonly news: () => readonly BackgroundTask[]
  /** Stops one running task, or all; returns their ids. */
  readonly stop: (id?: string) => readonly string[]
  /** Stops all because the chat ends; it resumes them when it is continued. */
  readonly leave: () => readonly string[]
  /** Resolves when no task is running. */
  readonly settled: () => Promise<void>
}

function createBackground(signal: AbortSignal): Background {
  const tasks = new Map<string, BackgroundTask>()
  /** Stop functions of the running tasks, by id. */
  const running = new Map<string, (why: StopSignal) => void>()
  const ends = new Set<Promise<unknown>>()
  let told = new Set<string>()

  function stop(id: string, why: StopSignal): readonly string[] {
    const stopped = [...running.keys()].filter((one) => one.startsWith(id))
    for (const one of stopped) running.get(one)?.(why)
    return stopped
  }

  return {
    start(text, answer) {
      const own = new AbortController()
      return new Promise<string>((resolve, reject) => {
        let id = ''
        const counts = { ended: 0, succeeded: 0 }
        const report = answer(
          {
            signal: AbortSignal.any([signal, own.signal]),
            onBegin(run) {
              id = run
              tasks.set(run, { id: run, text, iterations: counts })
              running.set(run, (why) => own.abort(why))
              resolve(run)
            },
          },
          (event) => {
            if (event.type !== 'iteration.completed') return
            counts.ended += 1
            if (event.success) counts.succeeded += 1
          },
        )
        const ended = report.then(
          (end) => {
            running.delete(id)
            if (id !== '') tasks.set(id, { id, text, iterations: counts, report: end })
            // a run that could not start is not recorded
            else reject(end.error instanceof Error ? end.error : new Error('the task could not start'))
          },
          (error: unknown) => {
            running.delete(id)
            reject(error as Error)
          },
        )
        ends.add(ended)
        void ended.finally(() => ends.delete(ended))
      })
    },
    tasks: () => [...tasks.values()],
    news() {
      const fresh = [...tasks.values()].filter(({ id, report }) => report !== undefined && !told.has(id))
      told = new Set([...told, ...fresh.map(({ id }) => id)])
      return fresh
    },
    stop: (id = '') => stop(id, new StopSignal('SIGINT', 130)),
    leave: () => stop('', new StopSignal('SIGTERM', 143)),
    async settled() {
      await Promise.allSettled(ends)
    },
  }
}

const timeLimitMs = 10 * 60_000
const maxOutputBytes = 1024 * 1024
/** Characters of its output that the model gets. */
const mostForModel = 20_000

/**
 * Runs a command line that the user typed, with the rights of the user. Shows its output, which the model gets with the
 * next message.
 * @throws BatonError USAGE for one that `[permission]` denies
 */
async function runShellLine(command: string, { chat, around, io, stopped }: Session): Promise<void> {
  const { overrides } = chat.settings()
  const config = await loadTargetConfig({ ...around, flags: { overrides } })
  const { verdict } = await judgeCall(`bash ${command}`, config)
  if (verdict === 'deny') {
    throw usageError(`[permission] denies this command: ${command}`, 'See baton config --permission "bash …".')
  }
  const seen = { stdout: linesTo(io.err), stderr: linesTo(io.err) }
  const { end, stdout, stderr } = await runProcess(
    {
      command: 'sh',
      args: ['-c', command],
      cwd: around.cwd,
      environment: variablesOf(around.env),
      timeLimitMs,
      maxOutputBytes,
    },
    stopped(),
    ({ onOutput, ...start }) =>
      startProcess({
        ...start,
        onOutput: {
          stdout: (bytes) => (onOutput.stdout(bytes), seen.stdout.add(bytes)),
          stderr: (bytes) => (onOutput.stderr(bytes), seen.stderr.add(bytes)),
        },
      }),
  ).finally(() => {
    for (const one of [seen.stdout, seen.stderr]) one.end()
  })
  const output = [stdout.text, stderr.text]
    .filter((text) => text !== '')
    .join('\n')
    .trimEnd()
  const how = end.kind === 'exited' ? `exit code ${end.code}` : end.kind
  if (end.kind !== 'exited' || end.code !== 0) io.err(`${how}\n`)
  chat.note(`I ran the command ${command} (${how}), which printed:\n${output.slice(0, mostForModel)}`)
}

/** Writes what a program prints as it arrives, in whole lines. */
function linesTo(write: (text: string) => void) {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  return {
    add(bytes: Buffer): void {
      rest += decoder.write(bytes)
      const end = rest.lastIndexOf('\n') + 1
      if (end > 0) write(harmless(rest.slice(0, end)))
      rest = rest.slice(end)
    },
    end(): void {
      if (rest !== '') write(`${harmless(rest)}\n`)
      rest = ''
    },
  }
}

function variablesOf(env: Session['around']['env']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

/** What the user typed into a chat. */
type Typed =
  | { readonly kind: 'message'; readonly text: string }
  /** `!command`: a shell command of the user. */
  | { readonly kind: 'shell'; readonly command: string }
  | { readonly kind: 'builtin'; readonly name: BuiltinName; readonly rest: string }
  /** A command defined by a file. */
  | { readonly kind: 'command'; readonly name: string; readonly rest: string }

/**
 * Reads a line of a chat. `//…` is a message that starts with a slash, and so is a line that starts with a path.
 * @param commands names of command files
 * @throws BatonError USAGE for a command that does not exist
 */
export function readTyped(line: string, commands: readonly string[]): Typed {
  const text = line.trim()
  if (text.startsWith('!') && text.slice(1).trim() !== '') return { kind: 'shell', command: text.slice(1).trim() }
  if (text.startsWith('//')) return { kind: 'message', text: text.slice(1) }
  const [, name = '', rest = ''] = /^\/([\w:-]+)(?:\s+([^]*))?$/.exec(text) ?? []
  if (name === '') return { kind: 'message', text }
  if (isBuiltin(name)) return { kind: 'builtin', name, rest }
  if (commands.includes(name)) return { kind: 'command', name, rest }
  const meant = nearest(name, [...Object.keys(builtinCommands), ...commands])
  const guess = meant === undefined ? '' : `Did you mean /${meant}? `
  throw usageError(
    `there is no command /${name}`,
    `${guess}See /help; to send a message that starts with a slash, type // first.`,
  )
}
