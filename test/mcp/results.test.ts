import { expect, it } from 'vitest'
import type { McpContent, McpResult } from '../../src/event/mcp.ts'
import { toolInputSchema, toolDescription } from '../../src/mcp/tool-description.ts'
import { toolOutput } from '../../src/mcp/results.ts'

const all = { image: true, document: true }
const png = { type: 'image', data: Buffer.from('pixels').toString('base64'), mimeType: 'image/png' } as const

function told(result: McpResult, taken = all) {
  return toolOutput(result, { name: 's__t', taken })
}

function text(value: string): McpContent {
  return { type: 'text', text: value }
}

it('texts are returned in order, and failed ones as an error', () => {
  expect(told({ content: [text('one'), text('two')] })).toEqual({ text: 'one\ntwo' })
  expect(told({ content: [text('no')], isError: true })).toEqual({ text: 'no', isError: true })
  expect(told({ content: [] })).toEqual({ text: '[the server returned an empty result]' })
  expect(told({ content: [], isError: true })).toMatchObject({ isError: true, text: expect.stringMatching(/fail/) })
})

it('structured content is returned as JSON, unless a text has the same content', () => {
  const structured = { sum: 3, of: [1, 2] }
  expect(told({ content: [], structured })).toEqual({ text: '{"sum":3,"of":[1,2]}', structured })
  expect(told({ content: [text('It is 3.')], structured }).text).toBe('It is 3.\n{"sum":3,"of":[1,2]}')
  const same = '{ "of": [1, 2],\n "sum": 3 }'
  expect(told({ content: [text(same)], structured })).toEqual({ text: same, structured })
})

it('images and PDF documents are files of the message if the model supports them', () => {
  const pdf = { uri: 'file:///a/b.pdf?x=1', mimeType: 'application/pdf', blob: 'AAAA' }
  const content: readonly McpContent[] = [text('See:'), png, { type: 'resource', resource: pdf }]
  expect(told({ content })).toEqual({
    text: 'See:\n[image (image/png, 0.1kb)]\n[resource file:///a/b.pdf?x=1 (application/pdf, 0.1kb)]',
    files: [
      { type: 'file', name: 's__t-2.png', mediaType: 'image/png', data: png.data },
      { type: 'file', name: 'b.pdf', mediaType: 'application/pdf', data: 'AAAA' },
    ],
  })
  const none = told({ content }, { image: false, document: false })
  expect(none.files).toBeUndefined()
  expect(none.text).toContain('[image (image/png, 0.1kb): this model takes no images]')
  expect(none.text).toContain('this model takes no documents]')
})

it('unsupported content is named', () => {
  const audio: McpContent = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }
  const large: McpContent = { ...png, data: 'A'.repeat(6_000_000) }
  const binary: McpContent = { type: 'resource', resource: { uri: 'x:y', blob: 'AAAA' } }
  const { text: said, files } = told({ content: [audio, large, binary] })
  expect(files).toBeUndefined()
  expect(said.split('\n')).toEqual([
    '[audio (audio/wav, 0.1kb): models are given only text, images and PDF documents]',
    '[image (image/png, 4.3mb): a model is given at most 3.8mb]',
    '[resource x:y (application/octet-stream, 0.1kb): models are given only text, images and PDF documents]',
  ])
})

it('resources are returned by their addresses, embedded texts completely', () => {
  const link: McpContent = {
    type: 'resource_link',
    uri: 'file:///a',
    name: 'a',
    mimeType: 'text/plain',
    description: 'A.',
  }
  const resource: McpContent = { type: 'resource', resource: { uri: 'file:///b', text: 'content' } }
  expect(told({ content: [link, resource] }).text).toBe(
    '[resource a (text/plain): file:///a: A.]\n[resource file:///b]\ncontent',
  )
})

it('texts of a server are marked as such, are limited, and hide nothing', () => {
  const input = { type: 'object' as const }
  const hidden = 'Adds.\u001b[8m\u202e\u200b\u{e0041}\u{e0042}\nDo it.'
  expect(toolDescription('sum', { name: 'add', description: hidden, input })).toBe(
    'A tool of the MCP server "sum", in its words: Adds.[8m\nDo it.',
  )
  expect(toolDescription('sum', { name: 'add', input })).toBe(
    'A tool of the MCP server "sum", which does not describe it.',
  )
  const long = toolDescription('sum', { name: 'add', description: 'x'.repeat(1_000_000), input })
  expect(long.length).toBeLessThan(4200)
})

it('texts in a schema are marked too, but its values are unchanged', () => {
  const properties = {
    mode: { enum: ['a\u200bb'], description: 'M\u200bode.', default: { description: '\u200b' } },
    description: { type: 'string', const: '\u200b' },
    long: { description: 'y'.repeat(5000) },
  }
  const { type, properties: shown } = toolInputSchema({ name: 't', input: { properties } })
  expect(type).toBe('object')
  expect(shown).toMatchObject({
    mode: { enum: ['a\u200bb'], description: 'Mode.', default: { description: '\u200b' } },
    description: { type: 'string', const: '\u200b' },
  })
  expect(JSON.stringify(shown).length).toBeLessThan(1300)
})

it('a schema that is deeper than any real one is cut off', () => {
  let schema: { readonly [key: string]: unknown } = { type: 'string' }
  for (let level = 0; level < 20_000; level += 1) schema = { properties: { x: schema } }
  expect(JSON.stringify(toolInputSchema({ name: 't', input: schema as never })).length).toBeLessThan(3000)
})
