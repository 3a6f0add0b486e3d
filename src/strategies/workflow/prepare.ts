import type { JsonObject } from '../../base/json.ts'
import type { Settings } from '../../config/settings.ts'
import type { RunContext } from '../../event/context.ts'
import { withoutLimits } from '../../event/limits.ts'
import { renderTemplate } from '../../prompt/render-template.ts'
import { loadTemplates } from '../../prompt/template.ts'
import type { ChainAgent } from '../../stage/chain.ts'
import type { FileSet } from '../../run/files.ts'
import type { OutputSchema } from '../../load/output-schema.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import type { Expressions } from './expression.ts'
import type { Graph, StepNode } from './graph.ts'
import { type Item, type Request, type StepEnd, stepsTable } from './input.ts'
import { writtenText } from './written.ts'

/** A running workflow: what all its steps share. */
export interface WorkflowRun {
  readonly graph: Graph
  readonly target: PromptTarget
  readonly request: Request
  readonly expressions: Expressions
  readonly filesOf: (settings: Settings) => Promise<FileSet>
  /** The same for a different workspace, that of the context. */
  readonly filesIn: (settings: Settings, context: RunContext) => Promise<FileSet>
  /** The maximum of concurrent steps, and of concurrent items of a step without its own limit. */
  readonly limit: number
  /** How the steps ended, by id; filled while the workflow runs. */
  readonly ends: Map<string, StepEnd>
  /** The step whose answer is that of the file; undefined if there are several, or it has items. */
  readonly answering: string | undefined
}

/** A step that is about to run, with what all its items share. */
export interface PreparedStep {
  readonly node: StepNode
  readonly run: WorkflowRun
  /** Its agent and its fallbacks; undefined is the main agent. */
  readonly agents: readonly (ChainAgent | undefined)[]
  /** How the main agent is called; undefined: it is not. */
  readonly main:
    | { readonly settings: Settings; readonly params: JsonObject; readonly output: OutputSchema | undefined }
    | undefined
  /** The inputs of its boundary besides its input value. */
  readonly definition: { readonly [name: string]: unknown }
  readonly render: (key: 'input' | 'instructions', item: Item, signal: AbortSignal) => Promise<string>
}

/** The names available to templates and expressions without an item. */
export function visibleTo({ ancestors }: StepNode, { request, ends }: WorkflowRun): JsonObject {
  const { params, input, instruction, stdin = null } = request
  return { steps: stepsTable(ancestors, ends), params, input, instruction, stdin }
}

export async function prepareStep(node: StepNode, run: WorkflowRun): Promise<PreparedStep> {
  const { step } = node
  const { target, request } = run
  const names = [step.agent, ...step.fallback]
  const agents = await Promise.all(
    names.map(async (name) => (name === undefined ? undefined : target.findAgent({ name }))),
  )
  const hasOptions = Object.keys(step.options).length > 0
  const params = hasOptions ? { ...request.params, ...step.options } : request.params
  const settings = step.agent === undefined ? target.settingsFor(params) : undefined
  const output = run.answering === step.id ? target.output : undefined
  return {
    node,
    run,
    agents,
    main: settings && { settings, params, output },
    definition: {
      agents: Object.freeze(
        agents.map((agent) => (agent === undefined ? null : { name: agent.name, text: agent.text })),
      ),
      options: step.options,
      settings: settings && Object.freeze(decidingSettings(settings)),
    },
    render: await createRender(node, run),
  }
}

/** Without the workflow, because each step is an input only of itself. */
function decidingSettings(settings: Settings): JsonObject {
  const { workflow: _, ...others } = withoutLimits(settings as unknown as JsonObject)
  return others
}

/** Passes a template only the data that it names: outputs of other steps may be large, and there may be many items. */
async function createRender(node: StepNode, run: WorkflowRun): Promise<PreparedStep['render']> {
  const { step } = node
  const written = (['input', 'instructions'] as const).filter((key) => step[key] !== undefined)
  const templates = new Map(
    await Promise.all(written.map(async (key) => [key, await openText(key, node, run)] as const)),
  )
  return async (key, item, signal) => {
    const template = templates.get(key)
    if (template === undefined) return ''
    const { text, place, data } = template
    const seen = item === undefined ? data : { ...data, item: item.value, index: item.index }
    return renderTemplate(text, seen, { place, signal, tables: 'as text' })
  }
}

async function openText(key: 'input' | 'instructions', node: StepNode, run: WorkflowRun) {
  const { step, ancestors } = node
  const text = step[key] ?? ''
  const { paths } = await loadTemplates()
  const named = paths(text).filter(({ parts: [root] }) => root === undefined || root === 'steps')
  const isWhole = named.some(({ parts }) => parts.length < 2)
  const ids = isWhole ? ancestors : new Set(named.map(({ parts: [, id = ''] }) => id))
  const { place, start } = await writtenText(run.target.spec.document, ['workflow', 'step', step.index, key], text)
  return { text, place: start ?? place, data: { ...visibleTo(node, run), steps: stepsTable(ids, run.ends) } }
}
