import { PDFDocument } from '@cantoo/pdf-lib'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Effects } from '../../../src/event/effects.ts'
import { createEffects } from '../../../src/journal/effects.ts'
import { openFileRecords } from '../../../src/journal/source.ts'
import { indexRun } from '../../../src/journal/run-index.ts'
import { createReplayedEffects } from '../../../src/journal/replayed-effects.ts'
import { noMask } from '../../../src/journal/secrets.ts'
import { openRun } from '../../../src/journal/store.ts'
import { rawZip } from '../../helpers/raw-zip.ts'
import { tempTree } from '../../helpers/temp.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'
import { openGate } from '../../helpers/effects.ts'
import { withServices } from '../../../src/event/context.ts'

const code = `
local made = aip.zip.create("docs")
local files = aip.zip.extract("in.zip", "out")
local pages = aip.pdf.split_pages("in.pdf")
local ok, problem = pcall(aip.zip.extract, "bad.zip")
return { made, files, pages, aip.zip.list("in.zip"), aip.pdf.page_count("in.pdf"), tostring(problem) }`

it('a replay needs no archives and PDFs', async () => {
  const pdf = await PDFDocument.create()
  pdf.addPage()
  pdf.addPage()
  const root = tempTree({
    'docs/a.txt': 'a',
    'in.zip': rawZip([{ name: 'x.txt', data: 'x' }, { name: 'd/' }, { name: 'd/y.txt', data: 'y' }]),
    'bad.zip': rawZip([{ name: '../x' }]),
    'in.pdf': await pdf.save(),
  })
  const { folder, value } = await recorded({ root, code })
  expect(readdirSync(join(root, 'out')).toSorted()).toEqual(['d', 'x.txt'])

  for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true })
  expect(await replayed(folder, (effects) => runWith({ root, code }, effects))).toEqual({
    value,
    changed: ['docs.zip', 'out/x.txt', 'out/d', 'out/d/y.txt', 'in/in-page-0001.pdf', 'in/in-page-0002.pdf'],
  })
  expect(readdirSync(root)).toEqual([])
})

it('a replay needs nothing outside the workspace, and does not read there', async () => {
  const outside = tempTree({ 'a.md': 'a', 'deep/b.md': 'b', 'x.zip': rawZip([{ name: 'x.txt', data: 'x' }]) })
  const root = tempTree({ 'own.md': '' })
  const reading = `
local dir = "${outside}"
aip.file.copy(dir .. "/a.md", "copy.md")
aip.file.save("sizes.md", tostring(aip.file.info(dir .. "/a.md").size))
local ok, problem = pcall(aip.file.load, dir .. "/none.md")
return { aip.file.list_load(dir .. "/**/*.md"), aip.file.exists(dir), aip.path.is_file(dir .. "/a.md"),
  aip.zip.list(dir .. "/x.zip"), aip.udiffx.load_files_context(dir .. "/*.md"), tostring(problem) }`
  const { folder, value } = await recorded({ root, code: reading })
  expect(value).toMatchObject([
    [{ content: 'a' }, { content: 'b' }],
    true,
    true,
    ['x.txt'],
    expect.stringContaining('a.md'),
    expect.stringContaining('there is no file'),
  ])
  rmSync(outside, { recursive: true })
  expect(await replayed(folder, (effects) => runWith({ root, code: reading }, effects))).toEqual({
    value,
    changed: ['copy.md', 'sizes.md'],
  })
})

interface Script {
  readonly root: string
  readonly code: string
}

async function recorded(script: Script): Promise<{ readonly folder: string; readonly value: unknown }> {
  const folder = join(tempTree(), 'run')
  const journal = await openRun({ folder, now: () => new Date(0) })
  const value = await runWith(script, createEffects({ ...openGate, journal, signal: new AbortController().signal }))
  journal.note({ k: 'run.end', exit: 0, stop: 'done' })
  await journal.close()
  return { folder, value }
}

/** What the script returns when it is answered from the record of the folder, and the files it would have changed. */
async function replayed(folder: string, run: (effects: Effects) => Promise<unknown>) {
  const index = await indexRun(openFileRecords(folder, { mask: noMask }), { keeps: 'everything' })
  const changed: string[] = []
  const scratch = { change: (record: { readonly path: string }) => void changed.push(record.path) }
  const { effects, leftOver } = createReplayedEffects({
    index,
    signal: undefined,
    files: { kind: 'recorded', scratch },
  })
  const value = await run(effects)
  expect(leftOver()).toBe(undefined)
  return { value, changed }
}

function runWith({ root, code: text }: Script, effects: Effects): Promise<unknown> {
  const host = hostSection(root)
  return runLua(
    { ...host, section: { ...host.section, context: withServices(host.section.context, { effects }) } },
    text,
  )
}
