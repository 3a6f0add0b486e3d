import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { baton, type BatonResult, jsonLines } from '../helpers/baton.ts'
import { moveAway, startRecordedRun } from '../helpers/recorded-run.ts'
import { tempTree } from '../helpers/temp.ts'

let recorded: BatonResult
let cwd: string
const cassette = join(tempTree(), 'run.cassette')
const folders: string[] = []

beforeAll(async () => {
  const run = await startRecordedRun()
  recorded = await baton(['ask.md', '--record', cassette], { cwd: run.cwd, env: run.env })
  await run.end()
  cwd = moveAway(run.cwd)
})

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** Where the replay wrote files. */
function scratchOf(stderr: string): string {
  const folder = /files written to (\S+?):/.exec(stderr)?.[1] ?? ''
  folders.push(folder)
  return folder
}

it('writes a cassette that names neither the machine nor a key', () => {
  expect([recorded.code, recorded.stderr]).toEqual([0, expect.stringContaining('reported')])
  const text = readFileSync(cassette, 'utf8')
  expect(text).toContain('«path:workspace»')
  expect(text).not.toContain('sk-test-0123456789')
  expect(text).not.toContain(recorded.home)
})

it('replays offline, in another folder, without keys, to the same result, with its files in a scratch folder', async () => {
  const prompt = readFileSync(join(cwd, 'ask.md'), 'utf8')
  const { code, stdout, stderr } = await baton(['run', '--replay', cassette], { cwd })
  expect([code, stdout]).toEqual([0, recorded.stdout])
  expect(stderr).toContain(
    'replayed: 1 HTTP request, 1 command, 2 model calls, 5 file changes; the result is the same as recorded',
  )
  const scratch = scratchOf(stderr)
  expect(readFileSync(join(scratch, 'out/report.txt'), 'utf8')).toBe('answers: 2\nsaved 11 bytes\n')
  expect(readFileSync(join(scratch, 'made/b.txt'), 'utf8')).toBe('made b\n')
  expect(readdirSync(cwd).toSorted()).toEqual(['.git', 'agents', 'ask.md'])
  expect(readFileSync(join(cwd, 'ask.md'), 'utf8')).toBe(prompt)
})

it('names the first difference and shows the request of then and now', async () => {
  const prompt = readFileSync(join(cwd, 'ask.md'), 'utf8')
  writeFileSync(join(cwd, 'ask.md'), prompt.replace('Be short.', 'Be long.'))
  const text = await baton(['ask.md', '--replay', cassette], { cwd })
  const json = await baton(['ask.md', '--replay', cassette, '--json'], { cwd })
  writeFileSync(join(cwd, 'ask.md'), prompt)
  expect(text.code).toBe(5)
  expect(text.stderr).toMatch(
    /differs from its record: at task\/[01]\/agent\/ask\/turn\/0#0 the input of model\(openai::mock-coder\)/,
  )
  expect(text.stderr).toMatch(/\n-\s+Be short\.\n\+\s+Be long\.\n/)
  const error = jsonLines(json.stdout).at(-1)?.['error']
  expect(error).toMatchObject({ code: 'DIVERGED', diff: expect.stringContaining('Be long.') })
  expect(existsSync(join(cwd, 'made'))).toBe(false)
})
