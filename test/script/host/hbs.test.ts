import { describe, expect, it } from 'vitest'
import type { LuaValue } from '../../../src/script/engine.ts'
import { hbsModule } from '../../../src/script/host/hbs.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const host = hostSection('/')

function render(template: LuaValue, data?: LuaValue): Promise<LuaValue> {
  return host.wait(hbsModule, 'render', template, data)
}

describe('aip.hbs.render', () => {
  it('79: fills in values, also nested ones', async () => {
    expect(await render('ID: {{id}}, Nested: {{nested.value}}', { id: 42, nested: { value: 'test' } })).toBe(
      'ID: 42, Nested: test',
    )
  })

  it('escapes nothing, and omits missing values', async () => {
    expect(await render('{{a}}|{{b}}|{{c.d}}', { a: '<ü & "😀">', b: null })).toBe('<ü & "😀">||')
    expect(await render('')).toBe('')
    expect(await render('{{a}}.')).toBe('.')
    expect(await render('{{this}}', 'text')).toBe('text')
    expect(await render('{{#each this}}{{@index}}{{this}} {{/each}}', ['a', 'b'])).toBe('0a 1b ')
    expect(await render(5)).toBe('5')
  })

  it('treats tables as at the end of a section: without a first element they are objects', async () => {
    const code = `
      return {
        aip.hbs.render("{{#each list}}{{this}};{{/each}}", { list = { 1, 2.5, x = 3 } }),
        aip.hbs.render("{{#if empty}}yes{{else}}no{{/if}}{{empty}}", { empty = {} }),
        aip.hbs.render("{{a}}{{b}}", { a = null, b = true }),
        aip.hbs.render("Hi {{name}}", { name = "Ann" }),
      }`
    expect(await runLua(host, code)).toEqual(['1;2.5;', 'no[object]', 'true', 'Hi Ann'])
  })

  it('refuses a template that cannot be parsed, and names the line', async () => {
    await expect(render('a\n{{#if x}}\nb', {})).rejects.toThrow(
      /^aip\.hbs\.render: the template cannot be rendered: .*line/s,
    )
    await expect(render(undefined, {})).rejects.toThrow('aip.hbs.render: argument 1 must be a string, but was nil')
    await expect(render({}, {})).rejects.toThrow('but was table')
  })

  it('refuses data that is not JSON', async () => {
    await expect(render('a', { b: [Number.NaN] })).rejects.toThrow('aip.hbs.render: the data.b[1] is NaN')
    const code = `
      local ok, problem = pcall(aip.hbs.render, "a", { f = print })
      local broken, message = pcall(aip.hbs.render, "{{#each}")
      return { ok, type(problem), broken, tostring(message):find("template cannot be rendered") ~= nil }`
    expect(await runLua(host, code)).toMatchObject([false, expect.any(String), false, true])
  })

  it('renders a large list', async () => {
    const items = Array.from({ length: 20_000 }, (_, index) => index)
    expect(await render('{{#each items}}{{this}}\n{{/each}}', { items })).toBe(
      items.map((item) => `${item}\n`).join(''),
    )
  })
})
