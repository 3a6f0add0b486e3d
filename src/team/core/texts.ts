import { modelText } from '../../base/model-text.ts'
import { cutText } from '../../base/cut-text.ts'
import type { AgentDefinition, ModelEnd } from '../../event/agent.ts'
import type { Spent } from '../../event/meter.ts'
import type { ChildEnd, Order } from './order.ts'

/** Characters of an answer in a notice. */
const mostInNotice = 30_000

/** Characters of one description, and of the list of agents, which is part of every request. */
const mostInDescription = 1000
const mostInList = 20_000

/** If there are too many agents, those that the user chose take precedence. */
const listed: readonly AgentDefinition['from'][] = ['prompt', 'flag', 'user', 'built-in', 'workspace', 'pack']

type Offered = Pick<AgentDefinition, 'name' | 'description' | 'from'>

/** The description of the tool `task`. */
export function taskText(offered: readonly Offered[]): string {
  return modelText`Delegate work to an agent, which does it independently with its own tools, and get its answer. It knows nothing about this conversation unless its description says so: the prompt must explain what to find out or do, and what the answer should contain. Start several agents in one turn for independent work. With run_in_background you continue while it works: you are notified when it has ended, so do not poll for it. The user does not see the answers of agents: report what matters yourself.

Agents:
${agentList(offered)}`
}

/** One line per agent, and the number of those omitted. */
function agentList(offered: readonly Offered[]): string {
  const { lines, kept } = withinList(
    offered,
    ({ name, description = '' }) => `- ${name}: ${cutText(description, mostInDescription)}`,
  )
  const rest = offered.length - kept.size
  const more =
    rest === 0 ? [] : [modelText`(${rest} more agents do not fit in this list: use one only if you know its name)`]
  return [...lines, ...more].join('\n')
}

/** The names, as many as fit. */
export function agentNames(offered: readonly Offered[]): string {
  const { lines, kept } = withinList(offered, ({ name }) => name)
  const rest = offered.length - kept.size
  return modelText`${lines.join(', ')}${rest === 0 ? '' : modelText`, and ${rest} more`}`
}

/** The lines that fit, in the order of the agents. */
function withinList(offered: readonly Offered[], lineOf: (one: Offered) => string) {
  const kept = new Map<Offered, string>()
  let room = mostInList
  const byRank = offered.toSorted((left, right) => listed.indexOf(left.from) - listed.indexOf(right.from))
  for (const one of byRank) {
    const line = lineOf(one)
    room -= line.length + 1
    if (room < 0) break
    kept.set(one, line)
  }
  return { kept, lines: offered.flatMap((one) => kept.get(one) ?? []) }
}

/** The result for a caller that waited for an agent. */
export function answerText({ id }: Pick<Order, 'id'>, end: ChildEnd): string {
  const { messages, session } = end
  const again =
    messages === undefined && session === undefined ? '' : modelText`; resume = "${id}" continues its conversation`
  return modelText`${doneText(end)}\n\n[agent ${id}${again}]`.trimStart()
}

/** The result for a caller if the agent has no answer. */
export function failureText({ id, description }: Pick<Order, 'id' | 'description'>, end: ChildEnd): string {
  const left =
    end.leftOut === undefined
      ? ''
      : `\n\nNone of the changes in its own work tree were applied to the workspace:\n${end.leftOut}`
  const said = `${end.text === '' ? '' : `\n\nWhat it said until then:\n${end.text}`}${left}`
  if (end.status === 'stopped') return modelText`agent ${id} (${description}) was stopped${said}`
  return modelText`agent ${id} (${description}) failed: ${errorText(end)}${said}`
}

/** For a USAGE error the hint is included, because the reader can fix the call. */
function errorText({ error }: ChildEnd): string {
  if (error === undefined) return modelText`unknown error`
  return error.code === 'USAGE' && error.hint !== undefined ? `${error.message}. ${error.hint}` : error.message
}

/** The message for the caller when a background agent has ended. */
export function noticeText(order: Pick<Order, 'id' | 'description'>, end: ChildEnd): string {
  const { id, description } = order
  const text =
    end.status === 'done' ? modelText`agent ${id} (${description}) is done: ${doneText(end)}` : failureText(order, end)
  return text.length <= mostInNotice
    ? text
    : `${cutText(text, mostInNotice)}\n[cut: task_output shows everything ${id} has said]`
}

/** `3 model calls, 12345 tokens, $0.0123`; with `~` before estimated tokens. */
export function spentText({ usage, costUsd }: Spent): string {
  const price = costUsd === null ? 'price unknown' : `$${costUsd.toFixed(4)}`
  const calls = usage.calls === 1 ? '1 model call' : `${usage.calls} model calls`
  const mark = usage.estimated === true ? '~' : ''
  return modelText`${calls}, ${mark}${usage.input + usage.output} tokens, ${price}`
}

/** Paths that are listed. */
const mostNamed = 50

function doneText({ text, limit, applied = [] }: ChildEnd): string {
  const said = withLimit(text, limit)
  if (applied.length === 0) return said
  const more = applied.length > mostNamed ? ` and ${applied.length - mostNamed} more` : ''
  return modelText`${said}\n[changed in the workspace: ${applied.slice(0, mostNamed).join(', ')}${more}]`.trimStart()
}

/** The answer of an agent, and the limit that stopped it. */
export function limitedText({ text, limit }: Pick<ChildEnd, 'text' | 'limit'>): string {
  return withLimit(text, limit)
}

function withLimit(text: string, limit: ModelEnd | undefined): string {
  return limit === undefined ? text : `${text}\n[${limitTexts[limit]}]`.trimStart()
}

const limitTexts: { readonly [K in ModelEnd]: string } = {
  done: 'it is done',
  max_tokens: 'its answer is cut off: its output limit was reached',
  incomplete: 'its answer is incomplete: its model stopped early',
  max_turns: 'it stopped before it was done: it reached its limit of model requests (max_turns)',
  max_rounds: 'it stopped before it was done: it reached its limit of model requests (max_rounds)',
  repeated_calls: 'it was stopped, because it called the same tools with the same input again and again',
}
