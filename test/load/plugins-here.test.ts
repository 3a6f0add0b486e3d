import { join } from 'node:path'
import { expect, it } from 'vitest'
import { builtInModes, pluginsHere } from '../../src/load/plugins-here.ts'
import { tempTree } from '../helpers/temp.ts'

const tool = `{ name: 'weather', description: 'Tells it.', parameters: { type: 'object' }, run: () => 'fine' }`

async function listed(toml: string) {
  const cwd = tempTree({
    '.git/HEAD': 'x',
    'baton.toml': 'model = "m"\n',
    'home/config/config.toml': toml,
    'home/config/good.mjs': `export default { id: 'good', setup: ({ tools }) => tools.register(${tool}) }`,
    'home/config/bad.mjs': 'throw new Error("broken on loading")',
  })
  const problems: string[] = []
  const home = join(cwd, 'home')
  const brought = await pluginsHere({ cwd, env: { BATON_HOME: home }, home, flags: { overrides: [] } }, (error) =>
    problems.push(error instanceof Error ? error.message : String(error)),
  )
  return { brought: brought.map(({ id, tools }) => [id, tools.map(({ name }) => name)]), problems }
}

it('lists what each plug-in of the config adds, and reports one that cannot be loaded without hiding the others', async () => {
  expect(await listed('plugins = ["bad.mjs", "good.mjs"]\n')).toEqual({
    brought: [['good', ['weather']]],
    problems: [expect.stringContaining('bad.mjs')],
  })
})

it('reports an invalid config file, and lists nothing', async () => {
  expect(await listed('plugins = 1\n')).toEqual({
    brought: [],
    problems: [expect.stringContaining('"plugins" must be')],
  })
})

it('knows the built-in modes by their ids', () => {
  expect(builtInModes().map(({ id }) => id)).toEqual(['classic', 'code'])
})
