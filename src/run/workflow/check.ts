import { BatonError, rewordError } from '../../base/error.ts'
import type { WorkflowStep } from '../../config/workflow.ts'
import type { PromptDocument } from '../../prompt/document.ts'
import { loadTemplates, type Templates } from '../../prompt/template.ts'
import type { LuaCompiler } from '../../script/compiler.ts'
import { syntaxHint } from '../../script/section-error.ts'
import type { Workflow } from '../../config/workflow.ts'
import { chunkOf } from './expression.ts'
import { conditionOf, type Graph, graphOf } from './graph.ts'
import { type NamedPath, nameProblem, namesInLua } from './names.ts'
import { lineInText, placeInText, type WrittenText, writtenText } from './written.ts'

export interface CheckOptions {
  readonly document: PromptDocument
  /** Called only if there is a Lua expression; the provider closes the compiler. */
  readonly compiler: () => Promise<LuaCompiler>
}

/**
 * All errors in the templates and Lua expressions of a workflow, each at its place in the prompt file.
 * Nothing is evaluated.
 */
export async function workflowProblems(workflow: Workflow, options: CheckOptions): Promise<readonly BatonError[]> {
  const graph = graphOf(workflow)
  const problems: BatonError[] = []
  const templates = await loadTemplates()
  for (const { step } of graph.nodes.toSorted((left, right) => left.step.index - right.step.index)) {
    for (const key of ['instructions', 'input'] as const) {
      const text = step[key]
      if (text !== undefined) problems.push(...(await templateProblems({ step, key, text, graph }, templates, options)))
    }
    for (const key of ['when', 'for_each'] as const) {
      const text = key === 'when' ? conditionOf(step) : step.for_each
      if (text !== undefined) problems.push(...(await luaProblems({ step, key, text, graph }, options)))
    }
  }
  return problems
}

interface StepText {
  readonly step: WorkflowStep
  readonly key: 'instructions' | 'input' | 'when' | 'for_each'
  readonly text: string
  readonly graph: Graph
}

function written({ step, key, text }: StepText, { document }: CheckOptions): Promise<WrittenText> {
  return writtenText(document, ['workflow', 'step', step.index, key], text)
}

async function templateProblems(
  given: StepText,
  { problems, paths }: Templates,
  options: CheckOptions,
): Promise<readonly BatonError[]> {
  const at = await written(given, options)
  const wrong = problems(given.text, at.start)
  if (wrong.length > 0) {
    const name = `workflow step "${given.step.id}": ${given.key}`
    return wrong.map((error) =>
      rewordError(error, { message: `${name}: ${error.message}`, place: error.place ?? at.place }),
    )
  }
  return namedProblems(paths(given.text), given, at)
}

async function luaProblems(given: StepText, options: CheckOptions): Promise<readonly BatonError[]> {
  const { step, key, text } = given
  const at = await written(given, options)
  const compiler = await options.compiler()
  const error = await compiler.compile({ name: key, text: chunkOf(text) })
  if (error === undefined) return namedProblems(namesInLua(text), given, at)
  const message = `workflow step "${step.id}": ${key} is not a Lua expression: ${error.message}`
  const hint = text.includes('\n') ? syntaxHint : 'Write what could follow return, such as #steps.a.output > 3.'
  return [new BatonError('PROMPT_SYNTAX', message, { hint, place: lineInText(at, error.line) })]
}

function namedProblems(paths: readonly NamedPath[], { step, key, text, graph }: StepText, at: WrittenText) {
  const node = graph.byId.get(step.id)
  if (node === undefined) return []
  const found = new Map<string, BatonError>()
  for (const path of paths) {
    const problem = nameProblem(path, { node, graph, key })
    if (problem === undefined || found.has(problem.message)) continue
    const { message, hint } = problem
    const place = placeInText(at, text.indexOf(path.written), path.written.length)
    found.set(message, new BatonError('CONFIG_INVALID', message, { hint, place }))
  }
  return [...found.values()]
}
