import { formatCost, formatCount } from '../render/format.ts'
import type { Paint } from '../render/style.ts'
import type { Ask } from '../plan/ask.ts'
import type { Limits, Plan, Total } from '../plan/plan.ts'
import { count, planTree, shown } from './plan-tree.ts'

/** A plan for people: the run as a tree, what limits it, what is still open, and what it costs. */
export function planText(plan: Plan, paint: Paint): string {
  const { file, target, open, notes, limits, asks } = plan
  const heading = `${paint('bold', `plan of ${shown(file)}`)}: as written; nothing was run and nobody was asked`
  const parts = [
    [heading],
    planTree(target, { paint, limits }),
    [paint('bold', 'limits'), ...limitLines(limits).map(indented)],
    open.length === 0
      ? []
      : [
          paint('bold', 'decided while it runs'),
          ...open.map(({ by, what }) => indented(`decided by ${shown(by)}: ${shown(what.join(', '))}`)),
        ],
    notes.map((note) => `${paint('yellow', 'note')}: ${shown(note)}`),
    [paint('bold', 'total'), ...totalLines(plan).map(indented)],
    asks.length > 1 ? [paint('bold', 'by model'), ...asks.map((ask) => indented(askLine(ask)))] : [],
  ]
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

function indented(line: string): string {
  return `  ${line}`
}

function limitLines({ budget, max_attempts: tries, max_files_size_kb: size, redo }: Limits): readonly string[] {
  return [
    `budget    ${budgetText(budget) ?? 'none: --max-cost or [budget] sets one'}`,
    `retries   ${tries === 1 ? 'none' : `up to ${tries} tries of each request; one that fails half-way is paid for as well`}`,
    `files     up to ${formatCount(size)} kB in one request`,
    ...(redo === 0 ? [] : [`rounds    may be done again, up to ${redo} times`]),
  ]
}

function budgetText({ usd, tokens, calls }: Limits['budget']): string | undefined {
  const limits = [
    ...(usd === undefined ? [] : [`$${usd}`]),
    ...(tokens === undefined ? [] : [count(tokens, 'token')]),
    ...(calls === undefined ? [] : [count(calls, 'call')]),
  ]
  return limits.length === 0 ? undefined : limits.join(', ')
}

function totalLines({ total, limits, asks, open }: Plan): readonly string[] {
  const { unpriced } = total
  const budget = budgetText(limits.budget)
  const isLimited = total.requests.at_most !== null
  const most = isLimited
    ? figures(total, 'at_most')
    : `no upper limit${budget === undefined ? '' : ` but the budget's: ${budget}`}`
  const isCut = isLimited && budget !== undefined ? `, and never more than the budget: ${budget}` : ''
  const isSent = limits.budget.usd !== undefined || limits.budget.tokens !== undefined
  const assumed =
    !isSent && asks.some(({ output_assumed: isAssumed, requests }) => isAssumed && requests.as_written > 0)
  return [
    `as written  ${figures(total, 'as_written')}`,
    `at least    ${figures(total, 'at_least')}`,
    `at most     ${most}${isCut}`,
    ...(assumed ? ['Some requests set no output limit (max_tokens): the usual one is assumed.'] : []),
    ...(unpriced.length === 0
      ? []
      : [`No price is known for ${unpriced.map(shown).join(', ')}: not in these dollars.`]),
    ...(open.length === 0 ? [] : ['At least is what no script can change.']),
  ]
}

function figures(
  { requests, input_tokens, output_tokens, usd, unpriced }: Total,
  row: 'as_written' | 'at_least' | 'at_most',
): string {
  const asked = requests[row] ?? 0
  if (asked === 0) return 'no request'
  const output = output_tokens[row] ?? 0
  return [
    count(asked, 'request'),
    `${formatCount(input_tokens[row] ?? 0)} tokens in`,
    ...(output === 0 ? [] : [`${formatCount(output)} out`]),
    ...costs(usd[row] ?? 0, unpriced.length > 0),
  ].join(' · ')
}

function costs(usd: number, isPartly: boolean): readonly string[] {
  if (usd === 0) return isPartly ? [] : ['free']
  return [usdText(usd)]
}

/** Nobody reads an exponent. */
function usdText(usd: number): string {
  return usd < 0.0001 ? 'less than $0.0001' : formatCost(usd)
}

function askLine({ model, requests, input_tokens, output_tokens, usd }: Ask): string {
  const price = usd === null ? 'no known price' : usd.as_written === 0 ? 'free' : usdText(usd.as_written)
  const asked = requests.as_written
  if (asked === 0) return `${shown(model)}: only if something else decides so`
  return `${shown(model)}: ${count(asked, 'request')} · ${formatCount(input_tokens.as_written)} tokens in · ${formatCount(output_tokens.as_written)} out · ${price}`
}
