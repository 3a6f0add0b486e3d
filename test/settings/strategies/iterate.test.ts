import { describe, expect, it } from 'vitest'
import { checkFrontMatter } from '../../../src/config/front-matter.ts'
import { conditionText, parseCondition } from '../../../src/settings/strategies/iterate.ts'
import { parsePrompt } from '../../../src/prompt/document.ts'

const count = (given: number) => ({ kind: 'count', count: given })
const duration = (seconds: number) => ({ kind: 'duration', seconds })
const rejected = [
  '',
  'abc',
  '5x',
  'h',
  '1.5h',
  '5M',
  '5 m',
  '0',
  '-5',
  '0m',
  '+3',
  '05',
  '5mm',
  '1h30m',
  '5\n5',
  '٣',
  '1e3',
]

describe('a condition', () => {
  it.each([
    ['5', count(5)],
    ['100', count(100)],
    [' 5 ', count(5)],
    ['10m', duration(600)],
    ['2h', duration(7200)],
    ['1d', duration(86_400)],
    ['5s', duration(5)],
    ['\t90s\n', duration(90)],
    ['1000000000s', duration(1_000_000_000)],
    ['11574d', duration(999_993_600)],
  ])('is a count or a duration: %j', (text, condition) => {
    expect(parseCondition(text)).toEqual(condition)
  })

  it.each([...rejected, '1000000001s', '11575d', '99999999999'])('cannot be %j', (text) => {
    expect(parseCondition(text)).toBeUndefined()
  })

  it('is shown in the largest unit that divides it', () => {
    const shown = ['1', '5', '90s', '60s', '7200s', '90m', '48h', '1d'].map((text) => {
      const condition = parseCondition(text)
      return condition && conditionText(condition)
    })
    expect(shown).toEqual(['1 iteration', '5 iterations', '90s', '1m', '2h', '90m', '2d', '1d'])
  })
})

describe('[iterate]', () => {
  async function issuesOf(table: string): Promise<readonly string[]> {
    const document = await parsePrompt('ask.md', `+++\nmodel = "m"\n[iterate]\n${table}\n+++\nAsk.\n`)
    const { issues } = await checkFrontMatter(document, { userFile: 'config.toml' })
    return issues.map(({ message, place, hint }) => `${place?.line}:${place?.column}: ${message} | ${hint}`)
  }

  it.each(rejected)('refuses the condition %j at its place, naming it and both forms', async (text) => {
    const [issue = '', ...others] = await issuesOf(`context = true\ncondition = ${JSON.stringify(text)}`)
    expect(others).toEqual([])
    expect(issue).toMatch(/^5:13: /)
    expect(issue).toContain('"iterate.condition"')
    expect(issue).toContain(text === '' ? 'empty text' : JSON.stringify(text))
    expect(issue).toContain('a count ("5") or a duration ("30m", "2h", "1d")')
  })

  it.each([
    ['condition = 5', '4:13'],
    ['conditions = "5"', '4:1'],
    ['max_iterations = 0', '4:18'],
    ['on_dirty = "stash"', '4:12'],
    ['commits = "always"', '4:11'],
    ['score_best = "max"', '4:14'],
    ['score_goal = "10"', '4:14'],
    ['stall = -1', '4:9'],
    ['command_timeout = "soon"', '4:19'],
    ['until = ""', '4:9'],
  ])('refuses %s', async (line, place) => {
    expect(await issuesOf(line)).toEqual([expect.stringMatching(`^${place}: `)])
  })

  it('accepts everything that is documented', async () => {
    const table = `condition = "3"
context = false
assessment = "assessment.md"
commits = true
summarizer = "llm"
continuation = "Go on."
plan = "plan.md"
on_dirty = "allow"
max_iterations = 9
until = "npm test"
score = "node score.mjs"
score_goal = 0.5
score_best = "lowest"
stall = 0
command_timeout = "30s"`
    expect(await issuesOf(table)).toEqual([])
  })
})
