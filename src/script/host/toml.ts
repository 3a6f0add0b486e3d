import { messageOf } from '../../base/error.ts'
import { isObject } from '../../base/json.ts'
import { stringifyToml } from '../../base/toml.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, isTable, luaTypeName, text } from './arguments.ts'
import { readToml } from './data-text.ts'
import type { HostModule } from './module.ts'
import { type PlainData, plainData, type PlainTable } from './plain-data.ts'

/** `aip.toml` (spec/aipack.md 6.2). Dates are read as text. Both act only to be able to wait for their code. */
export const tomlModule: HostModule = {
  name: 'aip.toml',
  functions: {
    /**
     * `aip.toml.parse(text) → table`
     * Reads TOML; dates are text. What cannot be read is an error that names the line.
     */
    parse: {
      effect: 'act',
      call: async ([value]) => {
        const content = text(value, 'aip.toml.parse', 'the text')
        return [await readToml({ text: content, what: 'the text', name: 'aip.toml.parse failed' })]
      },
    },
    /**
     * `aip.toml.stringify(table) → string`
     * A table as TOML, keys sorted. Lists at the top, null and NaN are errors, because TOML cannot say them.
     */
    stringify: { effect: 'act', tables: 'data', call: async ([value]) => [await writeToml(value)] },
  },
}

async function writeToml(value: LuaValue): Promise<string> {
  const name = 'aip.toml.stringify'
  if (!isTable(value)) throw argumentError(name, `TOML is written from a table, not from ${luaTypeName(value)}`)
  // an empty table is read as an empty list
  const data = Array.isArray(value) && value.length === 0 ? {} : value
  if (Array.isArray(data)) throw argumentError(name, 'TOML is written from a table with keys, not from a list')
  try {
    return await stringifyToml(withoutNull(plainData(data), 'the value') as PlainTable)
  } catch (error) {
    throw argumentError(name, messageOf(error))
  }
}

/** TOML has no null: saying so is better than leaving values out. */
function withoutNull(data: PlainData, where: string): PlainData {
  if (data === null) throw new Error(`${where} is null, which TOML cannot say`)
  if (Array.isArray(data)) data.forEach((item: PlainData, index) => withoutNull(item, `${where}[${index + 1}]`))
  else if (isObject(data)) {
    for (const [key, item] of Object.entries(data as PlainTable)) withoutNull(item, `${where}.${key}`)
  }
  return data
}
