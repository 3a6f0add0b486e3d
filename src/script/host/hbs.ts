import { BatonError, messageOf, type SourcePlace } from '../../base/error.ts'
import type { LuaValue } from '../engine.ts'
import { luaToJson } from '../values.ts'
import type { HostCall } from './call.ts'
import { type HostModule, slow } from './module.ts'

/** `aip.hbs`. Its code is loaded at the first call. */
export const hbsModule: HostModule = {
  name: 'aip.hbs',
  functions: {
    /**
     * `aip.hbs.render(template, data?) → string`
     * Fills in a Handlebars template as prompts are filled in: nothing is escaped, and what is missing is empty. A template
     * that cannot be read, and data that is no JSON (functions, NaN), are errors.
     */
    render: slow(render, { isSlow }),
  },
}

async function isSlow([template, data]: readonly LuaValue[]): Promise<boolean> {
  if (typeof template !== 'string') return false
  const { isSlowTemplate } = await import('../../prompt/slow-template.ts')
  return isSlowTemplate(template, data)
}

async function render(call: HostCall): Promise<LuaValue> {
  const template = call.text(0)
  const { loadTemplates } = await import('../../prompt/template.ts')
  const templates = await loadTemplates()
  // the place is asked for to learn the line, and is not that of a file
  const place: SourcePlace = { file: 'template', line: 1 }
  try {
    return templates.render(template, luaToJson(call.args[1], 'the data'), place)
  } catch (error) {
    const line = error instanceof BatonError ? error.place?.line : undefined
    throw call.error(messageOf(error) + (line === undefined ? '' : ` (line ${line} of it)`))
  }
}
