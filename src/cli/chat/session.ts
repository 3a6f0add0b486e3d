import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isBatonError, isSuspension, messageOf as errorText, StopSignal } from '../../base/error.ts'
import { harmless } from '../../base/terminal-text.ts'
import type { Listener } from '../../event/bus.ts'
import type { Chat, ChatHost, Outgoing } from '../../chat/chat.ts'
import type { TakenMessage } from '../../chat/taken.ts'
import type { ChatCommands } from '../../config/chat-commands.ts'
import { issueText } from '../../config/issue.ts'
import { parsePrompt } from '../../prompt/document.ts'
import { createPaint } from '../../render/style.ts'
import type { RunReport } from '../../wiring/conduct.ts'
import type { Flags } from '../command-specs.ts'
import type { CommandIo, Surroundings } from '../io.ts'
import { describeError } from '../report.ts'
import { showAnswer } from './answering.ts'
import { type Background, type BackgroundTask, createBackground } from './background.ts'
import { runBuiltin } from './actions.ts'
import { fileCommands, messageOf } from './file-commands.ts'
import type { ChatInput } from './input.ts'
import { runShellLine } from './shell-line.ts'
import { readTyped } from './slash/read.ts'
import type { TerminalInput } from './terminal-input.ts'

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
  readonly answerTaken: (message: TakenMessage) => Promise<RunReport>
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
  const place = { flags, around, io, terminal, said: new Set<string>() }
  const warned = new Set<string>()
  let exitCode = 0

  async function shown(work: () => Promise<RunReport>): Promise<RunReport> {
    const report = await work()
    exitCode = report.exitCode
    return report
  }

  const session: Session = {
    ...parts,
    isTerminal,
    chat,
    background,
    say(text) {
      if (!flags.json && flags.level !== 'quiet') io.err(`${text}\n`)
    },
    async answer(message, onEvent) {
      if (session.chat.isLong()) {
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
    io.err(describeError(error, { cwd: io.cwd, paint }))
    exitCode = isBatonError(error) && error.code === 'USAGE' ? 2 : 1
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
    try {
      return await work()
    } catch (error) {
      if (io.signal.aborted) throw error
      // Ctrl-C at a question stops its message
      if (error instanceof StopSignal || isSuspension(error)) session.say(errorText(error))
      else report(error)
      return true
    }
  }

  async function begin(): Promise<void> {
    if (isReopened) await takeUp(session)
    else if (flags.file !== undefined && (await hasInstruction(flags.file, around.cwd))) await session.answer({})
    if (flags.prompt !== undefined) await carryOut(flags.prompt)
  }

  if (isTerminal)
    session.say(
      paint(
        'dim',
        'Enter sends, Alt-Enter adds a line, Ctrl-C stops an answer, Ctrl-D ends the chat; /help lists the commands.',
      ),
    )
  await attempt(() => begin().then(() => true))
  try {
    for (;;) {
      tellNews()
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
    await endBackground(session)
    tellNews()
    session.chat.close()
  }
  const id = session.chat.id()
  if (isTerminal && id !== undefined) session.say(`${paint('cyan', 'continue')}: baton chat --resume ${id}`)
  return isTerminal ? 0 : exitCode
}

/** Shows the last messages of a chat, and resumes what was interrupted in it. */
async function takeUp(session: Session): Promise<void> {
  const messages = await session.chat.messages()
  if (session.isTerminal) {
    for (const { text } of messages.filter(({ kind }) => kind === 'message').slice(-3))
      session.say(`> ${harmless(text)}`)
  }
  const open = messages.filter(({ summary: { status } }) => status === 'interrupted' || isWaiting(status))
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
    await session.goOn(last.run)
  }
  for (const message of session.chat.taken()) await takeUpTaken(message, session)
}

/** A message whose run had not begun is sent again, as it was. */
async function takeUpTaken(message: TakenMessage, session: Session): Promise<void> {
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
    const stopped = background.stop()
    if (stopped.length > 0) say(`stopped in the background: ${stopped.join(', ')}; baton chat --continue resumes them`)
  }
  await background.settled()
}

function endText({ id, text, report, iterations: { ended, succeeded } }: BackgroundTask): string {
  const counts = `${succeeded}/${ended} iterations succeeded`
  const state = report?.stopReason === 'done' ? 'done' : (report?.stopReason ?? 'stopped')
  return `${id} ${state}, ${counts}: ${harmless(text)}`
}
