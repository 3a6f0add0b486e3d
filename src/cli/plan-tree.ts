import { formatCount, oneLine } from '../render/format.ts'
import { harmless } from '../render/harmless.ts'
import type { Paint } from '../render/style.ts'
import type { Ask } from '../plan/ask.ts'
import type { AgentPlan, FileCount, Limits, PromptPlan, StepPlan, TaskPlanned } from '../plan/plan.ts'

export interface TreeOptions {
  readonly paint: Paint
  readonly limits: Pick<Limits, 'input_concurrency'>
  /** Places that the lines around have named already. */
  readonly said?: readonly string[]
}

/** As many tasks are named; the others are counted. */
const mostTasks = 8

/** What is run in which order, one line for each part. */
export function planTree(target: PromptPlan | AgentPlan, options: TreeOptions): readonly string[] {
  return target.kind === 'prompt' ? promptTree(target, options) : agentTree(target, options)
}

function promptTree(plan: PromptPlan, options: TreeOptions): readonly string[] {
  const { paint, said = [] } = options
  const decided = decidedBy(without(plan.decided_by, said))
  const { stages, files, tasks, skipped } = plan
  const head = [
    `${paint('bold', 'files')}  ${filesText(files)}${plan.write_mode ? ' · the answers may change files' : ''}${decided}`,
  ]
  if (skipped !== null)
    return [...head, ...stage('pre', stages.pre, options), `skipped: ${shown(skipped.reason)}. ${shown(skipped.hint)}`]
  const { length } = tasks.list
  const atOnce = length > 1 ? `, ${Math.min(length, options.limits.input_concurrency)} at once` : ''
  const from = { inputs: ' from -i', working_globs: ' from working_globs', file: '' }[tasks.from]
  return [
    ...head,
    ...stage('pre', stages.pre, options),
    `${paint('bold', length === 1 ? 'task' : 'tasks')}  ${length}${from}${atOnce}${decided}`,
    ...taskLines(tasks.list).map(indented),
    ...stage('pre_task', stages.pre_task, options).map(indented),
    ...answerLines(plan, options).map(indented),
    ...stage('post_task', stages.post_task, options).map(indented),
    ...stage('post', stages.post, options),
  ]
}

function taskLines(list: readonly TaskPlanned[]): readonly string[] {
  const named = list.slice(0, mostTasks).map(({ label, working, input_tokens: tokens, problem }) => {
    const size = working.count === 0 ? [] : [filesOf(working)]
    const asked = tokens === null ? [] : [`${formatCount(tokens)} tokens`]
    const facts = [...size, ...asked, ...(problem === null ? [] : [`would fail: ${shown(problem)}`])]
    return `${shown(label)}${facts.length === 0 ? '' : `  ${facts.join(' · ')}`}`
  })
  const more = list.length - named.length
  return more === 0 ? named : [...named, `… and ${more} more`]
}

function answerLines({ answer, tasks }: PromptPlan, options: TreeOptions): readonly string[] {
  if (answer.by === 'agent') return [options.paint('bold', 'ask'), ...stepLines(answer.step, options).map(indented)]
  const [main, ...others] = answer.asks
  if (main === undefined) return [`${options.paint('bold', 'ask')}  nobody`]
  const limit = `${formatCount(answer.output_limit)} out${tasks.list.length > 1 ? ' each' : ''}`
  const fallbacks = others.length === 0 ? '' : ` · if it fails ${others.map(({ model }) => shown(model)).join(', ')}`
  return [
    `${options.paint('bold', 'ask')}  ${askText(main)}, at most ${limit}${fallbacks}${decidedBy(without(answer.decided_by, options.said ?? []))}`,
  ]
}

function stage(name: string, steps: readonly StepPlan[], options: TreeOptions): readonly string[] {
  if (steps.length === 0) return []
  return [options.paint('bold', name), ...steps.flatMap((step) => stepLines(step, options)).map(indented)]
}

function stepLines(step: StepPlan, options: TreeOptions): readonly string[] {
  const { at, agent, entry, runs, changes, decided_by: by } = step
  const name = shown(
    at
      .slice(at.lastIndexOf('/') + 1)
      .replaceAll('%2F', '/')
      .replaceAll('%25', '%'),
  )
  if (agent === null) return [options.paint('dim', `${name}  off`)]
  const settings = Object.entries(entry).map(([key, value]) => `${key} = ${oneLine(JSON.stringify(value), 60)}`)
  const head = [kindText(agent), ...(runs === 1 ? [] : [`${runs} times`]), ...settings].join(' · ')
  const effect = changes.length === 0 ? [] : [`may change ${changes.join(', ')}`]
  const said = [...(options.said ?? []), ...by]
  const inner = agent.kind === 'prompt' ? promptTree(agent, { ...options, said }) : agentFacts(agent, step.asks)
  return [`${name}  ${head}${decidedBy(without(by, options.said ?? []))}`, ...[...effect, ...inner].map(indented)]
}

function kindText(agent: AgentPlan | PromptPlan): string {
  if (agent.kind === 'prompt') return `prompt file ${shown(agent.file)}`
  return agent.source === 'built-in' ? `built-in .${agent.kind}` : `.${agent.kind} ${shown(agent.file)}`
}

function agentTree(agent: AgentPlan, { paint }: TreeOptions): readonly string[] {
  const options = Object.entries(agent.options).map(([key, value]) => `${key} = ${oneLine(JSON.stringify(value), 60)}`)
  return [
    `${paint('bold', 'agent')}     ${kindText(agent)}`,
    ...(agent.sections.length === 0 ? [] : [`${paint('bold', 'sections')}  ${agent.sections.join(', ')}`]),
    `${paint('bold', 'options')}   ${options.length === 0 ? 'none' : options.join(' · ')}`,
    `${paint('bold', 'inputs')}    ${agent.inputs}`,
    ...agentFacts(agent, agent.asks),
  ]
}

function agentFacts(agent: AgentPlan, asks: readonly Ask[]): readonly string[] {
  const own = asks
    .filter(({ requests }) => requests.as_written > 0)
    .map((ask) => `asks ${askText(ask)} · once for each input`)
  const decides = agent.decides.length === 0 ? [] : [`decides ${agent.decides.join(', ')}`]
  const names = agent.runs_agents.length === 0 ? [] : [`runs ${agent.runs_agents.map(shown).join(', ')}`]
  return [...own, ...names, ...decides]
}

function askText({ model, model_kind: kind, requests, input_tokens: input }: Ask): string {
  const chosen = kind === 'at_start' ? ' (chosen at the start)' : kind === 'unknown' ? ' (nobody takes this name)' : ''
  return `${shown(model)}${chosen} · ${count(requests.as_written, 'request')} · ${formatCount(input.as_written)} tokens in`
}

function filesText({ context, knowledge, working, structure }: PromptPlan['files']): string {
  const kinds = [
    ...(context.count === 0 ? [] : [`context ${filesOf(context)}`]),
    ...(knowledge.count === 0 ? [] : [`knowledge ${filesOf(knowledge)}`]),
    ...(working.count === 0 ? [] : [`working ${filesOf(working)}`]),
    ...(structure === 0 ? [] : [`structure ${count(structure, 'path')}`]),
  ]
  return kinds.length === 0 ? 'none' : kinds.join(' · ')
}

function filesOf({ count: files, bytes }: FileCount): string {
  return `${count(files, 'file')} (${formatCount(Math.ceil(bytes / 1000))} kB)`
}

function without(places: readonly string[], said: readonly string[]): readonly string[] {
  return places.filter((place) => !said.includes(place))
}

function decidedBy(places: readonly string[]): string {
  return places.length === 0 ? '' : ` · decided by ${places.map(shown).join(', ')}`
}

/** `1 request`, `1,234 requests`. */
export function count(number: number, what: string): string {
  return `${formatCount(number)} ${what}${number === 1 ? '' : 's'}`
}

/** Text of others on one line, harmless for a terminal. */
export function shown(text: string): string {
  return harmless(oneLine(text))
}

function indented(line: string): string {
  return `  ${line}`
}
