import { expect, it } from 'vitest'
import { isSlowTemplate } from '../../src/prompt/slow-template.ts'
import { loadTemplates } from '../../src/prompt/template.ts'

const nested = (levels: number): string => `{{eq ${'(eq a '.repeat(levels)}a${')'.repeat(levels)} false}}`

it('calls in an expression can be nested at most 100 levels, so that parsing ends', async () => {
  const { render, problems } = await loadTemplates()
  expect(() => render(nested(5_000), {})).toThrow('its calls are nested deeper than 100 levels')
  expect(problems(nested(101))).toMatchObject([
    { message: 'the template cannot be rendered: its calls are nested deeper than 100 levels' },
  ])
  expect(problems(nested(40)).map(({ message }) => message)).toEqual([])
})

it('a template with many calls is rendered where it can be stopped', () => {
  expect(isSlowTemplate('{{eq (eq a b) (eq c d)}}', {})).toBe(false)
  expect(isSlowTemplate(`{{or ${'(eq a b) '.repeat(600)}}}`, {})).toBe(true)
})
