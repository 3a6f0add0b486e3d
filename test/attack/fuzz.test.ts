import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../helpers/baton.ts'
import { count } from './attempts.ts'
import { fuzzedParsers } from './fuzz/parsers.ts'
import { fuzz, problemOf } from './fuzz/run.ts'

// A sample of the millions of inputs of `npm run soak -- fuzz`. Inputs that once failed are in test/fixtures/fuzz/, by
// parser.

const parsers = await fuzzedParsers()
const corpus = join(root, 'test/fixtures/fuzz')

describe('every text is parsed into a value, or refused with a BatonError', () => {
  it.each(parsers.map((parser) => [parser.name, parser] as const))('%s: random inputs', async (_name, parser) => {
    const { inputs, failures } = await fuzz(parser, { seed: 20261123, from: 0, count: 500 })
    expect(failures).toEqual([])
    expect(inputs).toBe(500)
    count('a parser gives a value or an error of ours', inputs)
  })

  it.each(readdirSync(corpus).map((name) => [name]))('%s: inputs that failed before', async (name) => {
    const parser = parsers.find((one) => one.name === name)
    if (parser === undefined) throw new Error(`no parser is called ${name}`)
    const files = readdirSync(join(corpus, name))
    expect(files).not.toEqual([])
    for (const file of files) {
      const problem = await problemOf(parser, readFileSync(join(corpus, name, file), 'utf8'))
      expect({ file, problem }).toEqual({ file, problem: undefined })
    }
    count('a parser gives a value or an error of ours', files.length)
  })
})
