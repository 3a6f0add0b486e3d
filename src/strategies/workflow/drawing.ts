import { harmless } from '../../base/terminal-text.ts'
import {
  askText,
  indented,
  kindText,
  promptTree,
  shownLine,
  teamLines,
  toolLines,
  type TreeOptions,
} from '../../plan/text.ts'
import { countOf, oneLine } from '../../render/format.ts'
import type { WorkflowPlan, WorkflowStepPlan } from './plan.ts'

/** The steps in the text of a plan. */
export function workflowLines({ steps, concurrency }: WorkflowPlan, options: TreeOptions): readonly string[] {
  const { length } = steps
  const atOnce = length > 1 ? `, ${Math.min(length, concurrency)} at once` : ''
  return [
    `${options.paint('bold', 'workflow')}  ${countOf(length, 'step')}${atOnce}`,
    ...graphLines(steps, (step) => drawnStep(step, options)).map(indented),
  ]
}

function drawnStep(step: WorkflowStepPlan, options: TreeOptions): DrawnStep {
  const { agent, at, when, for_each: list, fallback, decided_by: by, asks } = step
  const asked = agent?.kind === 'prompt' ? [] : asks.filter(({ requests }) => requests.as_written > 0).map(askText)
  const head = [
    agent === null ? 'main agent' : kindText(agent),
    ...(when.trim() === 'success' ? [] : [`when ${shownLine(when)}`]),
    ...(list === null ? [] : [`for each of ${shownLine(list)}`]),
    ...(fallback.length === 0 ? [] : [`fallback ${fallback.map(shownLine).join(', ')}`]),
    ...(step.retries === undefined || step.retries === 0
      ? []
      : [step.retries === 1 ? '1 retry' : `${step.retries} retries`]),
    ...(step.on_error === 'continue' ? ['continues after errors'] : []),
    ...(step.isolation === null ? [] : ['in a work tree']),
    ...asked,
  ].join(' · ')
  const named = [...options.named, at, ...by]
  const inner =
    agent?.kind === 'prompt'
      ? promptTree(agent, { ...options, named })
      : [...toolLines(agent ?? step, options.paint), ...teamLines(step, options.paint)]
  return { head, inner }
}

/** How a step is drawn: its line, and the lines below it. */
interface DrawnStep {
  readonly head: string
  readonly inner: readonly string[]
}

/**
 * The steps as a tree, each below the last step that it needs; a step with several needs lists them all. Every step is
 * listed after the steps that it needs.
 */
function graphLines(
  steps: readonly WorkflowStepPlan[],
  describe: (step: WorkflowStepPlan) => DrawnStep,
): readonly string[] {
  const position = new Map(steps.map(({ id }, index) => [id, index]))
  const below = new Map<string | undefined, WorkflowStepPlan[]>()
  for (const step of steps) {
    const parent = step.needs.toSorted((left, right) => (position.get(left) ?? 0) - (position.get(right) ?? 0)).at(-1)
    const siblings = below.get(parent)
    if (siblings === undefined) below.set(parent, [step])
    else siblings.push(step)
  }
  const lines: string[] = []
  // not recursive, because a chain may be long
  const open = (below.get(undefined) ?? []).map((step) => ({ step, lead: '', mark: '' })).toReversed()
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { step, lead, mark } = next
    const children = below.get(step.id) ?? []
    const { head, inner } = describe(step)
    const needs = step.needs.length > 1 ? ` ← ${step.needs.join(', ')}` : ''
    lines.push(`${lead}${mark}${step.id}${needs}${head === '' ? '' : `  ${head}`}`)
    const own = lead + (mark === '' ? '' : mark.startsWith('└') ? '   ' : '│  ')
    for (const line of inner) lines.push(`${own}${children.length > 0 ? '│ ' : '  '}${line}`)
    const drawn = children.map((child, index) => ({
      step: child,
      lead: own,
      mark: index === children.length - 1 ? '└─ ' : '├─ ',
    }))
    open.push(...drawn.toReversed())
  }
  return lines
}

/** The id of a step, its agent, and the list it runs for. */
function labelOf({ id, agent, for_each: list }: WorkflowStepPlan): string {
  const name = agent === null ? 'main agent' : agent.kind === 'prompt' ? agent.file : agent.name
  return [id, plain(name), ...(list === null ? [] : [`for each ${plain(list)}`])].join('\n')
}

/** The label of the edges into a step: none if it simply needs the others to succeed. */
function edgeOf({ when }: WorkflowStepPlan): string | undefined {
  return when.trim() === 'success' ? undefined : plain(when)
}

function plain(text: string): string {
  return harmless(oneLine(text, 60))
}

/** The graph as a Mermaid flowchart. */
export function mermaidText(steps: readonly WorkflowStepPlan[]): string {
  const quoted = (text: string): string =>
    `"${text.replaceAll('&', '#amp;').replaceAll('"', '#quot;').replaceAll('<', '#lt;').replaceAll('>', '#gt;').replaceAll('\n', '<br>')}"`
  const names = namesOf(steps)
  const nodes = steps.map((step) => `  ${names.get(step.id)}[${quoted(labelOf(step))}]`)
  const edges = steps.flatMap((step) => {
    const edge = edgeOf(step)
    return step.needs.map(
      (need) => `  ${names.get(need)} -->${edge === undefined ? '' : `|${quoted(edge)}|`} ${names.get(step.id)}`,
    )
  })
  return ['flowchart TD', ...nodes, ...edges, ''].join('\n')
}

/** Replaces ids, which may be keywords of Mermaid, such as `end`, or contain a -. */
function namesOf(steps: readonly WorkflowStepPlan[]): ReadonlyMap<string, string> {
  return new Map(steps.map(({ id }, index) => [id, `s${index}`]))
}

/** The graph in DOT, the language of Graphviz. */
export function dotText(steps: readonly WorkflowStepPlan[]): string {
  const quoted = (text: string): string => JSON.stringify(text)
  const nodes = steps.map((step) => `  ${quoted(step.id)} [label=${quoted(labelOf(step))}];`)
  const edges = steps.flatMap((step) => {
    const edge = edgeOf(step)
    const label = edge === undefined ? '' : ` [label=${quoted(edge)}]`
    return step.needs.map((need) => `  ${quoted(need)} -> ${quoted(step.id)}${label};`)
  })
  return ['digraph workflow {', '  node [shape=box];', ...nodes, ...edges, '}', ''].join('\n')
}
