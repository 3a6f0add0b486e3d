import { startStopwatch } from '../../base/work-time.ts'
import { defined } from '../../base/json.ts'
import type { CommandAgent, CommandSession, ToolUse } from '../../event/agent.ts'
import { emit, type RunContext } from '../../event/context.ts'
import type { Granted } from '../../event/effects.ts'
import type { Spent } from '../../event/meter.ts'
import { callPlace, placeText } from '../../event/place.ts'
import { type Heard, listenToEvents, listenToText } from './listen.ts'
import { commandSandbox } from './mode.ts'
import { type Preset, presets } from './presets/preset.ts'
import { commandProblem } from './problems.ts'
import { mostPrinted, runCommand } from './process.ts'
import { estimateOf, type Pricing, spentOf } from './spent.ts'
import { commandStart, type CommandStart, environmentOf, programOf } from './start.ts'

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
      command: programOf(start, context),
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
  const spent = await spentOf(agent, answered, { before: session?.used, loadPrices: prices, ownPrices })
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

function sessionIn({ session: id, usage }: Heard, preset: Preset | undefined): CommandSession | undefined {
  if (id === undefined) return undefined
  return preset?.countsSession === true && usage !== undefined ? { id, used: usage } : { id }
}

/** Sends a recorded answer as a message that is complete immediately. */
function tellAgain(text: string, context: RunContext): void {
  const item = { id: `${placeText(context.scope.at)}/message`, type: 'agent_message' } as const
  emit(context, { type: 'item.started', item })
  emit(context, { type: 'item.completed', item: { ...item, text } })
}
