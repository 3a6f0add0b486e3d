import { describe, expect, it } from 'vitest'
import { itemsOf, promptOf, resourceOf, resultOf, templateOf, toolOf } from '../../src/mcp/from-wire.ts'

describe('the lists of a server', () => {
  it('are read field by field: fields of a wrong type are dropped, and so are items without a name', () => {
    const tools = [
      {
        name: 'a',
        title: 7,
        description: 'does a',
        inputSchema: { properties: {} },
        annotations: { readOnlyHint: true },
      },
      { name: '' },
      { name: 'b', inputSchema: 'none' },
      'c',
      null,
    ]
    expect(itemsOf({ tools }, 'tools', toolOf)).toEqual([
      { name: 'a', description: 'does a', readOnly: true, input: { type: 'object', properties: {} } },
    ])
    expect(itemsOf({ tools: {} }, 'tools', toolOf)).toEqual([])
    expect(itemsOf(null, 'tools', toolOf)).toEqual([])
  })

  it('use the title of a tool from its annotations, and whether it runs only as a task', () => {
    const tool = { name: 'a', annotations: { title: 'A' }, execution: { taskSupport: 'required' } }
    expect(toolOf(tool)).toEqual({ name: 'a', title: 'A', onlyAsTask: true, input: { type: 'object' } })
  })

  it('name resources by their address, and templates by theirs', () => {
    expect(resourceOf({ uri: 'file:///a', size: 3 })).toEqual({ name: 'file:///a', uri: 'file:///a', size: 3 })
    expect(templateOf({ uriTemplate: 'file:///{a}', name: 'any' })).toEqual({
      name: 'any',
      uri: 'file:///{a}',
      isTemplate: true,
    })
    expect(resourceOf({ name: 'a' })).toBeUndefined()
  })

  it('keep only arguments of a prompt with a name', () => {
    const given = [{ name: 'a', required: true }, { description: 'no name' }]
    expect(promptOf({ name: 'p', arguments: given })).toEqual({ name: 'p', arguments: [{ name: 'a', required: true }] })
  })
})

describe('the result of a tool', () => {
  it('requires content or a structured value', () => {
    expect(resultOf({ content: 'text' })).toBeUndefined()
    expect(resultOf({})).toBeUndefined()
    expect(resultOf('text')).toBeUndefined()
    expect(resultOf({ content: [] })).toMatchObject({ content: [] })
  })

  it('has a structured value that is not an object as text', () => {
    expect(resultOf({ structuredContent: [1, 2] })).toMatchObject({ content: [{ type: 'text', text: '[1,2]' }] })
    expect(resultOf({ structuredContent: { a: 1 }, content: [] })).toMatchObject({ structured: { a: 1 } })
  })

  it('shows content of an unknown type as its JSON', () => {
    const [content] = resultOf({ content: [{ type: 'hologram', depth: 2 }] })?.content ?? []
    expect(JSON.stringify(content)).toContain('hologram')
  })
})
