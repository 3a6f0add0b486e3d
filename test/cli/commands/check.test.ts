import { describe, expect, it } from 'vitest'
import { compileSchema } from '../../../src/base/json-schema.ts'
import type { JsonObject } from '../../../src/base/json.ts'
import type { Problem } from '../../../src/load/check/problem.ts'
import { githubLine, problemRecord, sarifLog } from '../../../src/cli/commands/check.ts'

const problem: Problem = {
  severity: 'error',
  code: 'CONFIG_INVALID',
  message: '"temperature" must be a number',
  hint: 'Write a number.',
  place: { file: 'a.md', line: 2, column: 15, endLine: 2, endColumn: 20, text: 'the whole file, never printed' },
  trail: [],
}
const bare: Problem = { ...problem, severity: 'warning', hint: '', place: { file: '/elsewhere/b c.md' } }
const far: Problem = {
  ...problem,
  place: { file: 'agents/ä#1.aip', line: 4, column: 1, endLine: 6, endColumn: 3 },
  trail: [
    { file: 'lua/m.lua', line: 3, text: 'x' },
    { file: 'a.md', line: 2, column: 1, endLine: 2, endColumn: 9 },
  ],
}

const jsonOf = (one: Problem): string => JSON.stringify(problemRecord(one))

describe('a problem as JSON', () => {
  it('contains the place, the problem and the remedy, and omits what is unknown', () => {
    expect(JSON.parse(jsonOf(problem))).toStrictEqual({
      file: 'a.md',
      line: 2,
      column: 15,
      endLine: 2,
      endColumn: 20,
      severity: 'error',
      code: 'CONFIG_INVALID',
      message: '"temperature" must be a number',
      hint: 'Write a number.',
    })
    expect(JSON.parse(jsonOf(bare))).toStrictEqual({
      file: '/elsewhere/b c.md',
      severity: 'warning',
      code: 'CONFIG_INVALID',
      message: '"temperature" must be a number',
    })
  })

  it('contains the include trail, without source text', () => {
    expect(JSON.parse(jsonOf(far))).toMatchObject({
      chain: [
        { file: 'lua/m.lua', line: 3 },
        { file: 'a.md', line: 2, column: 1, endLine: 2, endColumn: 9 },
      ],
    })
    expect(jsonOf(far)).not.toContain('text')
  })

  it('is one line', () => {
    expect(jsonOf({ ...problem, message: 'one\ntwo' })).not.toContain('\n')
  })
})

describe('a problem as a workflow command', () => {
  it('has a range whose end is the last column of the problem', () => {
    expect(githubLine(problem)).toBe(
      '::error file=a.md,line=2,endLine=2,col=15,endColumn=19,title=CONFIG_INVALID::"temperature" must be a number%0AWrite a number.',
    )
  })

  it('omits columns if the range spans several lines, and whatever is unknown', () => {
    expect(githubLine(far)).toMatch(/^::error file=agents\/ä#1\.aip,line=4,endLine=6,title=CONFIG_INVALID::/)
    expect(githubLine(bare)).toMatch(/^::warning file=\/elsewhere\/b c\.md,title=CONFIG_INVALID::/)
  })

  it('escapes what would end a part', () => {
    const odd = { ...problem, message: '100%: a\r\nb, c::d', hint: '', place: { file: 'a,b:c%.md', line: 1 } }
    expect(githubLine(odd)).toBe('::error file=a%2Cb%3Ac%25.md,line=1,title=CONFIG_INVALID::100%25: a%0D%0Ab, c::d')
  })
})

describe('a SARIF log', () => {
  const log = sarifLog([problem, bare, far, { ...problem, code: 'SCRIPT_FAILED' }], {
    cwd: '/work/my project',
    version: '1.2.3',
  })
  const { runs } = log as { readonly runs: readonly [SarifRun] }
  const [run] = runs

  interface SarifRun {
    readonly tool: { readonly driver: { readonly rules: readonly { readonly id: string }[] } }
    readonly results: readonly {
      readonly ruleId: string
      readonly ruleIndex: number
      readonly level: string
      readonly locations: readonly [{ readonly physicalLocation: unknown }]
    }[]
    readonly originalUriBaseIds: Readonly<Record<string, { readonly uri: string }>>
  }

  it('has the structure of SARIF 2.1.0', async () => {
    const result = await compileSchema(sarifSubset)
    if (result.kind === 'invalid') throw new Error(result.message)
    expect(result.compiled.validate(JSON.parse(JSON.stringify(log)))).toEqual([])
    expect(result.compiled.validate(JSON.parse(JSON.stringify(sarifLog([], { cwd: '/x', version: '1' }))))).toEqual([])
  })

  it('contains each rule once, and names the rule of each result', () => {
    const { rules } = run.tool.driver
    expect(rules.map(({ id }) => id)).toEqual(['CONFIG_INVALID', 'SCRIPT_FAILED'])
    expect(run.results.map(({ ruleId, ruleIndex }) => rules[ruleIndex]?.id === ruleId)).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect(run.results.map(({ level }) => level)).toEqual(['error', 'warning', 'error', 'error'])
  })

  it('writes files as URIs, relative to the folder of the check', () => {
    expect(run.originalUriBaseIds).toEqual({ WORKINGFOLDER: { uri: 'file:///work/my%20project/' } })
    expect(run.results.map(({ locations: [{ physicalLocation }] }) => physicalLocation)).toMatchObject([
      {
        artifactLocation: { uri: 'a.md', uriBaseId: 'WORKINGFOLDER' },
        region: { startLine: 2, startColumn: 15, endLine: 2, endColumn: 20 },
      },
      { artifactLocation: { uri: 'file:///elsewhere/b%20c.md' } },
      { artifactLocation: { uri: 'agents/%C3%A4%231.aip', uriBaseId: 'WORKINGFOLDER' } },
      {},
    ])
    expect(run.results[1]?.locations[0].physicalLocation).not.toHaveProperty('region')
  })
})

/** A SARIF object: its properties by name, of which the marked ones (`name!`) are required; no others are allowed. */
function object(properties: { readonly [name: string]: JsonObject }): JsonObject {
  const names = Object.keys(properties)
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name.replace('!', ''), properties[name] ?? {}])),
    required: names.filter((name) => name.endsWith('!')).map((name) => name.slice(0, -1)),
    additionalProperties: false,
  }
}

const text: JsonObject = { type: 'string', minLength: 1 }
const positive: JsonObject = { type: 'integer', minimum: 1 }
const message = object({ 'text!': text })
const uri: JsonObject = { type: 'string', pattern: "^[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]+$" }
const location = {
  'physicalLocation!': object({
    'artifactLocation!': object({ 'uri!': uri, uriBaseId: text }),
    region: object({ 'startLine!': positive, startColumn: positive, endLine: positive, endColumn: positive }),
  }),
}

/** Sections 3.13 (sarifLog) to 3.49 of the standard, as far as the log uses them; anything else is refused. */
const sarifSubset = object({
  '$schema!': { const: 'https://json.schemastore.org/sarif-2.1.0.json' },
  'version!': { const: '2.1.0' },
  'runs!': {
    type: 'array',
    minItems: 1,
    items: object({
      'tool!': object({
        'driver!': object({
          'name!': text,
          version: text,
          rules: { type: 'array', uniqueItems: true, items: object({ 'id!': text, shortDescription: message }) },
        }),
      }),
      columnKind: { enum: ['utf16CodeUnits', 'unicodeCodePoints'] },
      originalUriBaseIds: {
        type: 'object',
        additionalProperties: object({ 'uri!': { ...uri, pattern: '^file:///.*/$' } }),
      },
      results: {
        type: 'array',
        items: object({
          ruleId: text,
          ruleIndex: { type: 'integer', minimum: 0 },
          level: { enum: ['none', 'note', 'warning', 'error'] },
          'message!': message,
          locations: { type: 'array', items: object(location) },
          relatedLocations: {
            type: 'array',
            uniqueItems: true,
            items: object({ ...location, id: { type: 'integer', minimum: 0 }, message }),
          },
        }),
      },
    }),
  },
})
