import { BatonError, messageOf, type SourcePlace } from '../../base/error.ts'
import type { LuaValue } from '../engine.ts'
import { luaToJson } from '../values.ts'
import type { HostCall } from './call.ts'
import { type HostModule, slow } from './module.ts'

/** `aip.hbs`. Its code is loaded on the first call. */
export const hbsModule: HostModule = {
  name: 'aip.hbs',
  functions: {
    /**
     * `aip.hbs.render(template, data?) → string`
     * Renders a Handlebars template the way prompts are rendered: nothing is escaped, and missing values are empty. It
     * is an error if the template is invalid or the data is not JSON (functions, NaN).
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
  // the place is used only for its line: the template is not a file
  const place: SourcePlace = { file: 'template', line: 1 }
  try {
    return templates.render(template, luaToJson(call.args[1], 'the data'), place)
  } catch (error) {
    const line = error instanceof BatonError ? error.place?.line : undefined
    throw call.error(messageOf(error) + (line === undefined ? '' : ` (line ${line} of it)`))
  }
}
