import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, type BatonOptions, jsonLines } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const trigger = (name: string, more = ''): string =>
  `[[trigger]]\nname = "${name}"\nfile = "${name}.md"\nfiles = ["none/**"]\n${more}\n`

const files = {
  '.git/HEAD': 'x\n',
  'good.md': '+++\nagent = "good.lua"\n+++\nHi\n',
  'good.lua': 'return "said"',
  'bad.md': '+++\nagent = "bad.lua"\n+++\nHi\n',
  'bad.lua': 'error("not today")',
  'asks.md': '+++\nagent = "asks.lua"\n[permission]\nbash = "ask"\n+++\nHi\n',
  'asks.lua': 'return "x"',
  'slow.md': '+++\nagent = "slow.lua"\n+++\nHi\n',
  'slow.lua': 'aip.file.save("begun.txt", "") while not aip.file.exists("go.txt") do end return "late"',
}
const config = [trigger('good'), trigger('bad'), trigger('slow'), trigger('gone')].join('')

function world() {
  const cwd = tempTree(files)
  const home = tempTree({ 'config/config.toml': config })
  const once = (name: string, options: Partial<BatonOptions> = {}, ...flags: readonly string[]) =>
    baton(['serve', '--once', name, ...flags], { cwd, env: { BATON_HOME: home }, process: 'own', ...options })
  return { cwd, once }
}

describe('baton serve --once', () => {
  it('starts a trigger, waits for its run and ends with its exit code', async () => {
    const { once } = world()
    const good = await once('good', {}, '--json')
    expect([good.code, jsonLines(good.stdout)]).toEqual([
      0,
      [{ trigger: 'good', run: expect.stringMatching(/^2\d{7}-/) as string, status: 'done', exit: 0 }],
    ])
    const bad = await once('bad')
    expect([bad.code, bad.stdout]).toEqual([1, expect.stringMatching(/bad\.md failed: .*not today/s) as string])
  })

  it('says what is wrong with one that cannot start anything', async () => {
    const { once } = world()
    const unknown = await once('nobody')
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      'error: this workspace has no trigger "nobody"\nhint: Its triggers: good, bad, slow, gone.\n',
    ])
    const gone = await once('gone')
    expect([gone.code, gone.stderr]).toEqual([2, expect.stringContaining('gone.md, which does not exist') as string])
  })

  it('stops its run with Ctrl-C, which can be resumed; meanwhile another start is skipped with exit code 5', async () => {
    const { cwd, once } = world()
    let second: ReturnType<typeof once> | undefined
    const first = await once('slow', {
      onError(_text, kill) {
        second ??= waitFor(() => existsSync(join(cwd, 'begun.txt')))
          .then(() => once('slow'))
          .finally(() => kill('SIGINT'))
      },
    })
    const skipped = await second
    expect([skipped?.code, skipped?.stderr]).toEqual([
      5,
      expect.stringMatching(/was not started: run \S+ is in progress/) as string,
    ])
    expect(first.code).toBe(130)
  })
})

async function waitFor(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 20))
}
