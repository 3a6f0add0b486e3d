import type { HostModule } from './module.ts'
import { shapeHelpers } from './shape-helpers.ts'
import { shapeKeys } from './shape-keys.ts'
import { shapeRecords } from './shape-records.ts'

/**
 * `aip.shape` (spec/aipack.md 6.2, vectors 84 to 87). In Lua, because some of it changes the record it is given, and
 * because the tables and functions in records are passed on as they are.
 */
export const shapeModule: HostModule = {
  name: 'aip.shape',
  functions: {},
  lua: { name: 'aip.shape', text: shapeText() },
}

function shapeText(): string {
  const functions = Object.entries({ ...shapeRecords, ...shapeKeys })
  return `${shapeHelpers}\naip.shape = {\n${functions.map(([name, code]) => `  ${name} = ${code.trim()},`).join('\n')}\n}\n`
}
