import { expect, it } from 'vitest'
import { baton } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

function prompt(...keys: readonly string[]): string {
  return `+++\nmodel = "offline::extractive"\n${keys.join('\n')}\n+++\nDo it.\n`
}

it('uses the mode of a file, of --mode and of an agent (R209)', async () => {
  const cwd = tempTree({
    'file.md': prompt('mode = "clasic"'),
    'plain.md': prompt(),
    'a.aip': '# Options\n\n```toml\nmodel = "offline::extractive"\nmode = "nope"\n```\n\n# User\n\nDo it.\n',
  })
  const unknown = 'Unknown execution mode: '
  const file = await baton(['file.md'], { cwd })
  expect([file.code, file.stderr]).toEqual([2, expect.stringContaining(`${unknown}"clasic"\n  at file.md:3:8`)])
  expect(file.stderr).toContain('hint: Did you mean "classic"?')
  const checked = await baton(['check', 'file.md'], { cwd })
  expect([checked.code, checked.stdout]).toEqual([2, expect.stringContaining(`${unknown}"clasic"`)])
  const flag = await baton(['plain.md', '--mode', 'nope'], { cwd })
  expect([flag.code, flag.stderr]).toEqual([2, expect.stringContaining(`${unknown}"nope"`)])
  const agent = await baton(['a.aip'], { cwd })
  expect([agent.code, agent.stderr]).toEqual([2, expect.stringContaining(`${unknown}"nope"`)])
  expect(await baton(['file.md', '--mode', 'classic'], { cwd })).toMatchObject({ code: 0 })
})
