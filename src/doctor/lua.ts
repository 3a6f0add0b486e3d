import type { Settings } from '../config/settings.ts'
import { createScriptLoader } from '../agent/script-loader.ts'
import { type Check, checksOf, type Patient } from './check.ts'

/** Loads the engine that is configured and lets it compute something. */
export async function checkLua({ lua }: Settings, { signal }: Patient): Promise<readonly Check[]> {
  const name = 'lua'
  try {
    const { engine, limits } = await createScriptLoader(lua)({ isInstalled: false })
    const state = engine.createState({ functions: [], modules: [], limits, seed: () => 0 })
    try {
      const [value] = await state.run({ name: 'doctor', text: 'return 6 * 7' }, {}, signal)
      if (value === 42) {
        return [
          {
            name,
            status: 'ok',
            message: `${engine.name} runs${lua.isolated === true ? ', in threads of its own' : ''}`,
          },
        ]
      }
      return [{ name, status: 'fail', message: `${engine.name} computes 6 * 7 wrongly`, hint: otherEngine(lua) }]
    } finally {
      state.close()
    }
  } catch (error) {
    signal.throwIfAborted()
    return checksOf(name, error).map((check) => ({ ...check, hint: otherEngine(lua) }))
  }
}

function otherEngine({ engine }: Settings['lua']): string {
  const other = engine === 'lua54' ? 'fengari' : 'lua54'
  return `Install Baton again, or set engine = "${other}" in [lua] of your config file.`
}
