import { harmless } from '../base/terminal-text.ts'
import { countOf, formatCount, oneLine } from '../render/format.ts'
import type { Paint } from '../render/style.ts'
import type { Ask, Range } from './ask.ts'
import type { OfferedToolPlan } from './mode.ts'
import type {
  AgentPlan,
  FileCount,
  Limits,
  PromptPlan,
  SingleAnswerPlan,
  StepPlan,
  StrategyPlan,
  TaskPlanned,
  TeamPlan,
  ToolPlan,
} from './plan.ts'

/** How a plan is written. */
export interface TreeOptions {
  readonly paint: Paint
  readonly limits: Pick<Limits, 'input_concurrency'>
  /** Places that the surrounding lines have already named. */
  readonly named: readonly string[]
  /** The lines of the answer of a strategy. */
  readonly linesOf: (answer: StrategyPlan, options: AnswerOptions) => readonly string[]
}

export interface AnswerOptions extends TreeOptions {
  /** Whether there is more than one answer. */
  readonly isRepeated: boolean
}

const mostTasks = 8

/** What runs, in order, one line for each part. */
export function planTree(target: PromptPlan | AgentPlan, options: Omit<TreeOptions, 'named'>): readonly string[] {
  return target.kind === 'prompt' ? promptTree(target, { ...options, named: [] }) : agentTree(target, options.paint)
}

/** What a prompt file runs. */
export function promptTree(plan: PromptPlan, options: TreeOptions): readonly string[] {
  const { paint, named } = options
  const decided = decidedBy(plan.decided_by, named)
  const { stages, files, tasks, skipped } = plan
  const gate = plan.gate === null ? '' : `; the changes reach the workspace if the gate passes: ${shownLine(plan.gate)}`
  const head = [
    ...(plan.isolation === null ? [] : [`${paint('bold', 'isolation')}  all work is done in a git work tree${gate}`]),
    `${paint('bold', 'files')}  ${filesText(files)}${plan.write_mode ? ' · the answers may change files' : ''}${decided}`,
  ]
  if (skipped !== null)
    return [
      ...head,
      ...stage('pre', stages.pre, options),
      `skipped: ${shownLine(skipped.reason)}. ${shownLine(skipped.hint)}`,
    ]
  const { length } = tasks.list
  const atOnce = length > 1 ? `, ${Math.min(length, options.limits.input_concurrency)} at once` : ''
  const from = { inputs: ' from -i', working_globs: ' from working_globs', file: '' }[tasks.from]
  return [
    ...head,
    ...stage('pre', stages.pre, options),
    `${paint('bold', length === 1 ? 'task' : 'tasks')}  ${length}${from}${atOnce}${decided}`,
    ...iterationLines(plan, paint),
    ...taskLines(tasks.list).map(indented),
    ...stage('pre_task', stages.pre_task, options).map(indented),
    ...answerLines(plan, options).map(indented),
    ...stage('post_task', stages.post_task, options).map(indented),
    ...summaryLines(plan, options).map(indented),
    ...stage('post', stages.post, options),
  ]
}

/** `iterations  3 of all tasks`, `iterations  up to 100 of all tasks`. The requests below cover all iterations. */
function iterationLines({ iterations }: PromptPlan, paint: Paint): readonly string[] {
  return iterations === undefined ? [] : [`${paint('bold', 'iterations')}  ${timesText(iterations)} of all tasks`]
}

function timesText({ at_least: least, at_most: most }: Range): string {
  return least === most ? `${least}` : `up to ${most}`
}

function summaryLines({ summaries }: PromptPlan, options: TreeOptions): readonly string[] {
  if (summaries === undefined) return []
  const { agent, asks } = summaries
  const name = options.paint('bold', 'summaries')
  if (agent === null) return asks.slice(0, 1).map((ask) => `${name}  ${askText(ask)}`)
  const inner = agent.kind === 'prompt' ? promptTree(agent, options) : agentFacts(agent, { ...options, asks })
  return [`${name}  ${kindText(agent)}`, ...inner.map(indented)]
}

function taskLines(list: readonly TaskPlanned[]): readonly string[] {
  const named = list.slice(0, mostTasks).map(({ label, working, input_tokens: tokens, problem }) => {
    const size = working.count === 0 ? [] : [filesOf(working)]
    const asked = tokens === null ? [] : [`${formatCount(tokens)} tokens`]
    const facts = [...size, ...asked, ...(problem === null ? [] : [`would fail: ${shownLine(problem)}`])]
    return `${shownLine(label)}${facts.length === 0 ? '' : `  ${facts.join(' · ')}`}`
  })
  const more = list.length - named.length
  return more === 0 ? named : [...named, `… and ${more} more`]
}

function answerLines({ answer, tasks, iterations }: PromptPlan, options: TreeOptions): readonly string[] {
  const inAnswer = { ...options, isRepeated: tasks.list.length > 1 || iterations !== undefined }
  switch (answer.by) {
    case 'model':
    case 'agent':
      return singleLines(answer, 'ask', inAnswer)
    default:
      return options.linesOf(answer, inAnswer)
  }
}

/** The lines of one answer of a model or an agent. */
export function singleLines(answer: SingleAnswerPlan, name: string, options: AnswerOptions): readonly string[] {
  const { isRepeated } = options
  if (answer.by === 'agent') return [options.paint('bold', name), ...stepLines(answer.step, options).map(indented)]
  const [main, ...others] = answer.asks
  if (main === undefined) return [`${options.paint('bold', name)}  no model`]
  const limit = `${formatCount(answer.output_limit)} out${isRepeated ? ' each' : ''}`
  const fallbacks = others.length === 0 ? '' : ` · fallback ${others.map(({ model }) => shownLine(model)).join(', ')}`
  return [
    `${options.paint('bold', name)}  ${askText(main)}, at most ${limit}${fallbacks}${decidedBy(answer.decided_by, options.named)}`,
    ...toolLines(answer, options.paint).map(indented),
    ...teamLines(answer, options.paint).map(indented),
  ]
}

/** `agents  as the model starts them, up to 6 at once · no separate budget`, and a line for each role that differs. */
export function teamLines({ team }: { readonly team?: TeamPlan }, paint: Paint): readonly string[] {
  if (team === undefined) return []
  const { max_agents: most, max_depth: depth, budget, roles } = team
  const { usd, tokens, calls } = budget ?? {}
  const limits = [
    ...(usd === undefined ? [] : [`$${usd}`]),
    ...(tokens === undefined ? [] : [`${formatCount(tokens)} tokens`]),
    ...(calls === undefined ? [] : [countOf(calls, 'request')]),
  ]
  const together = limits.length === 0 ? 'no separate budget' : `together at most ${limits.join(', ')}`
  const deep = depth === 1 ? '' : `, ${depth} levels deep`
  const own = roles.filter(({ agent, model, tools }) => agent !== null || model !== null || tools !== null)
  return [
    `${paint('bold', 'agents')}  as the model starts them, up to ${most} at once${deep} · ${together}`,
    ...own.map((role) => indented(roleLine(role))),
  ]
}

function roleLine({ name, agent, model, tools }: TeamPlan['roles'][number]): string {
  const facts = [
    ...(agent === null ? [] : [`agent ${shownLine(agent)}`]),
    ...(model === null ? [] : [shownLine(model)]),
    ...(tools === null ? [] : [tools.length === 0 ? 'no tools' : `tools ${tools.map(shownLine).join(', ')}`]),
  ]
  return `${shownLine(name)}  ${facts.join(' · ')}`
}

/** `tools  todo · webfetch (ask, 2 rules by pattern) · not offered: edit (write_mode is not set)`. */
export function toolLines({ tools, functions = [] }: OfferedToolPlan, paint: Paint): readonly string[] {
  const rows = { tools, 'functions of programs': functions }
  return Object.entries(rows).flatMap(([name, all]) => (all.length === 0 ? [] : [toolLine(name, all, paint)]))
}

function toolLine(name: string, tools: readonly ToolPlan[], paint: Paint): string {
  const offered = tools.filter(({ not_offered: reason }) => reason === null).map(toolText)
  const others = tools.flatMap(({ name: tool, not_offered: reason }) =>
    reason === null ? [] : [`${tool} (${shownLine(reason)})`],
  )
  const kept = others.length === 0 ? [] : [`not offered: ${others.join(', ')}`]
  return `${paint('bold', name)}  ${[...offered, ...kept].join(' · ')}`
}

/** Names of agents shown in the line of a tool; `--json` has all. */
const mostAgents = 30

function toolText({ name, permission, patterns, agents = [] }: ToolPlan): string {
  const needs = permission === 'allow' ? [] : [permission]
  const rest = agents.length - mostAgents
  const more = rest > 0 ? [`and ${rest} more`] : []
  const named =
    agents.length === 0 ? [] : [`starts ${[...agents.slice(0, mostAgents).map(shownLine), ...more].join(', ')}`]
  const facts = [...named, ...needs, ...(patterns === 0 ? [] : [`${countOf(patterns, 'rule')} by pattern`])]
  return facts.length === 0 ? name : `${name} (${facts.join(', ')})`
}

function stage(name: string, steps: readonly StepPlan[], options: TreeOptions): readonly string[] {
  if (steps.length === 0) return []
  return [options.paint('bold', name), ...steps.flatMap((step) => stepLines(step, options)).map(indented)]
}

function stepLines(step: StepPlan, options: TreeOptions): readonly string[] {
  const { at, agent, entry, runs, changes, decided_by: by } = step
  const last = at.slice(at.lastIndexOf('/') + 1)
  const name = shownLine(last.replaceAll('%2F', '/').replaceAll('%25', '%'))
  if (agent === null) return [options.paint('dim', `${name}  off`)]
  const head = [kindText(agent), ...(runs === 1 ? [] : [`${runs} times`]), ...settingTexts(entry)].join(' · ')
  const effect = changes.length === 0 ? [] : [`may change ${changes.join(', ')}`]
  const named = [...options.named, ...by]
  const inner =
    agent.kind === 'prompt'
      ? promptTree(agent, { ...options, named })
      : agentFacts(agent, { asks: step.asks, paint: options.paint })
  return [`${name}  ${head}${decidedBy(by, options.named)}`, ...[...effect, ...inner].map(indented)]
}

export function kindText(agent: AgentPlan | PromptPlan): string {
  if (agent.kind === 'prompt') return `prompt file ${shownLine(agent.file)}`
  if (agent.kind === 'command') return `command line ${shownLine(agent.command ?? agent.name)}`
  return agent.source === 'built-in' ? `built-in .${agent.kind}` : `.${agent.kind} ${shownLine(agent.file)}`
}

function settingTexts(settings: object): readonly string[] {
  return Object.entries(settings).map(([key, value]) => `${key} = ${oneLine(JSON.stringify(value), 60)}`)
}

function agentTree(agent: AgentPlan, paint: Paint): readonly string[] {
  const options = settingTexts(agent.options)
  return [
    `${paint('bold', 'agent')}     ${kindText(agent)}`,
    ...(agent.sections.length === 0 ? [] : [`${paint('bold', 'sections')}  ${agent.sections.join(', ')}`]),
    `${paint('bold', 'options')}   ${options.length === 0 ? 'none' : options.join(' · ')}`,
    `${paint('bold', 'inputs')}    ${agent.inputs}`,
    ...(agent.iterations === undefined ? [] : [`${paint('bold', 'iterations')}  ${timesText(agent.iterations)}`]),
    ...agentFacts(agent, { asks: agent.asks, paint }),
  ]
}

interface AgentDrawing extends Pick<TreeOptions, 'paint'> {
  readonly asks: readonly Ask[]
}

function agentFacts(agent: AgentPlan, { asks, paint }: AgentDrawing): readonly string[] {
  const own = asks
    .filter(({ requests }) => requests.as_written > 0)
    .map((ask) =>
      agent.kind === 'command'
        ? `starts ${shownLine(ask.model)} · once for each input · cost not known`
        : `asks ${askText(ask)} · once for each input`,
    )
  const decides = agent.decides.length === 0 ? [] : [`decides ${agent.decides.join(', ')}`]
  const names = agent.runs_agents.length === 0 ? [] : [`runs ${agent.runs_agents.map(shownLine).join(', ')}`]
  return [...own, ...toolLines(agent, paint), ...names, ...decides]
}

export function askText({ model, model_kind: kind, requests, input_tokens: input }: Ask): string {
  const chosen = kind === 'at_start' ? ' (chosen at the start)' : kind === 'unknown' ? ' (unknown model)' : ''
  return `${shownLine(model)}${chosen} · ${countOf(requests.as_written, 'request')} · ${formatCount(input.as_written)} tokens in`
}

function filesText({ context, knowledge, working, structure, resources = [] }: PromptPlan['files']): string {
  const files = Object.entries({ context, knowledge, working }).filter(([, { count }]) => count > 0)
  const kinds = files.map(([kind, counted]) => `${kind} ${filesOf(counted)}`)
  const paths = structure === 0 ? [] : [`structure ${countOf(structure, 'path')}`]
  const asked = resources.length === 0 ? [] : [`resources ${resources.join(', ')} (not fetched, so not counted)`]
  return [...kinds, ...paths, ...asked].join(' · ') || 'none'
}

function filesOf({ count: files, bytes }: FileCount): string {
  return `${countOf(files, 'file')} (${formatCount(Math.ceil(bytes / 1000))} kB)`
}

function decidedBy(places: readonly string[], named: readonly string[]): string {
  const others = places.filter((place) => !named.includes(place))
  return others.length === 0 ? '' : ` · decided by ${others.map(shownLine).join(', ')}`
}

/** Foreign text on one line, without control characters. */
export function shownLine(text: string): string {
  return harmless(oneLine(text))
}

export function indented(line: string): string {
  return `  ${line}`
}
