import { isAbsolute, join } from 'node:path'
import { changeFailureText } from '../event/error-info.ts'
import { harmless, harmlessName } from '../base/terminal-text.ts'
import { isNested, isWithin } from '../event/place.ts'
import type { FileChange, RunEvent } from '../event/event.ts'
import { countOf, formatClock, formatCost, formatCount, formatDuration, formatUsage, oneLine } from './format.ts'
import type { Renderer, Write } from './renderer.ts'
import type { Paint } from './style.ts'
import { isOfTeam } from '../event/sub-agents.ts'
import { createTeamMembers } from './team-members.ts'
import { callText, failureText, lastOutput, resultLines, teamCallText } from './tool-text.ts'

type EndEvent = Extract<RunEvent, { readonly type: 'run.completed' | 'run.failed' }>

export interface StepOptions {
  readonly paint: Paint
  /** `quiet`: errors only. `normal`: also warnings and what scripts print. `verbose`: also every step. */
  readonly level: 'quiet' | 'normal' | 'verbose'
  /** Whether the last lines that commands print are shown. */
  readonly showsOutput?: boolean
  /** What has been said about the surroundings of runs: the runs of a session say each of it once. */
  readonly said?: Set<string>
}

/** Writes what stderr shows besides errors, as plain lines that can be piped and logged. */
export function createStepRenderer(
  write: Write,
  { paint, level, showsOutput = false, said = new Set() }: StepOptions,
): Renderer {
  let target: 'prompt' | 'agent' = 'prompt'
  let tasks = 1
  let isIterated = false
  /** Tool calls in progress, by place and id. */
  const calls = new Map<string, ToolStart>()
  /** The last lines that commands in progress have printed, in the same way. */
  const outputs = new Map<string, string>()
  /** Name and description of agents that a model delegated work to, by place. */
  const agents = new Map<string, string>()

  const members = createTeamMembers()

  /** The innermost of these agents around a place; undefined: none. */
  function ofAgent(at: string): string | undefined {
    const inner = [...agents].filter(([place]) => isWithin(at, place)).toSorted(([a], [b]) => b.length - a.length)
    return inner[0]?.[1]
  }

  function toolLines(event: ToolEvent): string | undefined {
    const key = `${event.agent}\n${event.id}`
    if (event.type === 'tool.started') {
      calls.set(key, event)
      return undefined
    }
    const start = calls.get(key)
    const tail = outputs.get(key)
    calls.delete(key)
    outputs.delete(key)
    return level === 'quiet' || start === undefined
      ? undefined
      : toolText(start, event, {
          paint,
          level,
          showsOutput,
          tail,
          of: ofAgent(event.agent),
          nameOf: members.nameOf,
        })
  }

  function startLines(event: Extract<RunEvent, { readonly type: 'run.started' }>): string | undefined {
    const { workspace, config_warnings: warnings } = event
    const about = [
      ...(workspace === undefined ? [] : [`${paint('dim', 'workspace')} ${workspace}`]),
      ...warnings.map((text) => `${paint('yellow', 'warning')} ${text}`),
    ]
    const fresh = about.filter((text) => !said.has(text))
    for (const text of fresh) said.add(text)
    const lines = level === 'verbose' ? [`${paint('bold', 'run')} ${event.run_id} ${event.file}`, ...fresh] : fresh
    return lines.length === 0 ? undefined : lines.join('\n')
  }

  function line(event: RunEvent): string | undefined {
    if (event.type === 'run.started') target = event.target
    if (event.type === 'tasks.planned' && !isNested(event)) tasks = event.count
    if (event.type === 'iterate.started' && !isNested(event)) isIterated = true
    // if the only task of a run fails, so does the run, whose error is reported at the end; iterations continue instead
    if (event.type === 'task.failed' && tasks === 1 && !isIterated && !isNested(event)) return undefined
    if (event.type === 'changes.applied' || event.type === 'changes.planned') {
      return isOfCall(event) ? undefined : changeLines(event, { paint, level })
    }
    if (event.type === 'agent.started' && event.description !== undefined) {
      const { id, name } = event
      const who = id !== undefined && isOfTeam(event.agent) ? members.nameOf(id, name) : name
      agents.set(event.agent, `${who} (${event.description})`)
    }
    if (event.type === 'tool.started' || event.type === 'tool.completed') return toolLines(event)
    if (level === 'quiet' && !(event.type === 'warning' && event.urgent === true)) return undefined
    const ofTeam = teamLine(event, { paint, about: agents.get(event.agent) })
    if (ofTeam !== undefined) return ofTeam
    if (event.type === 'run.started') return startLines(event)
    return noteworthy(event, target, paint) ?? (level === 'verbose' ? step(event, paint) : undefined)
  }

  return {
    takesPieces: showsOutput && level !== 'quiet',
    event(event) {
      if (event.type === 'item.delta') return
      if (event.type === 'tool.output') return void outputs.set(`${event.agent}\n${event.id}`, event.text)
      const text = line(shownEvent(event))
      if (text !== undefined) write(`${text}\n`)
    },
  }
}

/** Fields that may have several lines; all others are names. Texts of servers in them are single lines already. */
const longTexts: ReadonlySet<string> = new Set(['message', 'hint', 'reason', 'error_msg'])

/**
 * The event with texts that stay on the line that they are shown in, whoever chose them. The texts of tool calls are
 * cut to lines where they are shown.
 */
function shownEvent(event: RunEvent): RunEvent {
  if (event.type === 'tool.started' || event.type === 'tool.completed') return event
  return shownIn(event, event.type === 'print' ? 'text' : undefined) as RunEvent
}

function shownIn(value: unknown, as?: string, key = ''): unknown {
  if (typeof value === 'string') {
    return key === as || longTexts.has(key) ? harmless(value) : harmlessName(value)
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => shownIn(item, as, key))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shownIn(item, as, name)]))
}

function noteworthy(event: RunEvent, target: 'prompt' | 'agent', paint: Paint): string | undefined {
  switch (event.type) {
    case 'isolation.applied':
      return appliedLine(event, paint)
    case 'isolation.gate':
      return event.passed ? `${paint('green', 'gate')} ${event.command}` : undefined
    case 'warning': {
      const hint = event.hint === undefined ? '' : `\n  ${event.hint}`
      return `${paint('yellow', 'warning')} ${event.message}${hint}`
    }
    case 'print':
      return target === 'agent' ? undefined : `${paint('dim', `[${event.name}]`)} ${event.text}`
    case 'retry': {
      const wait = formatDuration(event.delay_ms)
      const longer = event.left_ms === undefined ? '' : `, trying for another ${formatClock(event.left_ms + 999)}`
      return `${paint('yellow', 'retry')} in ${wait} (attempt ${event.attempt} failed)${longer}: ${event.error.message}`
    }
    case 'batch.sent':
    case 'batch.waiting':
    case 'batch.completed': {
      const text = batchText(event)
      return text === undefined ? undefined : `${paint('cyan', 'batch')} ${text}`
    }
    case 'fallback':
      return `${paint('yellow', 'fallback')} to ${event.to}: ${event.error.message}`
    case 'conversation.compacted': {
      const [before, after] = [event.tokens_before, event.tokens_after].map(formatCount)
      return `${paint('yellow', 'compacted')} the conversation, which has become long: about ${before} → ${after} tokens`
    }
    case 'sandbox.used':
      return `${paint('dim', 'sandbox')} ${sandboxText(event)}`
    case 'iteration.started':
      return `${paint('cyan', 'iteration')} ${event.iteration}${event.count === undefined ? '' : ` of ${event.count}`}`
    case 'iteration.completed':
      return iterationLine(event, paint)
    case 'iterate.restored': {
      const which = event.iteration < 0 ? 'the start' : `iteration ${event.iteration}`
      return `${paint('cyan', 'best')} score ${event.score}: restored the files from ${which}`
    }
    case 'iterate.completed':
      return reportLine(event.result as unknown as IterateResult)
    case 'redo':
      return `${paint('cyan', 'redo')} round ${event.count}`
    case 'again':
      return `${paint('cyan', 'rerun')} ${event.agent.split(':')[0]} ${event.label}: ${event.reason}`
    case 'task.skipped':
      return event.reason === undefined ? undefined : `${paint('yellow', 'skipped')} ${event.label}: ${event.reason}`
    case 'task.failed':
      return `${paint('red', 'failed')} ${event.label}: ${event.error.message}`
    default:
      return undefined
  }
}

type BatchEvent = Extract<RunEvent, { readonly type: `batch.${string}` }>

function batchText(event: BatchEvent): string | undefined {
  const { id = '', calls = 0, model } = event
  const sent = `${id} with ${calls} ${calls === 1 ? 'call' : 'calls'} to ${model}`
  switch (event.type) {
    case 'batch.sent':
      return event.earlier === true
        ? `${sent} was sent before`
        : `${sent} at half the price. Ctrl-C leaves it there; get its answers with baton resume ${event.run_id}`
    case 'batch.waiting':
      if (event.error !== undefined)
        return `${id} tries again in ${formatDuration(event.delay_ms)}: ${event.error.message}`.trimStart()
      return event.done === 0 ? undefined : `${id}: ${event.done ?? 0} of ${calls} answered`
    case 'batch.completed':
      return `${id}: ${event.answered} of ${calls} answered${event.answered === calls ? '' : ', the others are sent at once'}`
  }
}

type Completed = Extract<RunEvent, { readonly type: 'iteration.completed' }>

/** `iteration 0 done: 2 files, commit 1a2b3c4d5, score 12, $0.01`. */
function iterationLine(event: Completed, paint: Paint): string {
  const { iteration, success, changed_files: files, commit_id: commit, score, cost_usd: cost } = event
  const facts = [
    files.length === 1 ? '1 file' : `${files.length} files`,
    ...(commit === undefined ? [] : [`commit ${commit.slice(0, 9)}`]),
    ...(score === undefined ? [] : [`score ${score}`]),
    formatCost(cost),
  ]
  const how = success ? paint('green', 'done') : paint('red', 'failed')
  return `${paint('cyan', 'iteration')} ${iteration} ${how}: ${facts.filter((text) => text !== '').join(', ')}`
}

/** The result in the last event of an iterated run. */
interface IterateResult {
  readonly iterations_attempted: number
  readonly iterations_succeeded: number
  readonly iterations_failed: number
  readonly stop_reason: string
  readonly not_restored?: unknown
}

/** The final report, with the reason it ended unless all iterations were run. */
function reportLine(result: IterateResult): string {
  const { iterations_attempted: all, iterations_succeeded: good, iterations_failed: bad, stop_reason: reason } = result
  const why = reason === 'completed' ? '' : `, ${endTexts[reason] ?? reason}`
  const files = result.not_restored === undefined ? '' : ', the best files were not restored'
  return `Iterations: ${good}/${all} succeeded (${bad} failed)${why}${files}`
}

const endTexts: Readonly<Record<string, string>> = {
  duration_elapsed: 'time limit reached',
  max_iterations: 'max_iterations reached',
  until_met: 'condition met',
  score_reached: 'target score reached',
  stalled: 'no more changes',
  oscillating: 'the files are back in an earlier state',
  failing: 'stopped after failures in a row',
}

function step(event: RunEvent, paint: Paint): string | undefined {
  const at = event.agent === '' ? '' : `${paint('dim', event.agent)} `
  switch (event.type) {
    case 'stage.started':
      return `${paint('cyan', 'stage')} ${at}${event.agents.join(', ')}`
    case 'agent.started':
      return `${paint('dim', 'start')} ${at}${event.name}`
    case 'agent.completed':
      return `${paint('green', 'done')}  ${at}${event.name}`
    case 'agent.failed':
      return `${paint('red', 'fail')}  ${at}${event.error.message}`
    case 'step.started': {
      const items = event.items === undefined ? '' : `, ${countOf(event.items, 'item')}`
      return `${paint('cyan', 'step')}  ${at}${event.name ?? 'main agent'}${items}`
    }
    case 'step.completed':
      return `${paint('green', 'done')}  ${at}`.trimEnd()
    case 'step.skipped':
      return `${paint('yellow', 'skip')}  ${at}${event.reason}`
    case 'step.partial':
      return `${paint('yellow', 'part')}  ${at}${event.error.message}`
    case 'step.failed':
      return `${paint('red', 'fail')}  ${at}${event.error.message}`
    case 'task.started':
      return `${paint('cyan', 'task')}  ${event.index + 1}/${event.count} ${event.label}`
    case 'task.skipped':
      return `${paint('yellow', 'skip')}  ${event.label}`
    case 'usage': {
      const usage = [formatUsage(event.call), formatCost(event.cost_usd)].filter((text) => text !== '').join(', ')
      return `${paint('dim', 'model')} ${event.model} ${usage}`.trimEnd()
    }
    case 'run.completed':
    case 'run.failed':
      return total(event, paint)
    case 'read_back':
      return `${paint('dim', 'reuse')} ${at}${event.label}`
    case 'file.changed':
      return `${paint('green', event.op.padEnd(5))} ${event.path}`
    default:
      return undefined
  }
}

const mostApplied = 5

/** What was applied from a work tree to the workspace; this includes changes by programs that no event reported. */
function appliedLine(
  { files, merged }: Extract<RunEvent, { readonly type: 'isolation.applied' }>,
  paint: Paint,
): string {
  const more = files.length > mostApplied ? [`${files.length - mostApplied} more`] : []
  const named = files.length === 0 ? 'no changes' : [...files.slice(0, mostApplied), ...more].join(', ')
  const how = merged.length === 0 ? '' : ` (merged: ${merged.join(', ')})`
  return `${paint('green', 'applied')} ${named}${how}`
}

type ToolStart = Extract<RunEvent, { readonly type: 'tool.started' }>
type ToolEnd = Extract<RunEvent, { readonly type: 'tool.completed' }>
type ToolEvent = ToolStart | ToolEnd

interface ToolContext {
  /** The agent that called it. */
  readonly of: string | undefined
  /** The last lines that it has printed, if it was a command that took a while. */
  readonly tail: string | undefined
  readonly nameOf: (id: string) => string
}

/** A finished tool call in one line; if `verbose`, with its input and the first lines of its output. */
function toolText(
  { name, input }: ToolStart,
  { output, is_error, denied }: ToolEnd,
  { paint, level, showsOutput, tail, of, nameOf }: StepOptions & ToolContext,
): string {
  const shownName = harmlessName(name)
  const call = teamCallText(name, input, nameOf) ?? callText(shownName, input)
  const how = denied === true ? `${paint('red', 'denied')} ` : is_error ? `${paint('yellow', 'failed')} ` : ''
  const who = of === undefined ? '' : `${paint('dim', `${oneLine(of, 60)}:`)} `
  const head = who + how + paint('cyan', shownName) + call.slice(shownName.length)
  if (level !== 'verbose') {
    const line = is_error ? `${head}: ${failureText(output)}` : head
    const isShown = showsOutput === true && name === 'bash' && denied !== true
    const printed = isShown ? lastOutput(is_error ? output.replace(/^[^\n]*\n?/, '') : output, tail) : []
    return [line, ...printed.map((text) => paint('dim', `  ${text}`))].join('\n')
  }
  const details = [oneLine(JSON.stringify(input), 200), ...resultLines(output)]
  return [head, ...details.map((text) => paint('dim', `  ${text}`))].join('\n')
}

type ChangesEvent = Extract<RunEvent, { readonly type: 'changes.applied' | 'changes.planned' }>

/** Whether changes were made by a tool call, which has its own line. */
function isOfCall({ agent }: ChangesEvent): boolean {
  return /\/tool\/\d+:/.test(agent)
}

/** `quiet` also shows changes that failed, because the result is then incomplete. */
function changeLines({ items, base_dir: base }: ChangesEvent, { paint, level }: StepOptions): string | undefined {
  const shown = level === 'quiet' ? items.filter(({ success, declined }) => !success && declined !== true) : items
  const lines = shown.map((item) => changeLine(item, { paint, name: (path) => nameIn(base, path) }))
  return lines.length === 0 ? undefined : lines.join('\n')
}

/** The path relative to the workspace. */
function nameIn(base: string | undefined, path: string): string {
  return base === undefined || path === 'unknown' || isAbsolute(path) ? path : join(base, path)
}

interface Naming {
  readonly paint: Paint
  readonly name: (path: string) => string
}

/** `new      src/a.ts`, `replaced src/a.ts`, `rename   a.ts to b.ts`; with the reason if the change failed. */
function changeLine(change: FileChange, { paint, name }: Naming): string {
  const { file_path: path, from_path: from, kind, success, replaced, declined, declined_hunks: hunks } = change
  if (declined === true) {
    const { error_msg: why = 'declined' } = change
    return `${paint('yellow', 'declined')} ${name(path)}${why === 'declined' ? '' : `: ${why}`}`
  }
  if (!success) return `${paint('red', 'failed'.padEnd(8))} ${changeFailureText({ ...change, file_path: name(path) })}`
  const verb = replaced === true && kind === 'New' ? 'replaced' : kind.toLowerCase()
  const names = from === undefined ? name(path) : `${name(from)} to ${name(path)}`
  const over = replaced === true && from !== undefined ? ' (replaced)' : ''
  const left =
    hunks === undefined
      ? ''
      : ` ${paint('yellow', `without ${hunks.length === 1 ? 'hunk' : 'hunks'} ${hunks.join(', ')}`)}`
  return `${paint('green', verb.padEnd(8))} ${names}${over}${left}`
}

/** Undefined if nothing was counted, as for the offline model. */
function total({ usage, cost_usd: cost, unpriced }: EndEvent, paint: Paint): string | undefined {
  const unknown = unpriced.length === 0 ? '' : `no known price for ${unpriced.join(', ')}`
  const figures = [formatUsage(usage), formatCost(cost), unknown].filter((text) => text !== '')
  if (figures.length === 0) return undefined
  const calls = usage.calls === 1 ? '1 call' : `${usage.calls} calls`
  return `${paint('dim', 'total')} ${[calls, ...figures].join(', ')}`
}

function sandboxText({ mode, program, network }: Extract<RunEvent, { readonly type: 'sandbox.used' }>): string {
  if (program === undefined) return `${mode}: none`
  return `${mode}, ${network.length === 0 ? 'no network' : `network: ${network.join(' ')}`}`
}

interface TeamContext {
  readonly paint: Paint
  /** Name and description of the agent at the place of the event. */
  readonly about: string | undefined
}

/** The events of a team worth a line: an agent has ended its work, an item is done. */
function teamLine(event: RunEvent, { paint, about }: TeamContext): string | undefined {
  switch (event.type) {
    case 'agent.completed': {
      if (about === undefined || !isOfTeam(event.agent)) return undefined
      const how = event.stop_reason === 'stopped' ? paint('yellow', 'stopped') : paint('green', 'done')
      const paid = paidText(event)
      return `${how} ${oneLine(about, 100)}${paid === '' ? '' : `: ${paid}`}`
    }
    case 'agent.failed':
      if (about === undefined || !isOfTeam(event.agent)) return undefined
      return `${paint('red', 'failed')} ${oneLine(about, 100)}: ${oneLine(event.error.message, 200)}`
    case 'delegate.item': {
      const { id, subject, status, owner } = event
      if (status !== 'completed') return undefined
      return `${paint('green', 'item')} ${oneLine(id, 20)} done${owner === undefined ? '' : ` by ${oneLine(owner, 40)}`}: ${oneLine(subject, 100)}`
    }
    default:
      return undefined
  }
}

type AgentEnd = Extract<RunEvent, { readonly type: 'agent.completed' | 'agent.failed' }>

function paidText({ usage, cost_usd: cost = 0 }: AgentEnd): string {
  return [usage === undefined ? '' : formatUsage(usage), formatCost(cost)].filter((text) => text !== '').join(', ')
}
