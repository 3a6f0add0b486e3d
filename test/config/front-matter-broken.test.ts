import { expect, it } from 'vitest'
import { isBatonError } from '../../src/base/error.ts'
import { checkFrontMatter } from '../../src/config/front-matter.ts'
import { parsePrompt } from '../../src/prompt/document.ts'

const wholes = [
  '+++\nmodel = "m"\nsub_agents = ["a", { name = "b", stage = ["pre", "post"] }]\n[lua]\ntimeout = "5s"\n[params]\n"ü" = \'x\'\n+++\nDo it.\n\n====\n> old\n',
  '---\nmodel: m\nsub_agents:\n  - a\n  - &x {name: b, stage: [pre]}\n  - *x\nlua: {timeout: 5s}\ntext: |\n  one\n  two\n---\nDo it.\n',
  'Do it.\n\n```toml\n#!meta\nmodel = """\nm"""\nworking_globs = ["a", ["b"]]\nd = 1979-05-27\n```\n\nMore.\n====\n',
]
const pieces = [
  '"',
  "'",
  '[',
  ']',
  '{',
  '}',
  '=',
  ':',
  '\n',
  '\t',
  '\0',
  '+++',
  '---',
  '```',
  '&',
  '*',
  '|',
  '#',
  '\\',
  '.',
  ',',
  '\uD800',
  '9'.repeat(30),
  'é',
  '\r',
  '====',
  '!!',
  '<<',
]

/** A small linear congruential generator: the same broken files every time. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

function broken(text: string, next: (below: number) => number): string {
  let result = text
  for (let times = 1 + next(3); times > 0; times -= 1) {
    const at = next(result.length)
    const kept = result.slice(at + (next(2) === 0 ? 0 : next(12)))
    result = `${result.slice(0, at)}${pieces[next(pieces.length)]}${kept}`
  }
  return result
}

it('returns data, issues or an error with line and column for 600 broken files', async () => {
  const outcomes = { data: 0, issues: 0, errors: 0 }
  for (let seed = 1; seed <= 600; seed += 1) {
    const text = broken(wholes[seed % wholes.length] ?? '', numbers(seed * 7919))
    const outcome = await read(text)
    outcomes[outcome] += 1
  }
  expect(outcomes.data).toBeGreaterThan(50)
  expect(outcomes.issues).toBeGreaterThan(20)
  expect(outcomes.errors).toBeGreaterThan(100)
})

async function read(text: string): Promise<'data' | 'issues' | 'errors'> {
  try {
    const document = await parsePrompt('p.md', text)
    const { issues } = await checkFrontMatter(document, { userFile: 'u' })
    for (const { place } of issues) expectPlace(place, text)
    return issues.length > 0 ? 'issues' : 'data'
  } catch (error) {
    if (!isBatonError(error)) throw new Error(`broken by ${JSON.stringify(text)}`, { cause: error })
    expectPlace(error.place, text)
    return 'errors'
  }
}

function expectPlace(place: { readonly line?: number; readonly column?: number } | undefined, text: string): void {
  expect(place?.line, text).toBeGreaterThanOrEqual(1)
  expect(place?.line, text).toBeLessThanOrEqual(text.split('\n').length + 1)
  expect(place?.column, text).toBeGreaterThanOrEqual(1)
}
