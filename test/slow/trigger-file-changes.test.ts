import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import type { Trigger } from '../../src/config/triggers.ts'
import { followFiles } from '../../src/serve/triggers/file-changes.ts'
import { tempTree } from '../helpers/temp.ts'
import { type HttpServed, serveTree } from '../helpers/http-served.ts'

const files = {
  'docs/a.md': 'a\n',
  'src/x.ts': 'x\n',
  'see.md': '+++\nagent = "see.lua"\n+++\nHi\n',
  // it writes into what is watched, with a program as well
  'see.lua':
    'aip.file.append("seen.txt", "x"); aip.file.append("docs/made.md", "made\\n"); aip.cmd.exec("sh", {"-c", "echo y >> docs/by-program.md"}) return "done"',
  'slow.md': '+++\nagent = "slow.lua"\n+++\nHi\n',
  'slow.lua': 'aip.file.append("seen.txt", "x"); while not aip.file.exists("go.txt") do end return "done"',
}

const trigger = (file: string, more = ''): string =>
  `[[trigger]]\nname = "docs"\nfile = "${file}"\nfiles = ["docs/**/*.md", "!docs/private/**"]\n${more}\n`

const seen = ({ folder }: HttpServed): number => {
  try {
    return readFileSync(join(folder, 'seen.txt'), 'utf8').length
  } catch {
    return 0
  }
}

const untilSeen = (served: HttpServed, count: number) => vi.waitFor(() => expect(seen(served)).toBe(count), 10_000)

interface Seen {
  readonly state: string
  readonly waiting: number
  readonly last: { readonly about: string; readonly outcome: string } | null
}

async function stateOf(served: HttpServed): Promise<Seen> {
  const { body } = await served.get('/api/triggers')
  return (body['triggers'] as readonly Seen[])[0] as Seen
}

/** A change that counts, after others: if one of those had counted, it would be named as well, or have started a run. */
async function change(served: HttpServed, text: string, count: number): Promise<void> {
  writeFileSync(join(served.folder, 'docs/a.md'), text)
  await untilSeen(served, count)
  expect(await stateOf(served)).toMatchObject({ last: { about: 'docs/a.md', outcome: 'started' } })
  await untilReady(served)
}

async function untilReady(served: HttpServed): Promise<void> {
  await vi.waitFor(async () => expect((await stateOf(served)).state).toBe('ready'), 10_000)
}

describe('files that change', () => {
  it('start a trigger when saved, created and removed, and nothing that a run of Baton has written does', async () => {
    const served = await serveTree(files, { config: trigger('see.md') })
    await change(served, 'one\n', 1)
    // another run of this workspace, which the trigger has not started
    const { body } = await served.post('/api/runs', { file: 'see.md' })
    await vi.waitFor(async () => {
      expect((await served.get(`/api/runs/${String(body['id'])}`)).body).toMatchObject({ run: { status: 'done' } })
    }, 10_000)
    await change(served, 'two\n', 3)
    mkdirSync(join(served.folder, 'docs/new/inner'), { recursive: true })
    writeFileSync(join(served.folder, 'docs/new/inner/b.md'), 'b\n')
    await untilSeen(served, 4)
    await untilReady(served)
    rmSync(join(served.folder, 'docs/a.md'))
    await untilSeen(served, 5)
    expect(await stateOf(served)).toMatchObject({ last: { about: 'docs/a.md' } })
  })

  it('that do not match, or have their old content, start nothing', async () => {
    const served = await serveTree({ ...files, 'docs/private/p.md': 'p' }, { config: trigger('see.md') })
    for (const path of ['src/x.ts', 'docs/a.txt', 'docs/private/p.md'])
      writeFileSync(join(served.folder, path), 'new\n')
    writeFileSync(join(served.folder, 'docs/a.md'), 'a\n')
    await change(served, 'one\n', 1)
  })

  it('while its run is in progress start one more run with overlap = "queue", and none by default', async () => {
    const queued = await serveTree(files, { config: trigger('slow.md', 'overlap = "queue"') })
    writeFileSync(join(queued.folder, 'docs/a.md'), 'one\n')
    await untilSeen(queued, 1)
    for (const text of ['two\n', 'three\n']) {
      writeFileSync(join(queued.folder, 'docs/a.md'), text)
      await vi.waitFor(async () => expect((await stateOf(queued)).waiting).toBe(1), 10_000)
    }
    writeFileSync(join(queued.folder, 'go.txt'), '')
    await untilSeen(queued, 2)

    const skipped = await serveTree(files, { config: trigger('slow.md') })
    writeFileSync(join(skipped.folder, 'docs/a.md'), 'one\n')
    await untilSeen(skipped, 1)
    writeFileSync(join(skipped.folder, 'docs/b.md'), 'two\n')
    writeFileSync(join(skipped.folder, 'go.txt'), '')
    await untilReady(skipped)
    await change(skipped, 'three\n', 2)
  })

  it('are reported if they cannot be followed: globs that lead out of the workspace', async () => {
    const stop = new AbortController()
    const told = await new Promise<unknown>((resolve) => {
      void followFiles({
        trigger: { overlap: 'skip' } as unknown as Trigger,
        globs: ['../**/*.md'],
        workspace: tempTree(files),
        around: { env: {}, home: tempTree() },
        fire: async () => ({ kind: 'queued' }),
        over: async () => undefined,
        onReady: () => undefined,
        onProblem: resolve,
        signal: stop.signal,
      })
    })
    stop.abort()
    expect(told).toMatchObject({ code: 'OUTSIDE_WORKSPACE' })
  })
})
