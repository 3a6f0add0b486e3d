import { existsSync, readFileSync, rmSync, writeFileSync, appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listRuns, type ListOptions } from '../../src/history/run-list.ts'
import { createIndexReader, finishHistory } from '../../src/journal/index-file.ts'
import type { RunResult, RunSummary } from '../../src/journal/summary.ts'
import { tempTree } from '../helpers/temp.ts'
import { makeRun, makeTask } from './fixtures.ts'

const ids = ['20261120-100000-aaaaaa', '20261121-100000-bbbbbb', '20261122-100000-cccccc'] as const

const result: RunResult = {
  id: '',
  target: 'prompt',
  status: 'done',
  exit: 0,
  tasks: { done: 1, failed: 0, skipped: 0 },
  calls: 1,
  tokens: { input: 100, output: 10, cached: 0 },
  cost_usd: 0.01,
  models: ['test::small'],
  repeated: 0,
}

async function list(runs: string, options: Partial<ListOptions> = {}): Promise<readonly RunSummary[]> {
  const found: RunSummary[] = []
  for await (const run of listRuns(runs, { limit: 100, fits: () => true, ...options })) found.push(run)
  return found
}

/** Three runs that ended, with their summaries. */
async function threeRuns(): Promise<string> {
  const runs = tempTree()
  for (const id of ids) {
    const run = await makeRun({ runs, id })
    await makeTask(run, 0, 'x')
    await run.end()
    await finishHistory(run.folder, { ...result, id })
  }
  return runs
}

function indexOf(runs: string): readonly string[] {
  return readFileSync(join(runs, 'index.jsonl'), 'utf8').trimEnd().split('\n')
}

describe('the list of runs', () => {
  it('contains the newest runs first, up to the requested number, and only matching ones', async () => {
    const runs = await threeRuns()
    expect((await list(runs)).map(({ id }) => id)).toEqual(ids.toReversed())
    expect((await list(runs, { limit: 2 })).map(({ id }) => id)).toEqual([ids[2], ids[1]])
    expect((await list(runs, { fits: ({ id }) => id !== ids[2], limit: 1 })).map(({ id }) => id)).toEqual([ids[1]])
  })

  it('is empty for a folder that does not exist', async () => {
    expect(await list(join(tempTree(), 'none'))).toEqual([])
  })

  it('derives the state of a run without a summary from its records', async () => {
    const runs = tempTree()
    const run = await makeRun({ runs, id: ids[0], from: 1_000_000 })
    await makeTask(run, 0, 'x')
    run.journal.note({ k: 'begin', p: 'task/1', key: {} })
    await run.end('error', 1)

    expect(await list(runs)).toEqual([
      {
        v: 1,
        id: ids[0],
        file: '/w/ask.md',
        target: 'prompt',
        started: '1970-01-01T00:16:40.001Z',
        ended: expect.stringMatching(/^1970-01-01T00:16:40/) as string,
        duration_ms: expect.any(Number) as number,
        status: 'failed',
        exit: 1,
        tasks: { done: 1, failed: 1, skipped: 0 },
        calls: 1,
        tokens: { input: 100, output: 10, cached: 0 },
        cost_usd: 0.01,
        models: ['test::small'],
        epochs: 1,
        repeated: 0,
        error: null,
        error_place: null,
      },
    ])
  })

  it('shows why a run without a summary failed', async () => {
    const runs = tempTree()
    for (const [index, message] of ['no such file', 'long '.repeat(40_000)].entries()) {
      const run = await makeRun({ runs, id: ids[index] ?? '' })
      const error = { type: 'baton', message, place: { file: '/w/a.lua', line: 3 } } as const
      run.journal.note({ k: 'run.end', exit: 1, stop: 'error', error })
      await run.journal.close()
    }
    const [long, short] = await list(runs)
    expect(short).toMatchObject({ error: 'no such file', error_place: { file: '/w/a.lua', line: 3 } })
    expect(long?.error).toBe(`${'long '.repeat(400)}…`)
  })

  it('distinguishes an interrupted run from one whose process is alive', async () => {
    const runs = tempTree()
    const broken = await makeRun({ runs, id: ids[0] })
    await makeTask(broken, 0, 'x')
    await broken.journal.close()
    const going = await makeRun({ runs, id: ids[1], isAlive: true })
    await going.journal.flush()

    expect((await list(runs)).map(({ status, exit, ended }) => ({ status, exit, ended }))).toEqual([
      { status: 'running', exit: null, ended: null },
      { status: 'interrupted', exit: null, ended: null },
    ])
    await going.journal.close()
  })

  it('detects that an ended run was continued', async () => {
    const runs = await threeRuns()
    const again = await makeRun({ runs, id: ids[1] })
    await makeTask(again, 1, 'y')
    await again.journal.close()

    expect((await list(runs))[1]).toMatchObject({ status: 'interrupted', epochs: 2, calls: 2, tasks: { done: 2 } })
    await finishHistory(again.folder, { ...result, id: ids[1], calls: 2 })
    expect((await list(runs))[1]).toMatchObject({ status: 'done', epochs: 2, calls: 2 })
  })

  it('reads a folder whose journal is empty', async () => {
    const runs = tempTree({ [`${ids[0]}/j-000001.jsonl`]: '', [`${ids[1]}/other`]: '' })
    expect((await list(runs)).map(({ id, status, file }) => ({ id, status, file }))).toEqual([
      { id: ids[1], status: 'interrupted', file: '' },
      { id: ids[0], status: 'interrupted', file: '' },
    ])
  })
})

describe('the index', () => {
  it('is one line for each run, readable by its owner only, like the summary in the folder of the run', async () => {
    const { statSync } = await import('node:fs')
    const runs = await threeRuns()
    const lines = indexOf(runs)
    expect(lines).toHaveLength(3)
    expect(readFileSync(join(runs, ids[2], 'summary.json'), 'utf8')).toBe(`${lines[2]}\n`)
    expect(statSync(join(runs, 'index.jsonl')).mode & 0o777).toBe(0o600)
    expect(statSync(join(runs, ids[2], 'summary.json')).mode & 0o777).toBe(0o600)
  })

  it.each([
    ['missing', (file: string) => rmSync(file)],
    ['empty', (file: string) => writeFileSync(file, '')],
    ['cut off', (file: string) => writeFileSync(file, readFileSync(file).subarray(0, -40))],
    ['not text', (file: string) => writeFileSync(file, Buffer.from([0, 255, 10, 1]))],
    ['of other JSON', (file: string) => writeFileSync(file, '{"id":"20261120-100000-aaaaaa"}\n[]\n')],
  ])('is rebuilt from the summaries when it is %s', async (_, damage) => {
    const runs = await threeRuns()
    const before = await list(runs)
    damage(join(runs, 'index.jsonl'))
    expect(await list(runs)).toEqual(before)
    expect(indexOf(runs).map((line) => JSON.parse(line) as unknown)).toEqual(before.toReversed())
  })

  it('ignores lines of deleted runs', async () => {
    const runs = await threeRuns()
    rmSync(join(runs, ids[1]), { recursive: true })
    expect((await list(runs)).map(({ id }) => id)).toEqual([ids[2], ids[0]])
  })

  it('is rewritten when most of its lines are outdated or belong to deleted runs', async () => {
    const runs = await threeRuns()
    const line = indexOf(runs)[0] ?? ''
    appendFileSync(join(runs, 'index.jsonl'), `${line}\n`.repeat(200))
    await list(runs)
    expect(indexOf(runs)).toHaveLength(3)
  })

  it('is kept by a process that lists the runs again and again, and shows new, ended and removed runs at once', async () => {
    const runs = await threeRuns()
    const readIndex = createIndexReader(runs)
    const listed = async () =>
      (await list(runs, { index: readIndex() })).map(({ id, status }) => `${id.slice(0, 8)} ${status}`)
    const before = ['20261122 done', '20261121 done', '20261120 done']
    expect(await listed()).toEqual(before)
    const run = await makeRun({ runs, id: '20261123-100000-dddddd', isAlive: true })
    await run.journal.flush()
    expect(await listed()).toEqual(['20261123 running', ...before])
    await run.end()
    await finishHistory(run.folder, { ...result, id: '20261123-100000-dddddd' })
    expect(await listed()).toEqual(['20261123 done', ...before])
    rmSync(join(runs, ids[2]), { recursive: true })
    expect(await listed()).toEqual(['20261123 done', '20261121 done', '20261120 done'])
    rmSync(join(runs, 'index.jsonl'))
    rmSync(join(runs, 'order.txt'))
    expect(await listed()).toEqual(['20261123 done', '20261121 done', '20261120 done'])
  })

  it('ignores a summary that belongs to another run', async () => {
    const runs = await threeRuns()
    rmSync(join(runs, 'index.jsonl'))
    writeFileSync(join(runs, ids[0], 'summary.json'), readFileSync(join(runs, ids[1], 'summary.json')))
    expect((await list(runs)).map(({ id }) => id)).toEqual(ids.toReversed())
  })
})

describe('the end of a run', () => {
  it('never fails if its summary cannot be written', async () => {
    const run = await makeRun()
    await run.end()
    rmSync(run.folder, { recursive: true })
    expect(await finishHistory(run.folder, result)).toBeUndefined()
    expect(existsSync(run.folder)).toBe(false)
  })
})
