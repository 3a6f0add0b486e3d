import { BatonError } from '../../base/error.ts'
import type { Json } from '../../base/json.ts'
import { describeValue } from '../../config/issue.ts'
import type { RunContext } from '../../event/context.ts'
import { conditionOf, type StepNode } from './graph.ts'
import { visibleTo, type WorkflowRun } from './prepare.ts'
import { lineInText, writtenText } from './written.ts'

interface StepOfRun {
  readonly node: StepNode
  readonly run: WorkflowRun
}

/**
 * Why a step is skipped; undefined: it runs. All steps that it needs have ended.
 * @throws BatonError of an expression
 */
export async function reasonToSkip(node: StepNode, run: WorkflowRun, context: RunContext): Promise<string | undefined> {
  const { step } = node
  const ends = step.needs.map((id) => ({ id, status: run.ends.get(id)?.status }))
  if (context.scope.dry === 'req' && ends.length > 0)
    return 'a dry run calls no model, so the steps it needs have no output'
  const expression = conditionOf(step)
  if (expression !== undefined) {
    const value = await evaluate('when', expression, { node, run }, context)
    return value === undefined || value === false ? 'its condition is not met' : undefined
  }
  if (step.when.trim() === 'always') return undefined
  if (step.when.trim() === 'failure') {
    return ends.some(({ status }) => status === 'failed') ? undefined : 'nothing that it needs has failed'
  }
  const missing = ends.find(({ status }) => status !== 'done')
  if (missing === undefined) return undefined
  return missing.status === 'failed' ? `step "${missing.id}" failed` : `step "${missing.id}" was skipped`
}

/**
 * The items of `for_each`.
 * @throws BatonError of the expression, and if its value is not a list
 */
export async function itemsOf(expression: string, at: StepOfRun, context: RunContext): Promise<readonly Json[]> {
  const value = await evaluate('for_each', expression, at, context)
  if (Array.isArray(value)) return value as readonly Json[]
  // an empty table may be a list
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) return []
  const given = value === undefined ? 'nothing (nil)' : describeValue(value)
  const hint = 'It must return a list; steps.a.output or {} is an empty one if step a was skipped.'
  throw await failure('for_each', { text: expression, message: `must return a list, not ${given}`, hint }, at)
}

async function evaluate(
  key: 'when' | 'for_each',
  text: string,
  at: StepOfRun,
  { services }: RunContext,
): Promise<Json | undefined> {
  const { node, run } = at
  const result = await run.expressions.evaluate(text, visibleTo(node, run), services.signal)
  if (result.kind === 'value') return result.value
  const { message, line, isLimit } = result
  const hint = isLimit
    ? 'Raise the limit in [lua], or let an agent do this work.'
    : 'It sees steps, params, input, instruction and stdin.'
  throw await failure(key, { text, message: `failed: ${message}`, hint, line, isLimit }, at)
}

interface Failure {
  readonly text: string
  readonly message: string
  readonly hint: string
  readonly line?: number | undefined
  readonly isLimit?: boolean
}

async function failure(key: 'when' | 'for_each', said: Failure, { node, run }: StepOfRun): Promise<BatonError> {
  const { text, message, hint, line, isLimit = false } = said
  const written = await writtenText(run.target.spec.document, ['workflow', 'step', node.step.index, key], text)
  const place = lineInText(written, line)
  return new BatonError(isLimit ? 'LIMIT' : 'SCRIPT_FAILED', `${key} ${message}`, { hint, place })
}
