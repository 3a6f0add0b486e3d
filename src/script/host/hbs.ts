import { BatonError, messageOf, type SourcePlace } from '../../base/error.ts'
import type { LuaValue } from '../engine.ts'
import { luaToJson } from '../values.ts'
import { argumentError, text } from './arguments.ts'
import type { HostModule } from './module.ts'

const name = 'aip.hbs.render'

/** `aip.hbs` (spec/aipack.md 6.2, vector 79). It acts only to be able to wait for its code. */
export const hbsModule: HostModule = {
  name: 'aip.hbs',
  functions: {
    /**
     * `aip.hbs.render(template, data?) → string`
     * Fills in a Handlebars template as prompts are filled in: nothing is escaped, and what is missing is empty. A template
     * that cannot be read, and data that is no JSON (functions, NaN), are errors.
     */
    render: { effect: 'act', call: async ([template, data]) => [await render(text(template, name), data)] },
  },
}

async function render(template: string, data: LuaValue): Promise<string> {
  const { loadTemplates } = await import('../../prompt/template.ts')
  const templates = await loadTemplates()
  // the place is asked for to learn the line, and is not that of a file
  const place: SourcePlace = { file: 'template', line: 1 }
  try {
    return templates.render(template, luaToJson(data, 'the data'), place)
  } catch (error) {
    const line = error instanceof BatonError ? error.place?.line : undefined
    throw argumentError(name, messageOf(error) + (line === undefined ? '' : ` (line ${line} of it)`))
  }
}
