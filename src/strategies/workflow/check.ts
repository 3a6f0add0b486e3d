import { BatonError, rewordError } from '../../base/error.ts'
import type { Workflow, WorkflowStep } from '../../settings/strategies/workflow.ts'
import type { PromptDocument } from '../../prompt/document.ts'
import { loadTemplates, type Templates } from '../../prompt/template.ts'
import type { LuaCompiler } from '../../script/compiler.ts'
import { syntaxHint } from '../../script/section-error.ts'
import { chunkOf, lineInText, placeInText, type WrittenText, writtenText } from './texts.ts'
import { conditionOf, type Graph, graphOf, type StepNode } from './graph.ts'
import { suggestionHint } from '../../settings/issue.ts'
import { checkModelNames, fatalProblem } from '../../agent/check-models.ts'
import type { ChosenModel } from '../../agent/parts.ts'
import type { ModelSurroundings } from '../../load/strategy.ts'

interface CheckOptions {
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
    for (const key of ['instructions', 'input', 'label'] as const) {
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
  readonly key: 'instructions' | 'input' | 'label' | 'when' | 'for_each'
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

/** A template of one path. As Lua it is a table in a table: one item, and always true. */
const templateOnly = /(?<=^\s*)\{\{\s*([A-Za-z_][\w.]*)\s*\}\}(?=\s*$)/

async function luaProblems(given: StepText, options: CheckOptions): Promise<readonly BatonError[]> {
  const { step, key, text } = given
  const at = await written(given, options)
  const [whole, path = ''] = templateOnly.exec(text) ?? []
  if (whole !== undefined) {
    const message = `workflow step "${step.id}": ${key} is a Lua expression, not a template: ${whole} is a table that holds ${path}`
    const hint = `Write ${key} = "${path}".`
    return [
      new BatonError('CONFIG_INVALID', message, { hint, place: placeInText(at, text.indexOf(whole), whole.length) }),
    ]
  }
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

/** A reference of a template or an expression to the data of its step. */
interface NamedPath {
  /** `steps.a.output` as `['steps', 'a', 'output']`. */
  readonly parts: readonly string[]
  /** As written. */
  readonly written: string
}

export interface NameProblem {
  readonly message: string
  readonly hint: string
}

/** The fields of a finished step in templates and expressions. */
const stepFields = ['status', 'output', 'error', 'failed'] as const

/** The names available in every step, and those of its items. */
const common = ['steps', 'params', 'input', 'instruction', 'stdin'] as const
const ofItems: readonly string[] = ['item', 'index']

/** What contains the reference: a template, which may see an item, or an expression, evaluated before items exist. */
interface Naming {
  readonly node: StepNode
  readonly graph: Graph
  readonly key: 'input' | 'instructions' | 'label' | 'when' | 'for_each'
}

/** The problem with a name. The parts after `steps.<id>.output` belong to a value that is not known yet. */
export function nameProblem({ parts, written }: NamedPath, naming: Naming): NameProblem | undefined {
  const [root, id, field] = parts
  if (root === undefined) return undefined
  const { node, graph, key } = naming
  const who = `workflow step "${node.step.id}"`
  if (ofItems.includes(root)) return itemProblem(root, naming)
  if (root !== 'steps') {
    if ((common as readonly string[]).includes(root)) return undefined
    const known = [...common, ...(node.step.for_each === undefined ? [] : ofItems)]
    return {
      message: `${who}: unknown name "${root}" in ${key}`,
      hint: suggestionHint(root, known, `Known names are ${list(known)}.`),
    }
  }
  if (id === undefined) return undefined
  if (id === node.step.id) {
    return { message: `${who} refers to itself: ${written}`, hint: 'It sees only the steps before it.' }
  }
  if (!graph.byId.has(id)) {
    const ids = [...node.ancestors]
    const otherwise = ids.length === 0 ? 'It needs no steps, so it sees none.' : `It sees ${list(ids)}.`
    const hint = idHint(id, written, [...graph.byId.keys()], otherwise)
    return { message: `${who} refers to "${id}", but there is no step with that id`, hint }
  }
  if (!node.ancestors.has(id)) {
    const isLater = graph.byId.get(id)?.ancestors.has(node.step.id) === true
    const hint = isLater ? `"${id}" starts only after it.` : `Add "${id}" to its needs.`
    return { message: `${who} refers to "${id}", which it does not wait for`, hint }
  }
  if (field === undefined || (stepFields as readonly string[]).includes(field)) return undefined
  const hint = suggestionHint(
    field,
    stepFields,
    `A step has ${list(stepFields)}; the fields of a structured answer are in output.`,
  )
  return { message: `${who} refers to "${field}" of step "${id}", which a step does not have`, hint }
}

function itemProblem(root: string, { node, key }: Naming): NameProblem | undefined {
  const who = `workflow step "${node.step.id}"`
  if (key === 'when' || key === 'for_each') {
    return {
      message: `${who}: "${root}" is not available in ${key}`,
      hint: 'It is evaluated once, before the items exist.',
    }
  }
  if (node.step.for_each !== undefined) return undefined
  return {
    message: `${who} refers to "${root}" but has no for_each`,
    hint: 'Add for_each = "…", a Lua expression that returns a list.',
  }
}

/** The hint for an id with "-", which is a minus in Lua. */
function idHint(id: string, written: string, ids: readonly string[], otherwise: string): string {
  const whole = ids.find((known) => known.startsWith(`${id}-`) && written.endsWith(known.slice(id.length)))
  return whole === undefined ? suggestionHint(id, ids, otherwise) : `Write steps["${whole}"]: in Lua a - is a minus.`
}

function list(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}

/** Lua comments and strings, which contain no references; the string in `steps["a"]` is read before their removal. */
const noCode = /--\[(=*)\[[^]*?\]\1\]|--[^\n]*|\[(=*)\[[^]*?\]\2\]|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'/g
const stepInLua =
  /(?<![\w.:])steps\s*(?:\.\s*(?<word>[A-Za-z_]\w*)|\[\s*(?:"(?<double>[^"\n]*)"|'(?<single>[^'\n]*)')\s*\])(?:\s*\.\s*(?<field>[A-Za-z_]\w*))?(?=(?<rest>-[\w-]*\w)?)/g
const itemInLua = /(?<![\w.:])(?:item|index)\b(?!\s*(?:=(?!=)|\())/g

/** The steps and items that a Lua expression refers to. Other names are not checked. */
function namesInLua(code: string): readonly NamedPath[] {
  // strings that are keys are kept
  const bare = code.replaceAll(noCode, (found, _one, _two, offset: number) =>
    /^["']/.test(found) && /\[\s*$/.test(code.slice(0, offset)) ? found : ' '.repeat(found.length),
  )
  const steps = [...bare.matchAll(stepInLua)].map(({ 0: whole, groups = {} }): NamedPath => {
    const { word, double, single, field, rest = '' } = groups
    const id = word ?? double ?? single ?? ''
    return field === undefined
      ? { parts: ['steps', id], written: whole + rest }
      : { parts: ['steps', id, field], written: whole }
  })
  const items = [...bare.matchAll(itemInLua)].map(([name]): NamedPath => ({ parts: [name], written: name }))
  return [...steps, ...items]
}

/** Checks the models that steps name for the model of the file. @throws BatonError at the step for an unusable one */
export async function modelsOfSteps(around: ModelSurroundings): Promise<readonly ChosenModel[]> {
  const { settings: own, settingsFor, spec, placeOf, givesTools, chooseModel } = around
  const models: ChosenModel[] = []
  for (const { index, agent, options } of own.workflow?.steps ?? []) {
    if (agent !== undefined || options['model'] === undefined) continue
    const settings = settingsFor({ ...spec.params, ...options })
    const checked = await checkModelNames({ ...settings, usesTools: await givesTools(settings) }, { chooseModel })
    const problem = fatalProblem(checked)
    if (problem !== undefined) {
      const from = await placeOf(['workflow', 'step', index, 'options', 'model'], 'value')
      throw rewordError(problem.error, { from })
    }
    models.push(...checked.usable)
  }
  return models
}
