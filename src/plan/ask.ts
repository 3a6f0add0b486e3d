import { type AgentRequest, isSentAtFirst } from '../event/agent.ts'
import { batchShare } from '../model/batch/api.ts'
import { estimateOf } from '../model/estimate.ts'
import type { TokenPrices } from '../model/prices.ts'
import type { ModelPlanner, PlannedModel } from './models.ts'
import type { Times } from '../run/strategy.ts'

/** Requests to one model. */
export interface Ask {
  /** For people, for example `openai::gpt-5-mini`. */
  readonly model: string
  /** `at_start`: decided when the run starts. `unknown`: the name does not resolve. */
  readonly model_kind: PlannedModel['kind']
  /** Requests that may be paid for: retries of an unavailable host are not counted. */
  readonly requests: Range
  readonly input_tokens: Range
  readonly output_tokens: Range
  /** US dollars; null if the price is not known. */
  readonly usd: Range | null
  /** The same if its first requests are sent as a batch; omitted: they are not, or the price is not known. */
  readonly batch_usd?: Range
  /** Whether a request sets no output limit, so that the default one is assumed. */
  readonly output_assumed: boolean
}

/** A request of a model agent, as a run would send it. */
export type ModelAsk = Extract<AgentRequest, { readonly messages: unknown }>

interface AskOptions {
  /** How often it asks is its own choice, whatever its tools are. */
  readonly isEndless?: boolean
  readonly drift: Drift
  /**
   * The requests that the code or the format of the answer may add, each as its input tokens in addition to the first,
   * other than those after an answer that is none.
   */
  readonly followUps: (figures: Figures) => readonly number[]
  /** Tries of one request (`retry.max_attempts`). */
  readonly tries: number
}

/** Tokens of one request. */
export interface Figures {
  readonly input: number
  /** The maximum length of the answer. */
  readonly output: number
}

/** What a run would estimate for this request, to the token. */
export function figuresOf({ agent, messages }: ModelAsk): Figures {
  const { model = '', ...settings } = agent.settings
  const output = agent.output === undefined ? {} : { output: agent.output }
  const sent = (agent.tools ?? []).filter((tool) => isSentAtFirst(tool))
  const tools = sent.map(({ name, description, parameters }) => ({ name, description, parameters }))
  const { tokens = 0, output: limit } = estimateOf({ ...settings, ...output, tools, messages, model }, undefined)
  return { input: tokens, output: limit?.tokens ?? 0 }
}

/**
 * The possible cost of this request and its follow-ups: one ask for the model, and one for each fallback that replaces
 * it after a permanent failure.
 */
export async function planAsk(request: ModelAsk, options: AskOptions, models: ModelPlanner): Promise<readonly Ask[]> {
  const figures = figuresOf(request)
  const { agent } = request
  const further = allFollowUps(figures, options, agent)
  const asks: Ask[] = []
  for (const [index, name] of [agent.settings.model, ...(agent.fallbackModels ?? [])].entries()) {
    const model = await models.chooseOrNote(name)
    const once = tokensOf(figures, options, further)
    // how often it calls tools, and what they return, is its own choice
    const all =
      options.isEndless !== true && (agent.tools === undefined || agent.tools.length === 0)
        ? once
        : mapTokens(once, (range) => ({ ...range, at_most: null }))
    const tokens = index === 0 ? all : instead(all)
    const usd = await usdOf(
      tokens,
      { model, longest: figures.input + options.drift.more + Math.max(0, ...further), figures },
      models,
    )
    asks.push({
      model: model.label,
      model_kind: model.kind,
      ...tokens,
      usd,
      ...(usd !== null && agent.isBatched === true && index === 0 && model.hasBatches === true
        ? { batch_usd: inBatch(usd) }
        : {}),
      output_assumed: agent.settings.max_tokens === undefined,
    })
  }
  return asks
}

/** Calls that the batch does not answer are made at the whole price. */
function inBatch({ at_least, as_written, at_most }: Range): Range {
  return { at_least: at_least * batchShare, as_written: as_written * batchShare, at_most }
}

/** The price of an ask in a batch, changed in the same way as the other one. */
function batchUsd({ batch_usd: usd }: Ask, change: (range: Range) => Range): Pick<Ask, 'batch_usd'> {
  return usd === undefined ? {} : { batch_usd: change(usd) }
}

type Tokens = Pick<Ask, 'requests' | 'input_tokens' | 'output_tokens'>

/** More than the note has, in tokens, with which a model is asked again. */
const noteTokens = 100

/**
 * The requests that may follow the first one, each as its input tokens in addition to it. After it, and after each
 * follow-up, there may be one after an answer that is a tool call written as text, and one after an empty answer.
 */
function allFollowUps(
  figures: Figures,
  { followUps }: AskOptions,
  { acceptsEmpty, maxRounds = Infinity }: ModelAsk['agent'],
): readonly number[] {
  const repeats = [noteTokens + figures.output, ...(acceptsEmpty === true ? [] : [noteTokens])]
  const each = repeats.slice(0, Math.max(0, maxRounds - 1))
  const added: number[] = []
  let before = 0
  for (const extra of [0, ...followUps(figures)]) {
    added.push(extra + before)
    for (const more of each) {
      before += more
      added.push(extra + before)
    }
  }
  return added.slice(1)
}

function tokensOf(figures: Figures, { drift, tries }: AskOptions, further: readonly number[]): Tokens {
  const { input, output } = figures
  const most = [0, ...further].map((extra) => (input + drift.more + extra) * tries)
  const tokens: Tokens = {
    requests: { at_least: 1, as_written: 1, at_most: most.length * tries },
    input_tokens: {
      at_least: Math.max(0, input - drift.less),
      as_written: input,
      at_most: most.reduce((sum, each) => sum + each, 0),
    },
    output_tokens: { at_least: 0, as_written: output, at_most: most.length * tries * output },
  }
  return isOpen(drift) ? mapTokens(tokens, opened) : tokens
}

/** The same asks, made only if something else fails. */
export function insteadOf(ask: Ask): Ask {
  const of = ({ at_most }: Range): Range => ({ at_least: 0, as_written: 0, at_most })
  return { ...ask, ...instead(ask), usd: ask.usd === null ? null : of(ask.usd), ...batchUsd(ask, of) }
}

function instead(tokens: Tokens): Tokens {
  return mapTokens(tokens, ({ at_most }) => ({ at_least: 0, as_written: 0, at_most }))
}

function mapTokens(tokens: Tokens, change: (range: Range, name: keyof Tokens) => Range): Tokens {
  const of = (name: keyof Tokens): Range => change(tokens[name], name)
  return { requests: of('requests'), input_tokens: of('input_tokens'), output_tokens: of('output_tokens') }
}

interface Pricing {
  readonly model: PlannedModel
  readonly figures: Figures
  /** The input tokens of the longest request. */
  readonly longest: number
}

async function usdOf(
  { requests, input_tokens: input, output_tokens: output }: Tokens,
  { model: { priced }, figures, longest }: Pricing,
  models: ModelPlanner,
): Promise<Range | null> {
  if (priced === undefined) return null
  if (priced.isFree) return { at_least: 0, as_written: 0, at_most: 0 }
  const prices = await models.prices()
  const rate = prices.perToken(priced, figures.input)
  const dearest = prices.perToken(priced, longest)
  if (rate === undefined || dearest === undefined) return null
  const cost = ({ input: forInput, output: forOutput }: TokenPrices, asked: number, answered: number): number =>
    asked * forInput + answered * forOutput
  // the lowest price is that of cached input
  const cached = { calls: 1, input: input.at_least, cached: input.at_least, output: 0, reasoning: 0 }
  return {
    at_least: requests.at_least === 0 ? 0 : (prices.costOf(priced, cached) ?? 0),
    as_written: cost(rate, input.as_written, output.as_written),
    at_most: input.at_most === null || output.at_most === null ? null : cost(dearest, input.at_most, output.at_most),
  }
}

/** Merges asks of the same model, in the order of first appearance. */
export function joinAsks(asks: readonly Ask[]): readonly Ask[] {
  const byModel = new Map<string, Ask>()
  for (const ask of asks) {
    const known = byModel.get(ask.model)
    byModel.set(ask.model, known === undefined ? ask : joined(known, ask))
  }
  return [...byModel.values()]
}

function joined(left: Ask, right: Ask): Ask {
  return {
    ...left,
    ...mapTokens(left, (range, name) => plus(range, right[name])),
    usd: left.usd === null || right.usd === null ? null : plus(left.usd, right.usd),
    ...joinedBatchUsd(left, right),
    output_assumed: left.output_assumed || right.output_assumed,
  }
}

/** What is not sent as a batch costs the same. */
function joinedBatchUsd(left: Ask, right: Ask): Pick<Ask, 'batch_usd'> {
  if (left.batch_usd === undefined && right.batch_usd === undefined) return {}
  const [one, other] = [left.batch_usd ?? left.usd, right.batch_usd ?? right.usd]
  return one === null || other === null ? {} : { batch_usd: plus(one, other) }
}

/** The same asks while something may still change them. */
export function openAsk(ask: Ask): Ask {
  return { ...ask, ...mapTokens(ask, opened), usd: ask.usd === null ? null : opened(ask.usd), ...batchUsd(ask, opened) }
}

/** Asks that are made each time. */
export function eachTime(asks: readonly Ask[], times: Times): readonly Ask[] {
  return asks.map((ask) => ({
    ...ask,
    requests: repeated(ask.requests, times),
    input_tokens: repeated(ask.input_tokens, times),
    output_tokens: repeated(ask.output_tokens, times),
    usd: ask.usd === null ? null : repeated(ask.usd, times),
    ...batchUsd(ask, (usd) => repeated(usd, times)),
  }))
}

/** A figure of a plan. */
export interface Range {
  /** Whatever scripts decide. */
  readonly at_least: number
  /** If no script changes anything, nothing fails, and every answer uses its whole output limit. */
  readonly as_written: number
  /** Null: no limit. */
  readonly at_most: number | null
}

function repeated({ at_least, as_written, at_most }: Range, times: Times): Range {
  return {
    at_least: at_least * times.at_least,
    as_written: as_written * times.as_written,
    at_most: at_most === null ? null : at_most * times.at_most,
  }
}

const none: Range = { at_least: 0, as_written: 0, at_most: 0 }

function plus(left: Range, right: Range): Range {
  return {
    at_least: left.at_least + right.at_least,
    as_written: left.as_written + right.as_written,
    at_most: left.at_most === null || right.at_most === null ? null : left.at_most + right.at_most,
  }
}

/** A figure while a script may still change it. */
function opened({ as_written }: Range): Range {
  return { at_least: 0, as_written, at_most: null }
}

export function sumOf(ranges: readonly Range[]): Range {
  return ranges.reduce(plus, none)
}

/** How far a request, when it is reached, may differ from what is written. */
export interface Drift {
  /** Places that decide about it: if there are any, nothing about the request is certain. */
  readonly by: readonly string[]
  /** Tokens that may be missing because a text replaced the instruction. */
  readonly less: number
  /** Maximum number of tokens added by answers. */
  readonly more: number
}

export const steady: Drift = { by: [], less: 0, more: 0 }

export function isOpen({ by }: Drift): boolean {
  return by.length > 0
}

/** The drift after these places have decided as well. */
export function decidedBy(drift: Drift, ...places: readonly string[]): Drift {
  return { ...drift, by: [...new Set([...drift.by, ...places])] }
}

/** The drift after this many tokens of answers may have been added. */
export function grown(drift: Drift, tokens: number): Drift {
  return { ...drift, more: drift.more + tokens }
}
