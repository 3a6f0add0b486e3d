import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encodeLine } from '../../src/journal/record.ts'
import { baton, type BatonResult, jsonLines } from '../helpers/baton.ts'
import { moveAway, startRecordedRun } from '../helpers/recorded-run.ts'
import { startModelServer } from '../helpers/model-server.ts'
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

it('writes a cassette that contains neither the machine nor a key', () => {
  expect([recorded.code, recorded.stderr]).toEqual([0, expect.stringContaining('reported')])
  const text = readFileSync(cassette, 'utf8')
  expect(text).toContain('«path:workspace»')
  expect(text).not.toContain('sk-test-0123456789')
  expect(text).not.toContain(recorded.home)
})

it('replays offline, in another folder, without keys, with the same result, and its files in a scratch folder', async () => {
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

it('names the first difference and shows both requests', async () => {
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

describe('the placeholders of secrets in a cassette', () => {
  const key = 'tok-0123456789-abcdef'

  /** A recorded answer, and what replays of its cassette print and write. */
  async function recordedAnswer(text: string, { prompt = 'Say it.', env = {} } = {}) {
    const server = await startModelServer(() => ({ text }))
    const folder = tempTree({
      '.git/HEAD': 'ref: refs/heads/main\n',
      'a.md': `+++\nmodel = "m"\n[[test]]\nname = "t"\ncassette = "a.cassette"\nexpect = [{ answer_contains = "${key}" }]\n+++\n${prompt}\n`,
    })
    const run = (args: readonly string[], given: Readonly<Record<string, string>>) =>
      baton(args, { cwd: folder, env: given })
    const first = await run(['a.md', '--record', 'a.cassette'], { BATON_GATEWAY_URL: server.url, ...env })
    await server.close()
    expect([first.code, first.stdout.trim(), first.stderr]).toEqual([0, text, expect.any(String)])
    return {
      file: join(folder, 'a.cassette'),
      test: () => run(['test', 'a.md'], { MY_TOKEN: key }),
      async replay(): Promise<string> {
        const args = ['a.md', '--replay', 'a.cassette', '--output', 'out.txt']
        const { code, stdout, stderr } = await run(args, { MY_TOKEN: key })
        expect([code, stderr]).toEqual([0, expect.stringContaining('the result is the same as recorded')])
        expect(stderr).not.toContain(key)
        return stdout + readFileSync(join(folder, 'out.txt'), 'utf8')
      },
    }
  }

  /** Changes the texts of a cassette; its lines stay whole. */
  function edit(file: string, change: (json: string) => string): void {
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    writeFileSync(file, lines.map((line) => encodeLine(change(line.slice(9)))).join(''))
  }

  it('stand for the values of the recording user, on every machine that has them', async () => {
    const own = await recordedAnswer(`the token is ${key}`, { prompt: `Say ${key}.`, env: { MY_TOKEN: key } })
    expect(readFileSync(own.file, 'utf8')).not.toContain(key)
    expect(await own.replay()).toContain(`the token is ${key}`)
    expect((await own.test()).code).toBe(0)
    // with one more mark it is no longer the file of somebody who knew the value
    edit(own.file, (json) => json.replaceAll('the token is', 'once more: «secret:MY_TOKEN» the token is'))
    const { code, stdout, stderr } = await own.test()
    expect([code, stdout + stderr]).toEqual([100, expect.not.stringContaining('the token is tok-')])
  })

  it('are text if somebody wrote them who did not know the value', async () => {
    const foreign = await recordedAnswer('the token is «secret:MY_TOKEN»')
    edit(foreign.file, (json) => json.replaceAll('«secret:=»', '«secret:'))
    const shown = await foreign.replay()
    expect([shown.includes('the token is «secret:MY_TOKEN»'), shown.includes(key)]).toEqual([true, false])
    expect((await foreign.test()).code).toBe(100)
    edit(foreign.file, (json) =>
      json.replace('"k":"cassette.end"', `"k":"cassette.end","proofs":{"MY_TOKEN":"${'0'.repeat(64)}"}`),
    )
    expect(await foreign.replay()).not.toContain(key)
  })
})
