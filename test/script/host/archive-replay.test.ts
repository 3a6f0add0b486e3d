import { PDFDocument } from '@cantoo/pdf-lib'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Effects } from '../../../src/event/effects.ts'
import { createEffects } from '../../../src/journal/effects.ts'
import { openFileRecords } from '../../../src/journal/file-records.ts'
import { indexReplay } from '../../../src/journal/replay-index.ts'
import { createReplayedEffects } from '../../../src/journal/replayed-effects.ts'
import { noMask } from '../../../src/journal/secrets.ts'
import { openRun } from '../../../src/journal/store.ts'
import { rawZip } from '../../helpers/raw-zip.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const code = `
local made = aip.zip.create("docs")
local files = aip.zip.extract("in.zip", "out")
local pages = aip.pdf.split_pages("in.pdf")
local ok, problem = pcall(aip.zip.extract, "bad.zip")
return { made, files, pages, aip.zip.list("in.zip"), aip.pdf.page_count("in.pdf"), tostring(problem) }`

it('archives and PDFs need not be there for a replay', async () => {
  const pdf = await PDFDocument.create()
  pdf.addPage()
  pdf.addPage()
  const root = tempTree({
    'docs/a.txt': 'a',
    'in.zip': rawZip([{ name: 'x.txt', data: 'x' }, { name: 'd/' }, { name: 'd/y.txt', data: 'y' }]),
    'bad.zip': rawZip([{ name: '../x' }]),
    'in.pdf': await pdf.save(),
  })
  const folder = join(tempTree(), 'run')
  const journal = await openRun({ folder, now: () => new Date(0) })
  const first = await runWith(root, createEffects({ journal, signal: new AbortController().signal }))
  journal.note({ k: 'run.end', exit: 0, stop: 'done' })
  await journal.close()
  expect(readdirSync(join(root, 'out')).toSorted()).toEqual(['d', 'x.txt'])

  for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true })
  const index = await indexReplay(openFileRecords(folder, { mask: noMask }))
  const changed: string[] = []
  const scratch = { change: (record: { readonly path: string }) => void changed.push(record.path) }
  const replayed = createReplayedEffects({ index, signal: undefined, files: { kind: 'recorded', scratch } })
  expect(await runWith(root, replayed.effects)).toEqual(first)
  expect(replayed.leftOver()).toBe(undefined)
  expect(changed).toEqual([
    'docs.zip',
    'out/x.txt',
    'out/d',
    'out/d/y.txt',
    'in/in-page-0001.pdf',
    'in/in-page-0002.pdf',
  ])
  expect(readdirSync(root)).toEqual([])
})

function runWith(root: string, effects: Effects): Promise<unknown> {
  const host = hostSection(root)
  return runLua({ ...host, section: { ...host.section, context: { ...host.section.context, effects } } }, code)
}
