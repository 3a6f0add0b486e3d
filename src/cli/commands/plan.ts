import { join } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { createMask } from '../../journal/secrets.ts'
import { packageRoot } from '../../package-root.ts'
import type { Ask } from '../../plan/ask.ts'
import { planRun } from '../../plan/plan-run.ts'
import type { Limits, Plan, Total } from '../../plan/plan.ts'
import { countOf, formatCost, formatCount } from '../../render/format.ts'
import type { Paint } from '../../render/style.ts'
import type { Flags } from '../command-specs.ts'
import { defined } from '../../base/json.ts'
import { type CommandIo, jsonLine, openWorkplace } from '../io.ts'
import { withSuggestion } from '../command-suggestion.ts'
import { overridesOf } from '../../config/request-overrides.ts'
import { isSingle, shapeOf } from '../../plan/answer.ts'
import { type AnswerShapes, shapesOf } from '../../plan/planner.ts'
import { planTree, shownLine } from '../../plan/text.ts'
import { promptSource, refuseEmptyNames } from '../prompt-source.ts'
import { strategies } from '../../strategies/strategies.ts'

/** `baton plan FILE`: what a run would do and its maximum cost, as text or JSON. Throws what the run would throw. */
export async function planCommand(flags: Flags<'plan'>, io: CommandIo): Promise<number> {
  refuseEmptyNames(flags)
  const { cwd, env, home, paint } = openWorkplace(flags, io)
  const { file, text, stdin } = await promptSource(flags, io)
  const { input: texts, onFiles: globs, var: vars, model, outputSchema } = flags
  const planned = planRun({
    cwd,
    env,
    home,
    file,
    ...defined({ text, stdin }),
    builtInDir: join(packageRoot(), 'agents'),
    strategies,
    flags: { overrides: overridesOf(flags), vars, ...defined({ model, outputSchema }) },
    inputs: { texts, globs, cwd, ...defined({ stdin }) },
    signal: io.signal,
  })
  const { plan, secrets } = await planned.catch((error: unknown) => Promise.reject(withSuggestion(error, file)))
  const { hide } = createMask(env, secrets)
  const { format = flags.json ? 'json' : 'text' } = flags
  io.out(hide(await written(plan, format, paint)))
  return 0
}

async function written(plan: Plan, format: 'text' | 'json' | 'mermaid' | 'dot', paint: Paint): Promise<string> {
  if (format === 'json') return jsonLine(plan)
  const shapes = await shapesOf(strategies)
  return format === 'text' ? planText(plan, { paint, shapes }) : drawing(plan, { language: format, shapes })
}

function drawing(
  { target, file }: Plan,
  { language, shapes }: { readonly language: 'mermaid' | 'dot'; readonly shapes: AnswerShapes },
): string {
  const answer = target.kind === 'prompt' ? target.answer : undefined
  const drawn = answer === undefined || isSingle(answer) ? undefined : shapes.get(answer.by)?.draw?.(answer, language)
  if (drawn !== undefined) return drawn
  throw new BatonError('USAGE', `${file} has no [workflow] to draw`, { hint: 'Leave --format out.' })
}

function planText(plan: Plan, { paint, shapes }: { readonly paint: Paint; readonly shapes: AnswerShapes }): string {
  const { file, target, open, notes, limits, asks } = plan
  const indented = (line: string): string => `  ${line}`
  const section = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : [paint('bold', title), ...lines.map(indented)]
  const decided = open.map(({ by, what }) => `decided by ${shownLine(by)}: ${shownLine(what.join(', '))}`)
  const parts = [
    [`${paint('bold', `plan of ${shownLine(file)}`)}: as written; nothing was run or sent`],
    planTree(target, {
      paint,
      limits,
      linesOf: (answer, options) => shapeOf(answer.by, shapes).lines(answer, options),
    }),
    section('limits', limitLines(limits)),
    section('decided at run time', decided),
    notes.map((note) => `${paint('yellow', 'note')}: ${shownLine(note)}`),
    section('total', totalLines(plan)),
    asks.length > 1 ? section('by model', asks.map(askLine)) : [],
  ]
  const written = parts.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'))
  return `${written.join('\n\n')}\n`
}

function limitLines({ budget, max_attempts: tries, max_files_size_kb: size, redo }: Limits): readonly string[] {
  return [
    `budget    ${budgetText(budget) ?? 'none: --max-cost or [budget] sets one'}`,
    `retries   ${tries === 1 ? 'none' : `up to ${tries} tries of each request; one that fails midway is paid for as well`}`,
    `files     up to ${formatCount(size)} kB in one request`,
    ...(redo === 0 ? [] : [`redo      up to ${countOf(redo, 'more round')}`]),
  ]
}

function budgetText({ usd, tokens, calls }: Limits['budget']): string | undefined {
  const limits = [
    ...(usd === undefined ? [] : [`$${usd}`]),
    ...(tokens === undefined ? [] : [countOf(tokens, 'token')]),
    ...(calls === undefined ? [] : [countOf(calls, 'call')]),
  ]
  return limits.length === 0 ? undefined : limits.join(', ')
}

function totalLines({ total, limits, asks, open }: Plan): readonly string[] {
  const { unpriced } = total
  const budget = budgetText(limits.budget)
  const isLimited = total.requests.at_most !== null
  const most = isLimited
    ? figures(total, 'at_most')
    : `no upper limit${budget === undefined ? '' : ` except the budget: ${budget}`}`
  const isCut = isLimited && budget !== undefined ? `, and never more than the budget: ${budget}` : ''
  const isSent = limits.budget.usd !== undefined || limits.budget.tokens !== undefined
  const assumed =
    !isSent && asks.some(({ output_assumed: isAssumed, requests }) => isAssumed && requests.as_written > 0)
  const models = unpriced.map(shownLine).join(', ')
  return [
    `as written  ${figures(total, 'as_written')}`,
    `at least    ${figures(total, 'at_least')}`,
    `at most     ${most}${isCut}`,
    ...batchLine(total),
    ...(assumed ? ['Some requests set no output limit (max_tokens): a typical one is assumed.'] : []),
    ...(models === '' ? [] : [`No price is known for ${models}: not included in the cost.`]),
    ...(open.length === 0 ? [] : ['"at least" counts only what no script can change.']),
  ]
}

/** What the batch of `batch = true` costs: the lines above it are the prices of calls that are sent at once. */
function batchLine({ batch_usd: usd }: Total): readonly string[] {
  if (usd === undefined) return []
  return [`in a batch  ${usdText(usd.as_written)} as written; what the batch does not answer costs the whole price`]
}

function figures(
  { requests, input_tokens, output_tokens, usd, unpriced }: Total,
  row: 'as_written' | 'at_least' | 'at_most',
): string {
  const asked = requests[row] ?? 0
  if (asked === 0) return 'no request'
  const output = output_tokens[row] ?? 0
  const cost = usd[row] ?? 0
  return [
    countOf(asked, 'request'),
    `${formatCount(input_tokens[row] ?? 0)} tokens in`,
    ...(output === 0 ? [] : [`${formatCount(output)} out`]),
    // models without a known price may account for all of it
    ...(cost === 0 && unpriced.length > 0 ? [] : [usdText(cost)]),
  ].join(' · ')
}

/** Without exponents, which nobody reads. */
function usdText(usd: number): string {
  if (usd === 0) return 'free'
  return usd < 0.0001 ? 'less than $0.0001' : formatCost(usd)
}

function askLine({ model, requests, input_tokens, output_tokens, usd }: Ask): string {
  const asked = requests.as_written
  if (asked === 0) return `${shownLine(model)}: only if a script or a model chooses it`
  const price = usd === null ? 'no known price' : usdText(usd.as_written)
  return `${shownLine(model)}: ${countOf(asked, 'request')} · ${formatCount(input_tokens.as_written)} tokens in · ${formatCount(output_tokens.as_written)} out · ${price}`
}
