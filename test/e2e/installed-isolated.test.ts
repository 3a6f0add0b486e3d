import { expect, it } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const endless = '# Output\n\n```lua\nreturn (("a"):rep(40):find(("a?"):rep(40) .. ("a"):rep(40)))\n```\n'

it('a script of an installed pack is ended at its limit whatever it does', async () => {
  const cwd = tempTree({
    '.git/HEAD': '',
    'pack/pack.toml': '[pack]\nnamespace = "demo"\nname = "endless"\nversion = "1.0.0"\n',
    'pack/main.aip': endless,
    'pack/quick.aip': '# Output\n\n```lua\nreturn "quick"\n```\n',
  })
  for (const args of [
    ['pack', 'pack', '-o', 'endless.aipack'],
    ['install', 'endless.aipack', '--workspace', '-y'],
  ]) {
    const { code, stderr } = await baton(args, { cwd })
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')])
  }
  const ended = await baton(['demo@endless', '-c', 'lua.timeout=200ms'], { cwd, process: 'own' })
  expect([ended.code, ended.stderr]).toEqual([4, expect.stringContaining('the script ran longer than 200 ms')])

  expect((await baton(['demo@endless/quick', '-c', 'lua.memory_mb=64'], { cwd })).stdout).toBe('quick\n')
}, 30_000)
