import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { isBatonError } from '../src/base/error.ts'
import type { RunEvent } from '../src/event/event.ts'
import { replayRun, type ReplayOptions, type ReplayReport } from '../src/wiring/replay.ts'
import { startRun } from '../src/runner.ts'
import { moveAway, recordedFiles, startRecordedRun } from './helpers/recorded-run.ts'
import { tempTree } from './helpers/temp.ts'

const home = tempTree()
let cwd: string
let folder: string
let answers: readonly string[]

const answersOf = (events: readonly RunEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'answer' ? [event.text] : []))

beforeAll(async () => {
  const run = await startRecordedRun()
  const events: RunEvent[] = []
  const env = { ...run.env, BATON_HOME: join(home, 'baton'), PATH: process.env['PATH'] }
  const onRecord = (kept: string): void => void (folder = kept)
  const report = await startRun('ask.md', { cwd: run.cwd, env, home, onRecord }, (event) => events.push(event))
  expect(report.exitCode).toBe(0)
  await run.end()
  answers = answersOf(events)
  cwd = moveAway(run.cwd)
})

const scratches: string[] = []
afterEach(() => {
  for (const [path, text] of Object.entries(recordedFiles)) {
    if (!path.startsWith('src/')) writeFileSync(join(cwd, path), text)
  }
  for (const scratch of scratches.splice(0)) rmSync(scratch, { recursive: true, force: true })
})

function edit(path: string, before: string, after: string): void {
  const text = readFileSync(join(cwd, path), 'utf8')
  expect(text).toContain(before)
  writeFileSync(join(cwd, path), text.replace(before, after))
}

async function replay(options: Partial<ReplayOptions> = {}): Promise<{
  readonly report: ReplayReport
  readonly events: readonly RunEvent[]
  readonly message: string
  readonly diff: string
}> {
  const events: RunEvent[] = []
  const record = { kind: 'run', folder } as const
  const report = await replayRun(
    undefined,
    { record, cwd, home, env: { PATH: '', BATON_HOME: join(home, 'baton') }, observations: 'recorded', ...options },
    (event) => events.push(event),
  )
  if (report.scratch !== undefined) scratches.push(report.scratch.folder)
  const { error } = report
  return {
    report,
    events,
    message: isBatonError(error) ? error.message : '',
    diff: (isBatonError(error) && error.diff) || '',
  }
}

it('returns the recorded answers from a run folder without its original environment, and costs nothing', async () => {
  const { report, events } = await replay()
  expect([report.exitCode, report.isSameResult, answersOf(events)]).toEqual([0, true, answers])
  expect(report.replayed).toEqual({ http: 1, command: 1, model: 2, file: 5 })
  expect([report.usage.calls, report.canResume, report.recordedExit]).toEqual([0, false, 0])
  expect(report.scratch?.files).toEqual(['made/a.txt', 'made/b.txt', 'out/report.txt'])
})

describe('a replay reports the first difference', () => {
  it.each([
    [
      'a parameter',
      'ask.md',
      'tone = "calm"',
      'tone = "loud"',
      /^task\/[01]\/agent\/ask\/turn\/0#0$/,
      /^\+.* tone loud$/m,
    ],
    [
      'the model',
      'ask.md',
      'openai::mock-coder',
      'openai::mock-other',
      /^task\/[01]\/agent\/ask\/turn\/0#0$/,
      /^\+ +provider: openai::mock-other$/m,
    ],
    ['an agent', 'agents/look.aip', '{ "src/a.txt" }', '{ "src/b.txt" }', /^pre\/0.*data#\d+$/, /^\+ +- src\/b.txt$/m],
    [
      'a module',
      'agents/lua/names.lua',
      'Seen:',
      'Found:',
      /^task\/[01]\/agent\/ask\/turn\/0#0$/,
      /^\+.*Found: page one/m,
    ],
    [
      'the name of a file',
      'agents/log.aip',
      '.append("out/report',
      '.append("out/other',
      /^post\/0.*output#\d+$/,
      /^\+ +- out\/other.txt$/m,
    ],
    ['the content of a file', 'agents/log.aip', 'answers: ', 'count: ', /^post\/0.*output#\d+$/, /^\+ +count: 2$/m],
    [
      'the globs',
      'ask.md',
      'working_globs = ["src/*.txt"]',
      'working_globs = ["src/a.*"]',
      /^files\/working\/0$/,
      /^\+ +- src\/a\.\*$/m,
    ],
  ])('%s', async (_, path, before, after, place, line) => {
    edit(path, before, after)
    const { report, message, diff } = await replay()
    expect([report.exitCode, isBatonError(report.error) && report.error.code]).toEqual([5, 'DIVERGED'])
    expect(/ at (\S+) /.exec(message)?.[1]).toMatch(place)
    expect(diff).toMatch(line)
  })

  it('for a call that the original run did not make', async () => {
    edit('agents/log.aip', 'print("reported")', 'print("reported")\naip.cmd.exec("touch", { "never" })')
    const { message } = await replay()
    expect(message).toMatch(/at post\/0.*output#\d+ it calls command\(.*"touch".*the record has nothing there/)
  })

  it('for a call that is no longer made', async () => {
    edit('agents/log.aip', 'aip.file.delete("src/b.txt")\n', '')
    const { message } = await replay()
    expect(message).toMatch(/it ended without a call that was recorded:\n {2}file\(delete src\/b.txt\) at post\/0/)
  })

  it('even if a script catches the error', async () => {
    edit(
      'agents/look.aip',
      'local shell = aip.cmd.exec("cat", { "src/a.txt" })',
      'local shell = { stdout = "" }\npcall(aip.cmd.exec, "cat", { "src/c.txt" })',
    )
    const { report, message } = await replay()
    expect([report.exitCode, message]).toEqual([5, expect.stringContaining('src/c.txt')])
  })
})

it('does not take over the flags of the original run, but accepts new ones', async () => {
  const { message, diff } = await replay({ given: { overrides: ['model="openai::mock-third"'] } })
  expect([message, diff]).toEqual([expect.stringContaining('mock-third'), expect.stringContaining('mock-coder')])
})

it('reports a different answer although the same was asked', async () => {
  edit(
    'ask.md',
    '  { name = "agents/log.aip"',
    '  { name = "agents/more.lua", stage = "post_task" },\n  { name = "agents/log.aip"',
  )
  writeFileSync(join(cwd, 'agents/more.lua'), 'return { ai_response = input.ai_response.content .. "!" }')
  const { report } = await replay()
  rmSync(join(cwd, 'agents/more.lua'))
  expect([report.exitCode, report.isSameResult]).toEqual([0, false])
})

it('reads and changes the files of a copy with the option for it', async () => {
  const copy = tempTree({ ...recordedFiles, 'page.url': readUrl() })
  const same = await replay({ cwd: copy, observations: 'live-files' })
  expect([same.report.exitCode, same.report.scratch]).toEqual([0, undefined])
  expect(readFileSync(join(copy, 'made/a.txt'), 'utf8')).toBe('made a\n')

  const other = tempTree({ ...recordedFiles, 'page.url': readUrl(), 'src/a.txt': 'alpha and more\n' })
  const { report, diff } = await replay({ cwd: other, observations: 'live-files' })
  expect([report.exitCode, diff]).toEqual([5, expect.stringContaining('alpha and more')])
})

/** The address that the recorded run called. */
function readUrl(): string {
  return /"kind":"http".*?"url":"([^"]+)"/.exec(readFileSync(join(folder, 'j-000001.jsonl'), 'utf8'))?.[1] ?? ''
}

it('names the files that it cannot create because the record does not contain their content', async () => {
  const files = { 'existing.txt': 'old\n', 'm1.txt': 'moved\n', 'data/a.txt': 'a' }
  const there = tempTree({
    '.git/HEAD': '',
    ...files,
    'change.lua': `aip.file.append("existing.txt", "new\\n")
aip.file.copy("existing.txt", "copied.txt")
aip.file.move("m1.txt", "m2.txt")
aip.zip.create("data")
aip.file.save("own.txt", "own\\n")
aip.file.append("own.txt", "more\\n")
aip.file.copy("own.txt", "own2.txt")`,
  })
  let kept = ''
  const options = { cwd: there, env: { BATON_HOME: join(home, 'baton') }, home }
  const first = await startRun('change.lua', { ...options, onRecord: (one) => void (kept = one) }, () => undefined)
  expect(first.exitCode).toBe(0)
  const made = ['copied.txt', 'existing.txt', 'm2.txt', 'own.txt', 'own2.txt']
  const record = { kind: 'run', folder: kept } as const

  const here = await replay({ record, cwd: there })
  expect(here.report.scratch).toMatchObject({ files: [...made, 'data.zip'].toSorted(), unlike: [] })
  for (const name of made) {
    expect(readFileSync(join(here.report.scratch?.folder ?? '', name)), name).toEqual(readFileSync(join(there, name)))
  }

  const elsewhere = tempTree({ '.git/HEAD': '', 'change.lua': readFileSync(join(there, 'change.lua')) })
  const { report } = await replay({ record, cwd: elsewhere })
  expect([report.exitCode, report.isSameResult]).toEqual([0, true])
  expect(report.scratch).toMatchObject({
    files: ['copied.txt', 'existing.txt', 'own.txt', 'own2.txt'],
    unlike: ['copied.txt', 'data.zip', 'existing.txt', 'm2.txt'],
  })
  expect(readFileSync(join(report.scratch?.folder ?? '', 'own2.txt'), 'utf8')).toBe('own\nmore\n')
})

it('refuses a folder that is not a record', async () => {
  const cassette = { kind: 'cassette', file: join(cwd, 'ask.md') } as const
  await expect(replay({ record: cassette })).rejects.toThrow('is not a cassette')
  await expect(replay({ record: { kind: 'run', folder: tempTree() } })).rejects.toThrow('was never begun')
})

it('calls that inspect files before they change them find the files as they were at the time of the run', async () => {
  const cwd = tempTree({
    'there.txt': 'there\n',
    'empty.txt': '\n',
    'folder/x.txt': 'x',
    'a.lua': `
local new = aip.file.ensure_exists("new.txt", "made\\n")
local old = aip.file.ensure_exists("there.txt", "not written\\n")
local filled = aip.file.ensure_exists("empty.txt", "filled\\n", { content_when_empty = true })
local listed = aip.cmd.exec("cat", { "x.txt" }, { cwd = "folder" })
return { new.path, old.path, filled.path, listed.stdout, aip.file.ensure_dir("folder"), aip.file.ensure_dir("made") }
`,
  })
  let record = ''
  const env = { BATON_HOME: join(home, 'baton'), PATH: process.env['PATH'] }
  const report = await startRun('a.lua', { cwd, env, home, onRecord: (kept) => (record = kept) }, () => {})
  expect(report).toMatchObject({ exitCode: 0 })
  expect(readFileSync(join(cwd, 'empty.txt'), 'utf8')).toBe('filled\n')

  const again = () =>
    replayRun(
      undefined,
      {
        record: { kind: 'run', folder: record },
        cwd,
        home,
        env: { BATON_HOME: env.BATON_HOME },
        observations: 'recorded',
      },
      () => {},
    )
  expect(await again()).toMatchObject({ exitCode: 0, isSameResult: true, replayed: { command: 1, file: 3 } })
  for (const path of ['there.txt', 'new.txt', 'empty.txt', 'folder', 'made'])
    rmSync(join(cwd, path), { recursive: true })
  expect(await again()).toMatchObject({ exitCode: 0, isSameResult: true, replayed: { command: 1, file: 3 } })
})
