import { basename, resolve } from 'node:path'
import { startStopwatch } from '../../base/work-time.ts'
import { defined } from '../../base/json.ts'
import type { CommandAgent, CommandLine, CommandSession, ToolUse } from '../../event/agent.ts'
import { emit, type RunContext, type RunFolders, type Sender } from '../../event/context.ts'
import type { Granted } from '../../event/effects.ts'
import type { Spent } from '../../event/meter.ts'
import { callPlace, placeText } from '../../event/place.ts'
import { type ProgramReport, listenToEvents, listenToText } from './listen.ts'
import { type Preset, presets } from './presets/preset.ts'
import { estimateOf, type Pricing, usageAndCost } from './program-cost.ts'
import { durationText } from '../../base/clock.ts'
import { cutText } from '../../base/cut-text.ts'
import { BatonError, type ErrorReason } from '../../base/error.ts'
import { sizeText } from '../../base/size.ts'
import { harmless } from '../../base/terminal-text.ts'
import { commandEnvironment } from '../../base/command.ts'
import { withReferences } from '../../base/references.ts'
import { passesVariable } from '../../event/permission.ts'
import { ownWorkspace } from '../../tool/worktree/tree-paths.ts'
import { narrowSandbox, type SandboxMode, strictestSandbox } from '../../event/sandbox-rights.ts'
import { signalOf, watchedProgram } from '../../base/process-watch.ts'
import { type NotStarted, type StartedProcess, startProcess, untilEnded } from '../../base/process.ts'

export interface CommandQuestion {
  readonly agent: CommandAgent
  readonly prompt: string
  /** If omitted, a new conversation is started. */
  readonly session?: CommandSession | undefined
  /** Default: that of the agent's definition, else the program decides. */
  readonly model?: string | undefined
  /** Default: that of the agent's definition, else that of all agents. */
  readonly timeoutMs?: number | undefined
  /** Called with each piece of its answer as it arrives. */
  readonly onText?: (text: string) => void
  /** Called once with the conversation that it named, even if it fails or is stopped. */
  readonly onSession?: ((session: CommandSession) => void) | undefined
}

/** The answer of a program. Plain JSON, because it is recorded. */
export type CommandAnswer = {
  readonly text: string
  /** Absent if the program cannot resume conversations. */
  readonly session?: CommandSession
  readonly spent: Spent
  /** The tools that it reports as used. */
  readonly calls: readonly ToolUse[]
  /** How long it took. */
  readonly seconds: number
}

/**
 * Runs the program of a command agent once, as one effect at the place of the context, with permission check
 * (`commands` of packs), budget and record. A resume runs a failed program again, but one that was running when Baton
 * was killed only if the user chooses so, because it is unknown what it did. It runs in the workspace of the context,
 * outside of our sandbox, and its output is sent as events. Its file changes are not recorded.
 * @throws BatonError AGENT_FAILED, LIMIT, KEY_MISSING (`commandProblem`), SANDBOX, CONFIG_INVALID, UNTRUSTED, BUDGET
 */
export async function askCommand(
  question: CommandQuestion,
  context: RunContext,
  parts: Pricing,
): Promise<CommandAnswer> {
  const { agent, prompt, session, model = agent.line.model } = question
  const { name, line } = agent
  const mode = commandSandbox(agent, context)
  const start = commandStart({ agent, prompt, model, session: session?.id, mode })
  const { scope, services } = context
  let isRun = false
  const answer = await services.effects.perform<CommandAnswer>(
    callPlace(scope.at, 0),
    {
      kind: 'command',
      // without the sandbox mode: narrower rights do not make it a different call
      request: {
        command: line.command,
        args: line.args,
        prompt,
        ...(line.preset === undefined ? {} : { preset: line.preset }),
        ...(model === undefined ? {} : { model }),
        ...(session === undefined ? {} : { session: session.id }),
      },
      action: { kind: 'command', program: line.command, caller: `agent "${name}"` },
      // what it did is unknown, but after its end it does nothing more
      repeat: 'ended',
      estimate: await estimateOf(line, model, parts),
      costOf: ({ spent }) => spent,
      assumed: {
        text: '',
        spent: {
          model: line.preset ?? name,
          usage: { calls: 1, input: 0, output: 0, cached: 0, reasoning: 0 },
          costUsd: null,
        },
        calls: [],
        seconds: 0,
      },
    },
    (stop, granted) => {
      isRun = true
      const signal = AbortSignal.any([stop, services.signal])
      return perform({ question, start, model, mayWrite: mode !== 'read-only', signal, granted }, context, parts)
    },
  )
  if (!isRun) tellAgain(answer.text, context)
  return answer
}

interface Performance {
  readonly question: CommandQuestion
  readonly start: CommandStart
  readonly model: string | undefined
  readonly mayWrite: boolean
  readonly signal: AbortSignal
  readonly granted: Pick<Granted, 'process' | 'failed'>
}

async function perform(
  { question, start, model, mayWrite, signal, granted }: Performance,
  context: RunContext,
  { prices, ownPrices }: Pricing,
): Promise<CommandAnswer> {
  const { agent, session, timeoutMs = agent.line.timeoutMs, onText = () => {}, onSession } = question
  const { line, name } = agent
  const { scope, services } = context
  const ms = timeoutMs ?? scope.agentMs
  const preset = line.preset === undefined ? undefined : presets[line.preset]
  const hearing = { onText, maxBytes: mostPrinted }
  const listener =
    preset === undefined ? listenToText(context, hearing) : listenToEvents(preset.createReader(), context, hearing)
  const time = startStopwatch()
  // this run must not execute files that the program has changed
  const isDone = mayWrite ? services.sources.writing(scope.folders.workspace) : undefined
  const end = await runCommand(
    {
      command: programOf(start, context.scope.folders),
      args: start.args,
      cwd: scope.folders.workspace,
      environment: environmentOf({ agent, start }, context),
      ...(start.input === undefined ? {} : { input: start.input }),
      ...(ms === undefined ? {} : { timeLimitMs: ms }),
      onStart: granted.process,
      onOutput: listener.add,
    },
    signal,
  ).finally(() => {
    time.end()
    isDone?.()
    const named = sessionIn(listener.heard(), preset)
    if (named !== undefined) onSession?.(named)
  })
  const seconds = time.elapsedMs() / 1000
  listener.end()
  const heard = listener.heard()
  const answered = { ...heard, model: heard.model ?? model }
  const spent = await usageAndCost(agent, answered, { before: session?.used, loadPrices: prices, ownPrices })
  const limit = ms === undefined ? undefined : { ms, isUsual: timeoutMs === undefined }
  const problem = commandProblem({ agent, end, heard, limit })
  if (problem !== undefined) {
    if (heard.usage !== undefined) granted.failed(spent)
    throw problem
  }
  if (heard.junk !== undefined) {
    const { line: first, count } = heard.junk
    const lines = count === 1 ? 'a line' : `${count} lines`
    emit(context, { type: 'warning', message: `agent "${name}" printed ${lines} that are not events: ${first}` })
  }
  const { text, calls } = heard
  return { text, ...defined({ session: sessionIn(heard, preset) }), spent, calls, seconds }
}

function sessionIn({ session: id, usage }: ProgramReport, preset: Preset | undefined): CommandSession | undefined {
  if (id === undefined) return undefined
  return preset?.countsSession === true && usage !== undefined ? { id, used: usage } : { id }
}

/** Sends a recorded answer as a message that is complete immediately. */
function tellAgain(text: string, context: Sender): void {
  const item = { id: `${placeText(context.scope.at)}/message`, type: 'agent_message' } as const
  emit(context, { type: 'item.started', item })
  emit(context, { type: 'item.completed', item: { ...item, text } })
}

interface EndedCommand {
  readonly agent: CommandAgent
  readonly end: CommandEnd
  readonly heard: ProgramReport
  /** The time limit, and whether it is that of all agents. */
  readonly limit: { readonly ms: number; readonly isUsual: boolean } | undefined
}

/**
 * The error of a program run without an answer; undefined if it has one. AGENT_FAILED: it could not be started,
 * crashed, reported a failure, or printed nothing readable; LIMIT: it took too long or printed too much; KEY_MISSING:
 * it requires a login.
 */
function commandProblem({ agent, end, heard, limit }: EndedCommand): BatonError | undefined {
  const { name, line } = agent
  const who = `agent "${name}"`
  const said = lastWords(heard.failure ?? end.words)
  const failed = (what: string, hint: string, reason?: ErrorReason): BatonError =>
    new BatonError('AGENT_FAILED', `${who} ${what}`, { hint, reason })
  if (end.kind === 'not_started')
    return failed(
      `cannot be started: ${notStarted(end.reason, line.command)}`,
      installHint(agent),
      'AGENT_SPAWN_FAILED',
    )
  const login = loginText({ end, heard })
  if (login !== undefined) {
    const hint = loginHint(line)
    return new BatonError('KEY_MISSING', `${who} requires a login: ${lastWords(login)}`, { hint })
  }
  switch (end.kind) {
    case 'timed_out':
      return new BatonError('LIMIT', `${who} took longer than ${limitText(limit)}${saying(said)}`, {
        reason: 'AGENT_TIMEOUT',
        hint: `Raise ${limit?.isUsual === true ? 'agent in [timeouts]' : `timeout of [agents.${name}]`} if it needs more time.`,
      })
    case 'flooded':
      return new BatonError(
        'LIMIT',
        `${who} printed more than ${sizeText(mostPrinted)} and was stopped${saying(said)}`,
        {
          hint: 'Make the program print only its answer.',
        },
      )
    case 'killed':
      return failed(`was killed by ${end.signal}${saying(said)}`, byHand(agent), 'AGENT_CRASHED')
    case 'exited':
      if (heard.failure !== undefined) return failed(`failed: ${said}`, byHand(agent))
      if (end.code !== 0) return failed(`exited with code ${end.code}${saying(said)}`, byHand(agent), 'AGENT_CRASHED')
  }
  if (heard.text.trim() !== '') return undefined
  if (heard.junk === undefined) return failed(`gave no answer${saying(said)}`, byHand(agent), 'EMPTY_ANSWER')
  const hint = `Check that it is ${line.preset ?? 'that program'}, in a version that prints events. ${byHand(agent)}`
  return failed(`printed no readable answer, but ${JSON.stringify(heard.junk.line)}`, hint)
}

/** Longer texts are answers about logging in. */
const shortText = 400

/** The text that asks for a login. A program may print one and still exit with code 0. */
function loginText({ end, heard }: Pick<EndedCommand, 'end' | 'heard'>): string | undefined {
  const { text, failure } = heard
  const isDone = end.kind === 'exited' && end.code === 0 && failure === undefined
  const isAnswered = isDone && text.trim() !== ''
  const texts = isAnswered ? [] : [failure ?? '', end.words]
  // a known program reports failures, so its text is an answer; another one has only its text
  if (heard.session === undefined && text.length <= shortText) texts.push(text)
  return texts.find((one) => wantsLogin(one))
}

/** The last lines of a program's output, joined into one. */
function lastWords(words: string): string {
  const lines = harmless(words)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return cutText(lines.slice(-5).join(' · '), 1_000)
}

function saying(words: string): string {
  return words === '' ? '' : `: ${words}`
}

function limitText(limit: EndedCommand['limit']): string {
  if (limit === undefined) return 'it may'
  return `${limit.isUsual ? 'agent in [timeouts]' : 'its timeout'}, ${durationText(limit.ms)}`
}

function notStarted(reason: string, command: string): string {
  if (!/ENOENT/.test(reason)) return reason
  return command.includes('/') ? `there is no program ${command}` : `there is no program "${command}" in PATH`
}

const packages: { readonly [program: string]: string } = {
  claude: '@anthropic-ai/claude-code',
  codex: '@openai/codex',
  gemini: '@google/gemini-cli',
  opencode: 'opencode-ai',
}

function installHint({ name, line }: CommandAgent): string {
  const known = packages[line.preset ?? basename(line.command)]
  const install = known === undefined ? 'Install it' : `Install it with npm install -g ${known}`
  return `${install}, or name another program as command in [agents.${name}].`
}

function byHand({ line }: CommandAgent): string {
  return `Run ${line.command} yourself to see what it does.`
}

/** How to log in to each known program. */
const logins: { readonly [program: string]: string } = {
  claude: 'Run claude and type /login there, or set ANTHROPIC_API_KEY.',
  codex: 'Run codex login, or set the key that its provider wants, such as OPENAI_API_KEY.',
  gemini: 'Run gemini and log in there, or set GEMINI_API_KEY.',
  opencode: 'Run opencode auth login, or set the API key of the provider of its model.',
}

/** Texts with which programs report missing credentials. */
const loginWords = [
  String.raw`\bnot (?:logged|signed) in\b`,
  String.raw`\bplease (?:run )?["'\x60]?(?:\/login|log ?in|sign ?in|authenticate)\b`,
  String.raw`\bset an auth method\b`,
  String.raw`\brun ["'\x60]?[\w-]+ (?:auth )?login\b`,
  String.raw`\b(?:invalid|incorrect|missing|no) (?:x-)?api[- ]key\b`,
  String.raw`\bmissing environment variable: ?["'\x60]?\w*(?:key|token)\b`,
  String.raw`\bauthentication (?:is )?(?:required|failed|error)\b`,
  String.raw`\bauthentication_error\b`,
  String.raw`\b401 unauthorized\b`,
]

const loginPattern = new RegExp(loginWords.join('|'), 'i')

function wantsLogin(text: string): boolean {
  return loginPattern.test(text)
}

function loginHint({ preset, command }: Pick<CommandLine, 'preset' | 'command'>): string {
  const name = preset ?? basename(command)
  return Object.hasOwn(logins, name)
    ? (logins[name] ?? '')
    : `Log in with ${name} manually: Baton runs it without a terminal, so it cannot ask you.`
}

/** The process to start for one prompt. */
interface CommandStart {
  readonly command: string
  readonly args: readonly string[]
  /** The content of standard input. Default: empty. */
  readonly input?: string
  /** Additional variables, besides those that every command gets. */
  readonly env: Readonly<Record<string, string>>
}

interface StartQuestion {
  readonly agent: Pick<CommandAgent, 'name' | 'line'>
  readonly prompt: string
  /** The program's name for it. */
  readonly model: string | undefined
  /** The conversation to resume. */
  readonly session: string | undefined
  readonly mode: CommandSandbox
}

/**
 * Builds the command line for a prompt. A prompt longer than `stdin_over` goes to standard input, and the argument for
 * it is dropped.
 * @throws BatonError CONFIG_INVALID if the program cannot resume a conversation, or needs a model and none is set
 */
export function commandStart({ agent, prompt, model, session, mode }: StartQuestion): CommandStart {
  const { line } = agent
  const env = line.preset === undefined || mode === 'open' ? {} : (presets[line.preset].env?.(mode) ?? {})
  const isLong = Buffer.byteLength(prompt) > line.stdinOver
  const isNamed = line.args.some((arg) => arg.includes('{prompt}'))
  // arguments cannot contain NUL
  const asArgument = !isLong && !prompt.includes('\0')
  const own = line.args.flatMap((arg) => filled(arg, { prompt: asArgument ? prompt : undefined, model, agent }))
  const shown = asArgument && !isNamed ? prompt : undefined
  if (line.preset === undefined || mode === 'open') {
    if (session !== undefined) throw noSessions(agent)
    const isRead = !asArgument || !isNamed
    return { command: line.command, args: own, env, ...(isRead ? { input: prompt } : {}) }
  }
  const args = presets[line.preset].args({ model, mode, session, args: own, prompt: shown })
  return { command: line.command, args, env, ...(asArgument ? {} : { input: prompt }) }
}

function filled(
  arg: string,
  { prompt, model, agent }: Pick<StartQuestion, 'model' | 'agent'> & { readonly prompt: string | undefined },
): readonly string[] {
  if (arg.includes('{prompt}') && prompt === undefined) return []
  if (arg.includes('{model}') && model === undefined) {
    throw new BatonError('CONFIG_INVALID', `agent "${agent.name}" has {model} in its args, but no model is set`, {
      hint: `Set model in [agents.${agent.name}].`,
    })
  }
  // inserted text is not scanned for placeholders again
  return [arg.replaceAll(/\{(prompt|model)\}/g, (_, key: string) => (key === 'prompt' ? prompt : model) ?? '')]
}

function noSessions({ name }: Pick<CommandAgent, 'name'>): BatonError {
  return new BatonError(
    'CONFIG_INVALID',
    `agent "${name}" cannot resume a conversation: Baton does not know its program`,
    {
      hint: `Set preset in [agents.${name}] to claude, codex, gemini or opencode, or start a new conversation.`,
    },
  )
}

/**
 * The path of the program. A relative path starts at the workspace of the run, even if the agent works in a work tree,
 * whose copy of the program a model may have changed.
 */
function programOf({ command }: Pick<CommandStart, 'command'>, folders: RunFolders): string {
  return command.includes('/') ? resolve(ownWorkspace(folders), command) : command
}

/**
 * The environment of the program: the variables that every command gets, keys of the provider of a known program, and
 * `env` of its definition. Of the first two, a pack's agent gets only what the pack was granted.
 * @throws BatonError KEY_MISSING if `env` refers to a variable that is not set
 */
function environmentOf(
  { agent, start }: { readonly agent: CommandAgent; readonly start: CommandStart },
  { scope, services }: RunContext,
): Readonly<Record<string, string>> {
  const { name, line, file } = agent
  const passes = (variable: string): boolean => passesVariable(scope.rights, variable)
  const preset = line.preset === undefined ? undefined : presets[line.preset]
  const given = Object.entries(services.env).flatMap(([variable, value]) =>
    value !== undefined && preset?.passes(variable) === true && passes(variable) ? [[variable, value]] : [],
  )
  const missing = (variable: string): never => {
    throw new BatonError('KEY_MISSING', `agent "${name}" needs the variable ${variable}, which is not set`, {
      hint: `Set it, because env of [agents.${name}] in ${basename(file)} refers to it, or add a default there: \${${variable}:-text}.`,
    })
  }
  return {
    ...commandEnvironment(services.env, passes),
    ...(Object.fromEntries(given) as Record<string, string>),
    // its output is not shown in a terminal
    NO_COLOR: '1',
    ...start.env,
    ...Object.fromEntries(
      Object.entries(line.env).map(([variable, text]) => [variable, withReferences(text, services.env, missing)]),
    ),
  }
}

/** What a program is allowed to do; `open`: it gets no restriction and has all of the user's rights. */
type CommandSandbox = SandboxMode | 'open'

/**
 * Determines what a program may do. It runs outside of our sandbox. A known program gets our sandbox mode as its own
 * flag: that of the run, or of its definition if that is stricter. It is read-only if answers change no files, if the
 * user is asked first, and in a dry run. Any other program needs the mode danger-full-access.
 * @throws BatonError SANDBOX if it does not have that
 */
function commandSandbox({ name, line }: CommandAgent, { scope }: RunContext): CommandSandbox {
  const { rights, dry } = scope
  const sandbox = rights.sandbox ?? strictestSandbox
  if (line.preset === undefined) {
    if (sandbox.mode === 'danger-full-access' || line.mode === 'danger-full-access') return 'open'
    throw new BatonError(
      'SANDBOX',
      `agent "${name}" runs ${line.command}, which Baton cannot restrict to the sandbox mode ${sandbox.mode}`,
      {
        hint: `It runs with all of your rights. If you trust it with them, set sandbox = { mode = "danger-full-access" } in [agents.${name}].`,
      },
    )
  }
  if (!rights.write || rights.asks === true || dry !== undefined) return 'read-only'
  return line.mode === undefined ? sandbox.mode : narrowSandbox(sandbox, { mode: line.mode }).mode
}

/** Bytes that a program may print, on both streams together. */
const mostPrinted = 64 * 1024 * 1024
/** Bytes kept of the end of its error output. */
const keptWords = 8_192

interface CommandProcess {
  readonly command: string
  readonly args: readonly string[]
  /** Absolute. */
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  /** If omitted, stdin is empty. */
  readonly input?: string
  /** If omitted, there is no time limit. */
  readonly timeLimitMs?: number
  /** Called with its process id, which is also its group id, before it starts. */
  readonly onStart: (pid: number) => void
  readonly onOutput: (bytes: Buffer) => void
}

/** How the program ended. `flooded`: it printed more than `mostPrinted` and was stopped. */
type CommandEnd = (
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly signal: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'flooded' }
  | NotStarted
) & {
  /** The end of its error output. */
  readonly words: string
}

/**
 * Runs a program to its end in its own process group, outside of the sandbox. Both of its streams are read before it
 * gets any input, and its stdin is always closed, so neither side can block the other. When it ends, reaches its
 * time limit or prints too much, or when `signal` is aborted, its whole group is stopped: TERM, and KILL after 5 s. If
 * this process is killed, the program is ended 5 s later. Rejects only with the signal's reason.
 */
async function runCommand(options: CommandProcess, signal: AbortSignal): Promise<CommandEnd> {
  signal.throwIfAborted()
  const { input, onOutput, ...program } = options
  let started: StartedProcess | undefined
  let printed = 0
  let words = Buffer.alloc(0)

  function counted(take: (bytes: Buffer) => void): (bytes: Buffer) => void {
    return (bytes) => {
      printed += bytes.length
      if (printed <= mostPrinted) take(bytes)
      else void started?.stop()
    }
  }

  const begun = await startProcess({
    ...program,
    ...watchedProgram(program),
    ...(input === undefined ? {} : { readsInput: true as const }),
    onOutput: {
      stdout: counted(onOutput),
      stderr: counted((bytes) => {
        // a copy, because a slice would keep the whole buffer in memory
        words = Buffer.from(Buffer.concat([words, bytes.subarray(-keptWords)]).subarray(-keptWords))
      }),
    },
  })
  const text = (): string => words.toString('utf8').replace(/^\uFFFD+/, '')
  if (begun.kind === 'not_started') return { ...begun, words: '' }
  started = begun
  if (input !== undefined) {
    begun.write(input)
    begun.endInput()
  }
  const { end } = await untilEnded(begun, signal)
  if (printed > mostPrinted) return { kind: 'flooded', words: text() }
  const signalName = end.kind === 'exited' ? signalOf(end.code) : undefined
  return signalName === undefined ? { ...end, words: text() } : { kind: 'killed', signal: signalName, words: text() }
}
