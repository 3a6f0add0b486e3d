import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PDFDocument, StandardFonts } from '@cantoo/pdf-lib'
import { expect, it } from 'vitest'
import { sha256 } from '../../src/base/hash.ts'
import { baton } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel } from '../helpers/tool-model.ts'

const secret = 'k-1234567890-of-the-gateway'

it('stores a truncated output with the run, without secrets, and returns its rest to a resumed run', async () => {
  const names = Array.from({ length: 1200 }, (_, index) => `entry-${index + 1000}-${'x'.repeat(40)}`)
  const all = ['many is a folder:', ...names.toSorted(), `name-${secret}`].join('\n')
  const id = `output:${sha256(all).slice(0, 12)}`
  const readRest = callsTools(['read', { path: id, offset: 1201 }])
  const model = await startToolModel([callsTools(['read', { path: 'many' }]), readRest, { text: 'Seen.' }])
  const folder = tempTree({
    'ask.md': '+++\nmodel = "m"\ntools = ["read"]\n+++\nLook.\n',
    [`many/name-${secret}`]: '',
    ...Object.fromEntries(names.map((name) => [`many/${name}`, ''])),
  })
  const home = tempTree()
  const env = { BATON_GATEWAY_URL: model.url, SOME_API_KEY: secret, BATON_HOME: home }
  expect(await baton(['ask.md', '-c', 'budget.calls=1'], { cwd: folder, env })).toMatchObject({ code: 4 })
  const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const recorded = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
  expect(recorded.some((text) => text.includes('name-«secret:SOME_API_KEY»'))).toBe(true)
  expect(recorded.some((text) => text.includes(secret))).toBe(false)
  const resumed = await baton(['resume', '--last', '-c', 'budget.calls=9'], { cwd: folder, env })
  expect(resumed).toMatchObject({ code: 0, stdout: 'Seen.\n' })
  const [, , turn] = model.requests
  expect(JSON.stringify(turn?.body)).toContain(`for the rest, read \\"${id}\\" from offset `)
  expect(model.requests.length).toBe(3)
  expect(model.results()).toEqual([`${names.at(-1)}\nname-${secret}\n[lines 1201 to 1202 of 1202]`])
})

it('returns a PDF as text if the abilities of the model are unknown, and as a file if the user configures it', async () => {
  const document = await PDFDocument.create()
  const font = await document.embedFont(StandardFonts.Helvetica)
  document.addPage().drawText('The report of the year', { font, x: 50, y: 700 })
  const cwd = tempTree({
    'ask.md': '+++\nmodel = "m"\ntools = ["read"]\nbudget.unpriced = "allow"\n+++\nLook.\n',
    'a.pdf': Buffer.from(await document.save()),
  })
  for (const [args, said, isFile] of [
    [[], 'a.pdf (PDF, the text of its pages)\\n--- page 1 ---\\nThe report of the year', false],
    [['-c', 'model_files=["pdf"]'], 'a.pdf (PDF, 1 page)', true],
  ] as const) {
    const model = await startToolModel([callsTools(['read', { path: 'a.pdf' }]), { text: 'Seen.' }])
    const env = { BATON_GATEWAY_URL: model.url }
    expect(await baton(['ask.md', ...args], { cwd, env })).toMatchObject({ code: 0, stdout: 'Seen.\n' })
    const sent = JSON.stringify(model.requests[1]?.body)
    expect(sent).toContain(said)
    expect(sent.includes('data:application/pdf;base64,')).toBe(isFile)
  }
})
