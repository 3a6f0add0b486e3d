import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { type HttpServed, serveTree } from '../helpers/http-served.ts'

const files = {
  'say.md': '+++\nagent = "say.lua"\n+++\nHi\n',
  'say.lua': 'return "said"',
  'src/a.txt': 'one\n',
}

const often = '[[trigger]]\nname = "often"\nfile = "say.md"\ncron = "0 3 * * *"\n'
const changes = '[[trigger]]\nname = "changes"\nfile = "say.md"\nfiles = ["src/**"]\n'
const hook = (secret: string): string => `[[trigger]]\nname = "hook"\nfile = "say.md"\nsecret_env = "${secret}"\n`

type Listed = readonly Record<string, unknown>[]

const listed = async ({ get }: HttpServed): Promise<Listed> =>
  (await get('/api/triggers')).body['triggers'] as unknown as Listed

const names = async (served: HttpServed) => (await listed(served)).map(({ name }) => name)

function write({ home }: HttpServed, text: string): void {
  writeFileSync(join(home, 'config/config.toml'), text)
}

describe('a server whose config changes', () => {
  it('follows a trigger that is added, and no longer one that is removed', async () => {
    const served = await serveTree(files)
    expect(await names(served)).toEqual([])
    write(served, `${often}${changes}`)
    await vi.waitFor(async () => expect(await names(served)).toEqual(['often', 'changes']), 10_000)
    await vi.waitFor(async () => {
      writeFileSync(join(served.folder, 'src/a.txt'), String(Math.random()))
      expect((await listed(served))[1]).toMatchObject({ last: { cause: 'files', status: 'done' } })
    }, 10_000)
    write(served, often.replace('0 3', '0 4'))
    await vi.waitFor(async () => expect(await listed(served)).toMatchObject([{ when: '0 4 * * *' }]), 10_000)
    const before = (await served.get('/api/runs')).body['runs'] as readonly unknown[]
    writeFileSync(join(served.folder, 'src/a.txt'), 'unnoticed')
    expect((await served.post('/api/triggers/changes/start')).status).toBe(404)
    expect((await served.post('/api/triggers/often/start')).body).toMatchObject({ state: 'started' })
    const after = (await served.get('/api/runs')).body['runs'] as readonly unknown[]
    expect(after).toHaveLength(before.length + 1)
  })

  it('keeps the triggers while the config cannot be used, and says so once', async () => {
    const served = await serveTree(files, { config: often })
    write(served, 'trigger = [')
    const problem = /^The config files cannot be used, so the triggers are those of before: /
    await vi.waitFor(async () => expect((await served.get('/api/triggers')).body['problem']).toMatch(problem), 10_000)
    expect(await names(served)).toEqual(['often'])
    write(served, changes)
    await vi.waitFor(async () => expect(await names(served)).toEqual(['changes']), 10_000)
    expect((await served.get('/api/triggers')).body['problem']).toBeNull()
    expect(served.problems).toEqual([expect.stringMatching(problem)])
  })

  it('notices that the file of a trigger appears or is gone', async () => {
    const served = await serveTree(files, { config: often.replace('say.md', 'later.md') })
    expect(await listed(served)).toMatchObject([{ state: 'invalid' }])
    writeFileSync(join(served.folder, 'later.md'), files['say.md'])
    await vi.waitFor(async () => expect(await listed(served)).toMatchObject([{ state: 'ready' }]), 10_000)
    rmSync(join(served.folder, 'later.md'))
    await vi.waitFor(async () => expect(await listed(served)).toMatchObject([{ state: 'invalid' }]), 10_000)
  })

  it('says that a webhook that is new needs a restart, because runs may see its secret until then', async () => {
    const env = { ONE_SECRET: 'the first secret of a hook', TWO_SECRET: 'the second secret of a hook' }
    const served = await serveTree(files, { config: hook('ONE_SECRET'), env })
    expect(await listed(served)).toMatchObject([{ state: 'ready' }])
    write(served, hook('TWO_SECRET'))
    await vi.waitFor(
      async () =>
        expect(await listed(served)).toMatchObject([
          {
            state: 'invalid',
            problem: expect.stringMatching(/gets its secret TWO_SECRET when baton serve is started again/) as string,
          },
        ]),
      10_000,
    )
    write(served, hook('ONE_SECRET'))
    await vi.waitFor(async () => expect(await listed(served)).toMatchObject([{ state: 'ready' }]), 10_000)
  })
})
