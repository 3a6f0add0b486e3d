import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadPlugins } from '../../src/agent/plugins/load.ts'
import { tempTree } from '../helpers/temp.ts'

/** Loads a plug-in that adds a function of this name to programs. */
async function namesOf(name: string): Promise<readonly string[]> {
  const module = `export default {
    id: 'p',
    setup: ({ functions }) =>
      functions.register({ name: ${JSON.stringify(name)}, description: 'Does something.', run: () => 1 }),
  }`
  const { functions } = await loadPlugins([join(tempTree({ 'p.mjs': module }), 'p.mjs')])
  return functions.map((one) => one.name)
}

describe('the name of a function that a plug-in adds to programs', () => {
  it.each(['ticket', 'read_all', '$'])('may be %s', async (name) => {
    expect(await namesOf(name)).toEqual([name])
  })

  it.each(['class', 'await', 'undefined', 'JSON', 'Date', 'parseInt', 'tools', 'input', 'parallel', '2d', 'a b', ''])(
    'cannot be %j, which programs cannot use or already have',
    async (name) => {
      await expect(namesOf(name)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(`a function cannot be named "${name}"`) as string,
      })
    },
  )

  it('cannot be the name of a built-in function', async () => {
    await expect(namesOf('recall')).rejects.toThrow('programs already have a function "recall"')
  })
})
