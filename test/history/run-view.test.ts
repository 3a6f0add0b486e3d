import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { omittedIn, viewBelow, viewPlace } from '../../src/history/node-view.ts'
import { createRunView, everything, findNode, project, type ViewOptions } from '../../src/history/run-view.ts'
import { openFileRecords } from '../../src/journal/source.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { tempTree } from '../helpers/temp.ts'
import { ask, makeRun, makeTask } from './fixtures.ts'
import { effectOf, placeAt } from '../helpers/effects.ts'
import { placeText } from '../../src/event/place.ts'

async function treeOf(folder: string, options: Partial<ViewOptions> = {}) {
  const source = openFileRecords(folder, { mask: noMask })
  const tree = await project(source, { most: 40, keepsCalls: false, ...options })
  return { ...tree, context: { source, breaks: tree.breaks, gaps: tree.gaps } }
}

describe('the tree of a run', () => {
  it('shows tasks with their label, model calls, cost, reads and time', async () => {
    const run = await makeRun()
    await makeTask(run, 0, 'forty')
    await run.end()
    const { root, context } = await treeOf(run.folder)

    expect(viewBelow(root, context)).toMatchObject([
      {
        place: 'task/0',
        kind: 'task',
        text: 'label 0',
        status: 'done',
        duration_ms: 5,
        calls: 1,
        tokens: { input: 100, output: 10 },
        cost_usd: 0.01,
        uses: { 'file.read': 1 },
        parts: [
          { place: 'task/0/ask#0', kind: 'model', text: 'test::small', status: 'done', cost_usd: 0.01, parts: [] },
        ],
      },
    ])
  })

  it('shows prints, pins and labels at their places', async () => {
    const run = await makeRun()
    const at = placeAt('pre/0:a.aip/data')
    await run.effects.boundary(at, async () => {
      const pin = { type: 'pin', scope: 'run', id: 'x', priority: 1, label: 'Files:', content: '3 of 20' }
      run.journal.note({ k: 'show', p: placeText(at), event: pin })
      run.journal.note({ k: 'show', p: placeText(at), event: { type: 'print', name: 'a.aip', text: 'hello' } })
      run.journal.note({ k: 'show', p: placeText(at), event: { type: 'label', scope: 'task', label: 'Fix it' } })
    })
    await run.end()
    const { root, context } = await treeOf(run.folder)

    expect(viewBelow(root, context)).toMatchObject([
      {
        place: 'pre/0:a.aip/data',
        kind: 'section',
        shows: [
          { type: 'pin', label: 'Files:', text: '3 of 20' },
          { type: 'print', label: 'a.aip', text: 'hello' },
          { type: 'label', label: 'task', text: 'Fix it' },
        ],
      },
    ])
  })

  it('shows what failed and where, up to the part that did not finish', async () => {
    const run = await makeRun()
    const at = placeAt('pre/0:a.aip')
    const failing = run.effects.boundary(at, () =>
      run.effects.perform(
        placeAt('pre/0:a.aip/data#0'),
        effectOf({ kind: 'command', repeat: 'unsafe', request: { command: 'make', args: ['all'] } }),
        () => Promise.reject(new Error('no rule to make target')),
      ),
    )
    await expect(failing).rejects.toThrow('no rule')
    await run.end('error', 1)
    const { root, context } = await treeOf(run.folder)

    expect(viewBelow(root, context)).toMatchObject([
      {
        status: 'failed',
        error: null,
        parts: [{ kind: 'command', text: 'make all', status: 'failed', error: 'no rule to make target' }],
      },
    ])
  })

  it.each([
    [
      'an error of a script',
      new BatonError('SCRIPT_FAILED', 'my own message', { place: { file: '/w/a.lua', line: 2 } }),
    ],
    ['anything else that was thrown', new Error('my own message')],
  ])('shows why a part failed in which no call failed: %s', async (_, error) => {
    const run = await makeRun()
    const failing = run.effects.boundary(placeAt('pre/0:a.lua'), () =>
      run.effects
        .boundary(placeAt('pre/0:a.lua/chunk'), () => Promise.reject(error))
        .catch((caught: Error) => {
          throw new BatonError('AGENT_FAILED', `Sub-agent failed: ${caught.message}`)
        }),
    )
    await expect(failing).rejects.toThrow('my own message')
    await run.end('error', 1)
    const { root, context } = await treeOf(run.folder)

    const place = error instanceof BatonError ? { file: '/w/a.lua', line: 2 } : null
    const section = { place: 'pre/0:a.lua/chunk', status: 'failed', error: 'my own message', error_place: place }
    expect(viewBelow(root, context)).toMatchObject([
      { status: 'failed', duration_ms: 3, error: null, parts: [{ ...section, duration_ms: 1 }] },
    ])
  })

  it('shows the error of a part next to a handled error below it', async () => {
    const run = await makeRun()
    const at = placeAt('pre/0:a.lua/chunk')
    const failing = run.effects.boundary(at, async () => {
      await run.effects
        .boundary(placeAt('pre/0:a.lua/chunk/b.lua'), () => Promise.reject(new Error('first')))
        .catch(() => undefined)
      throw new Error('second')
    })
    await expect(failing).rejects.toThrow('second')
    await run.end('error', 1)
    const { root, context } = await treeOf(run.folder)
    expect(viewBelow(root, context)).toMatchObject([{ error: 'second', parts: [{ error: 'first' }] }])
  })

  it('shows the label of a failed task, and its error', async () => {
    const run = await makeRun()
    await run.effects.boundary(placeAt('task/0'), async () => ({ status: 'failed', label: 'src/f2.txt' }), {
      label: 'src/f2.txt',
      isFinal: () => false,
      failureIn: () => ({ code: 'BUDGET', message: 'too dear' }),
    })
    await run.end('error', 1)
    const { root, context } = await treeOf(run.folder)
    expect(viewBelow(root, context)).toMatchObject([{ text: 'src/f2.txt', status: 'failed', error: 'too dear' }])
  })

  it('does not show a part as failed if a later process has continued it', async () => {
    const runs = tempTree()
    const first = await makeRun({ runs })
    const failing = first.effects.boundary(placeAt('task/0'), () => Promise.reject(new Error('no')))
    await expect(failing).rejects.toThrow('no')
    await first.end('error', 1)
    const second = await makeRun({ runs })
    await ask(second, placeAt('task/0/ask#0'), { question: 'a', answer: 'b' })
    await second.journal.close()
    const { root, context } = await treeOf(second.folder)
    expect(viewBelow(root, context)).toMatchObject([{ status: 'unfinished', error: null }])
  })

  it('excludes breaks between processes from the time of a part', async () => {
    const runs = tempTree()
    const first = await makeRun({ runs, from: 1_000_000 })
    first.journal.note({ k: 'begin', p: 'task/0', key: {} })
    await ask(first, placeAt('task/0/ask#0'), { question: 'a', answer: 'b' })
    await first.journal.close()
    const second = await makeRun({ runs, from: 90_000_000 })
    await ask(second, placeAt('task/0/ask#1'), { question: 'c', answer: 'd' })
    second.journal.note({ k: 'done', p: 'task/0', value: {} })
    await second.end()
    const { root, context } = await treeOf(second.folder)
    // from the start to the end of the call, plus from the header of the second process on; each record takes one, as
    // does the header of the first process, which is written with the first durable record
    expect(viewBelow(root, context)).toMatchObject([{ duration_ms: 3 + 3, parts: [{ duration_ms: 2 }, {}] }])
  })

  it.each([
    { ms: 3, means: 'subtracts a time in which the machine slept', duration: 5 - 3 },
    { ms: -60_000, means: 'adds by how much the clock was set back', duration: 5 + 60_000 },
    { ms: 90_000, means: 'subtracts no more than there is', duration: 1 },
  ])('$means from the time of a part that goes on over it', async ({ ms, duration }) => {
    const run = await makeRun({ from: 1_000_000 })
    run.journal.note({ k: 'begin', p: 'task/0', key: {} })
    await ask(run, placeAt('task/0/ask#0'), { question: 'a', answer: 'b' })
    run.journal.note({ k: 'gap', ms })
    run.journal.note({ k: 'done', p: 'task/0', value: {} })
    await ask(run, placeAt('task/1/ask#0'), { question: 'a', answer: 'b' })
    await run.end()
    const { root, context } = await treeOf(run.folder)
    expect(viewBelow(root, context)).toMatchObject([{ duration_ms: duration }, {}])
  })

  it.each([
    ['done', 'done', null],
    ['found', 'done', null],
    ['fail', 'failed', 'it counts as failed, as chosen with --uncertain'],
    ['redo', 'unfinished', null],
  ] as const)(
    'uses the decision of a person or the state of the disk for an effect without an end: %s',
    async (choice, status, error) => {
      const run = await makeRun()
      const p = 'main/chunk#0'
      run.journal.note({ k: 'begin', p: 'main/chunk', key: {} })
      const n = run.journal.note({
        k: 'started',
        p,
        kind: 'command',
        repeat: 'unsafe',
        fp: 'x',
        request: { command: 'rm' },
      })
      run.journal.note({ k: 'choice', p, of: [1, n], choice })
      if (choice !== 'redo') run.journal.note({ k: 'done', p: 'main/chunk' })
      await run.end()
      const { root, context } = await treeOf(run.folder)
      expect(viewBelow(root, context)).toMatchObject([{ parts: [{ kind: 'command', status, error }] }])
    },
  )

  it('shows an error that a script handled only at the call', async () => {
    const run = await makeRun()
    await run.effects.boundary(placeAt('pre/0:a.lua/chunk'), async () => {
      const load = (): never => {
        throw new Error('there is no file b')
      }
      expect(() =>
        run.effects.observe(placeAt('pre/0:a.lua/chunk#0'), { name: 'aip.file.load', args: ['b'] }, load),
      ).toThrow()
    })
    await run.end()
    const { root, context } = await treeOf(run.folder)

    expect(viewBelow(root, context)).toMatchObject([{ status: 'done', error: null, uses: { 'aip.file.load': 1 } }])
  })

  it('counts a tool call once, whatever it has read, and does not count what was read to show it', async () => {
    const run = await makeRun()
    await run.effects.boundary(placeAt('task/0'), async () => {
      for (const index of [0, 1]) {
        const at = `task/0/agent/ask/turn/${index}/tool/0:read`
        run.effects.observe(placeAt(`${at}/0#0`), { name: 'read', args: {} }, () => 'text')
        await run.effects.call(placeAt(at), { name: 'read', args: {} }, async () => 'text')
      }
      const at = 'task/0/agent/ask/turn/2/tool/0:bash'
      run.effects.observe(placeAt(`${at}/plan`), { name: 'bash.preview', args: {} }, () => 'ls')
      await run.effects.call(placeAt(at), { name: 'bash', args: {} }, async () => 'files')
      run.effects.observe(placeAt('task/0/agent/ask/turn/3/tool/0:task/0#0'), { name: 'task', args: {} }, () => 'start')
    })
    await run.end()
    const { root, context } = await treeOf(run.folder)
    expect(viewBelow(root, context)).toMatchObject([{ uses: { read: 2, bash: 1, task: 1 } }])
    expect(Object.keys(viewBelow(root, context)[0]?.uses ?? {})).toHaveLength(3)
  })

  it('shows rerun work once, and counts the costs of both', async () => {
    const run = await makeRun()
    await makeTask(run, 0, 'first')
    await makeTask(run, 0, 'second')
    await run.end()
    const { root, context } = await treeOf(run.folder)

    const [task, ...others] = viewBelow(root, context)
    expect(others).toEqual([])
    expect(task).toMatchObject({ calls: 2, cost_usd: 0.02, uses: { 'file.read': 1 } })
    expect(task?.parts).toHaveLength(1)
  })

  it('keeps a limited number of finished parts and all unfinished ones', async () => {
    const run = await makeRun()
    for (let index = 0; index < 20; index += 1) {
      if (index !== 17) await makeTask(run, index, 'yes')
      else run.journal.note({ k: 'begin', p: 'task/17', key: {} })
    }
    await run.end('error', 1)
    const { root, context } = await treeOf(run.folder, { most: 3 })

    expect(viewBelow(root, context).map(({ place }) => place)).toEqual(['task/0', 'task/1', 'task/2', 'task/17'])
    expect(omittedIn(root)).toBe(16)
    expect(root.paid.calls).toBe(19)
  })

  it('omits damaged records and reports how many parts are affected', async () => {
    const { writeFileSync, readFileSync } = await import('node:fs')
    const run = await makeRun()
    await makeTask(run, 0, 'a')
    await makeTask(run, 1, 'b')
    await run.end()
    const file = `${run.folder}/j-000001.jsonl`
    writeFileSync(file, readFileSync(file, 'utf8').replace('question 0', 'question X'))
    const { root, context, damages } = await treeOf(run.folder)

    expect(damages).toBe(1)
    expect(viewBelow(root, context)).toMatchObject([{ place: 'task/0', parts: [] }, { place: 'task/1' }])
  })
})

it('goes on with each record that is added to the view, as if everything had been read again', async () => {
  const runs = tempTree()
  const first = await makeRun({ runs })
  await makeTask(first, 0, 'forty')
  const failing = first.effects.boundary(placeAt('task/1'), () => Promise.reject(new Error('no')))
  await expect(failing).rejects.toThrow('no')
  await first.end('error', 1)
  const second = await makeRun({ runs })
  await makeTask(second, 1, 'two')
  await second.end()

  const whole = openFileRecords(second.folder, { mask: noMask })
  const records: Parameters<ReturnType<typeof createRunView>['follow']>[] = []
  await whole.scan((...added) => void records.push(added))
  const { follow, view } = createRunView(whole, everything)
  for (const [index, added] of records.entries()) {
    follow(...added)
    const beginning = {
      ...whole,
      scan: async (visit: typeof follow) => {
        for (const one of records.slice(0, index + 1)) visit(...one)
        return []
      },
    }
    const again = await project(beginning, everything)
    expect(viewPlace(view([]).root, view([]))).toEqual(viewPlace(again.root, again))
  }
  whole.close()
})

describe('one part of a run', () => {
  it('has its prompts and answers, host calls with their results, and its value', async () => {
    const run = await makeRun()
    await makeTask(run, 0, 'forty')
    await makeTask(run, 1, 'two')
    await run.end()
    const { root, context } = await treeOf(run.folder, {
      keepsCalls: true,
      keeps: (place) => place.startsWith('task/1'),
    })
    const part = findNode(root, 'task/1')
    expect(findNode(root, 'task/0')).toBeUndefined()

    expect(part && viewPlace(part, context).details).toMatchObject([
      { place: 'task/1/ask/read', title: 'file.read("a.txt")', text: 'text of a' },
      { place: 'task/1/ask#0', title: 'prompt', text: '[model]\ntest::small\n\n[user]\nquestion 1' },
      { place: 'task/1/ask#0', title: 'answer', text: 'two\n'.trimEnd() },
      { place: 'task/1', title: 'value' },
    ])
  })

  it('says where a large value is missing, and shows the rest', async () => {
    const { rmSync } = await import('node:fs')
    const run = await makeRun()
    await ask(run, placeAt('task/0/ask#0'), { question: 'x'.repeat(100_000), answer: 'short' })
    await run.end()
    rmSync(`${run.folder}/blobs`, { recursive: true })
    const { root, context } = await treeOf(run.folder, { keepsCalls: true })
    const part = findNode(root, 'task/0/ask#0')

    const details = part ? viewPlace(part, context).details : []
    expect(details.map(({ title, text }) => `${title}: ${text}`)).toEqual([
      expect.stringMatching(/^prompt: \(.*is missing\)$/),
      'answer: short',
    ])
  })
})
