import type { Usage } from '../event/message.ts'

/** The price of a model set by the user, in US dollars per million tokens. */
export interface OwnPrice {
  readonly input: number
  readonly output: number
  /** Price of cached input; default: the price of other input. */
  readonly cached?: number | undefined
}

export type OwnPrices = { readonly [name: string]: OwnPrice }

/**
 * The user's price of a model, by its name (`glm-5.3`) or its label (`gateway::glm-5.3`). Exact names take precedence
 * over globs, and longer globs over shorter ones; `*` matches any text.
 */
export function ownPrice(
  prices: OwnPrices,
  { model, label }: { readonly model: string; readonly label: string },
): OwnPrice | undefined {
  for (const name of [label, model]) if (Object.hasOwn(prices, name)) return prices[name]
  const globs = Object.keys(prices).filter((name) => name.includes('*'))
  const [best] = globs
    .filter((glob) => [label, model].some((name) => patternOf(glob).test(name)))
    .toSorted((left, right) => right.length - left.length)
  return best === undefined ? undefined : prices[best]
}

function patternOf(glob: string): RegExp {
  const parts = glob.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, String.raw`\$&`))
  return new RegExp(`^${parts.join('.*')}$`, 's')
}

/** US dollars of one call. */
export function costByOwnPrice({ input, output, cached = input }: OwnPrice, usage: Usage): number {
  const still = Math.min(usage.cached, usage.input)
  return ((usage.input - still) * input + still * cached + usage.output * output) / 1e6
}
