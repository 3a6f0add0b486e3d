/**
 * Measures cases side by side: every round runs each case once, every other round in reverse order, so that other load
 * on the machine affects all of them. The first round is only a warm-up, unless there is only one. `cases` maps names
 * to async functions; returns the results of each case, one per round.
 */
export async function interleave(cases, rounds) {
  const names = Object.keys(cases)
  const results = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = rounds === 1 ? 1 : 0; round <= rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const result = await cases[name]()
      if (round > 0) results[name].push(result)
    }
  }
  return results
}

/** The quotient of two cases in each round. */
export function quotients(numbers, reference) {
  return numbers.map((number, round) => number / reference[round])
}

/** One printed figure: the median of its rounds, and the range of the middle half of them. */
export function figure(name, { of, ratios, aim }) {
  const sorted = ratios.toSorted((one, other) => one - other)
  return { name, of, aim, ratio: at(sorted, 0.5), low: at(sorted, 0.25), high: at(sorted, 0.75) }
}

function at(sorted, part) {
  const position = (sorted.length - 1) * part
  const below = sorted[Math.floor(position)]
  return below + (sorted[Math.ceil(position)] - below) * (position % 1)
}

/** `start    baton --version   1.42 x node -e 0   (1.38 to 1.51)   aim: at most 1.5, met`. */
export function formatFigure(benchmark, { name, of, ratio, low, high, aim }) {
  const spread = `(${low.toFixed(2)} to ${high.toFixed(2)})`
  return `${benchmark.padEnd(9)}${name.padEnd(44)}${ratio.toFixed(2).padStart(7)} x ${of.padEnd(44)} ${spread.padEnd(18)} ${formatAim(aim, ratio)}`
}

function formatAim(aim, ratio) {
  if (aim === undefined) return 'no aim'
  const met = aim.atMost === undefined ? ratio >= aim.atLeast : ratio <= aim.atMost
  const text = aim.atMost === undefined ? `at least ${aim.atLeast}` : `at most ${aim.atMost}`
  return `aim: ${text}, ${met ? 'met' : 'MISSED'}`
}
