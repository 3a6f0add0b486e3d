import { PDFDocument, StandardFonts } from '@cantoo/pdf-lib'
import { expect, it } from 'vitest'
import { adaptMessages } from '../../src/agent/supported-files.ts'
import type { FilePart, Message } from '../../src/event/message.ts'

const { signal } = new AbortController()
const image: FilePart = { type: 'file', name: 'a.png', mediaType: 'image/png', data: 'iVBORw0KGgo=' }

async function pdf(text: string): Promise<FilePart> {
  const document = await PDFDocument.create()
  const font = await document.embedFont(StandardFonts.Helvetica)
  document.addPage().drawText(text, { font, x: 50, y: 700 })
  const data = Buffer.from(await document.save()).toString('base64')
  return { type: 'file', name: 'report-1.pdf', mediaType: 'application/pdf', data }
}

function messagesWith(...files: readonly FilePart[]): readonly Message[] {
  return [
    { role: 'user', parts: [{ type: 'text', text: 'Look.' }, image] },
    { role: 'assistant', parts: [{ type: 'tool_call', id: 'c', name: 'read', input: '{}' }] },
    { role: 'tool', parts: [{ type: 'tool_result', id: 'c', parts: [{ type: 'text', text: 'a' }, ...files] }] },
  ]
}

it('a fallback model that does not support documents or images gets text and names of files from tools', async () => {
  const damaged: FilePart = { ...image, name: 'b.pdf', mediaType: 'application/pdf' }
  const messages = messagesWith(image, await pdf('The report of the year'), damaged)
  const given = await adaptMessages(messages, { image: false, document: false }, signal)
  expect(given.slice(0, 2)).toEqual(messages.slice(0, 2))
  expect(given[2]?.parts).toEqual([
    {
      type: 'tool_result',
      id: 'c',
      parts: [
        { type: 'text', text: 'a' },
        { type: 'text', text: '[a.png is an image (image/png), and this model takes only text]' },
        { type: 'text', text: '[report-1.pdf (PDF, the text of its pages)]\nThe report of the year' },
        { type: 'text', text: expect.stringContaining('[b.pdf is a PDF document, whose text cannot be read') },
      ],
    },
  ])
  expect(await adaptMessages(messages, { image: true, document: false }, signal)).toMatchObject([
    {},
    {},
    { parts: [{ parts: [{}, image, { type: 'text' }, { type: 'text' }] }] },
  ])
})

it('other models get the files unchanged', async () => {
  const messages = messagesWith(image)
  expect(await adaptMessages(messages, { image: true, document: true }, signal)).toBe(messages)
  expect(await adaptMessages(messages, undefined, signal)).toBe(messages)
  expect((await adaptMessages(messages, { image: true, document: false }, signal))[2]).toBe(messages[2])
})

it('a resource of a prompt is named if a model does not support it', async () => {
  const messages: readonly Message[] = [
    {
      role: 'user',
      parts: [
        { type: 'text', text: 'docs:a.png' },
        { ...image, isResource: true },
      ],
    },
  ]
  expect(await adaptMessages(messages, { image: true, document: false }, signal)).toEqual(messages)
  const [given] = await adaptMessages(messages, { image: false, document: false }, signal)
  expect(given?.parts[1]).toEqual({
    type: 'text',
    text: '[a.png is an image (image/png), and this model takes only text]',
  })
})
