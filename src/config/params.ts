import { isJsonObject, type JsonObject } from '../base/json.ts'
import { editDistance, foldKey } from '../base/suggest.ts'
import type { Finding } from './issue.ts'
import { isReserved, reserved } from './keys.ts'

export interface Params {
  readonly params: JsonObject
  /** Where each is written. */
  readonly paths: readonly (readonly string[])[]
  readonly findings: readonly Finding[]
}

/**
 * Keys that are not reserved, joined by those of `[params]`, which are taken as they are (DESIGN 3 "Unknown keys").
 * Findings: keys that were surely meant as reserved ones, and names in `[params]` that are taken.
 */
export function readParams(data: JsonObject): Params {
  const top = Object.entries(data).filter(([key]) => !isReserved(key))
  const table = data['params'] ?? {}
  const findings = top.flatMap(([key]) => misspelt(key))
  if (!isJsonObject(table)) return { params: Object.fromEntries(top), paths: [], findings: [...findings, notATable] }

  const clashes = Object.keys(table).flatMap((key) => clash(key, data))
  const paths = [...top.map(([key]) => [key]), ...Object.keys(table).map((key) => ['params', key])]
  return { params: Object.fromEntries([...top, ...Object.entries(table)]), paths, findings: [...findings, ...clashes] }
}

const notATable: Finding = {
  code: 'CONFIG_INVALID',
  message: '"params" must be a table',
  hint: 'Write [params] and one key = value on each line below it.',
  path: ['params'],
  part: 'value',
}

/** A key that was surely meant as a reserved one: it differs by case, `-` or `_`, or by one edit from a long one. */
function misspelt(key: string): readonly Finding[] {
  const folded = foldKey(key)
  const names = [...reserved.keys()]
  const meant =
    names.find((name) => foldKey(name) === folded) ??
    names.find((name) => name.length >= 6 && editDistance(key, name, 1) === 1)
  if (meant === undefined) return []
  return [
    {
      code: 'CONFIG_INVALID',
      message: `unknown key "${key}"; did you mean "${meant}"?`,
      hint: `Write ${meant}; if it really is a parameter of yours, put it below [params].`,
      path: [key],
      part: 'key',
    },
  ]
}

function clash(key: string, data: JsonObject): readonly Finding[] {
  const path = ['params', key]
  if (isReserved(key)) {
    const message = `"${key}" in [params] is the name of a reserved key`
    return [{ code: 'CONFIG_INVALID', message, hint: 'Choose another name.', path, part: 'key' }]
  }
  if (!Object.hasOwn(data, key)) return []
  const message = `"${key}" is given twice: at the top level and in [params]`
  return [{ code: 'CONFIG_INVALID', message, hint: 'Keep one of them.', path, part: 'key' }]
}

/** The warning for a parameter of a file that names nobody who could read it. */
export function withoutReader(path: readonly string[]): Finding {
  const key = path.at(-1) ?? ''
  // short keys are no errors when they are mistyped, because so many words are near to them
  const meant = [...reserved.keys()].find((known) => editDistance(key, known, 1) === 1)
  const question = meant === undefined ? '' : ` Did you mean "${meant}"?`
  return {
    code: 'CONFIG_INVALID',
    message: `nothing reads the parameter "${key}"`,
    hint: `Name an agent in sub_agents that reads it, or remove it.${question}`,
    path,
    part: 'key',
  }
}
