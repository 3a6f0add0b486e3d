import { messageOf } from '../../base/error.ts'
import { appendToFile } from '../../tool/workspace-files.ts'
import { fileStatus, readText } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, list, pathText } from './arguments.ts'
import { fileInfo } from './file-info.ts'
import { jsonText } from './json-text.ts'
import { parseJsonLines } from './json.ts'
import type { ModuleFunction } from './module.ts'
import { sectionPath } from './section-path.ts'

/** The functions of `aip.file` for files with one JSON value on each line (spec/aipack.md 6.2, vectors 54 and 75). */
export const jsonLineFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.load_ndjson(path) → list`
   * Reads a file with one JSON value on each line; blank lines are skipped. JSON is strict here, and an error names the
   * line.
   */
  load_ndjson: {
    effect: 'observe',
    call: ([path], section) => {
      const name = 'aip.file.load_ndjson'
      const text = readText(sectionPath(path, { name }, section), section.context)
      return [parseJsonLines(text, `${name}: ${pathText(path, name)}`)]
    },
  },
  /**
   * `aip.file.append_json_line(path, value) → FileInfo`
   * Adds one line with the value as JSON, its keys sorted; the file is made when it is missing.
   */
  append_json_line: appending('append_json_line', (value, name) => jsonLine(value, name)),
  /**
   * `aip.file.append_json_lines(path, values) → FileInfo`
   * Adds one line for each value of a list; an empty list still makes the file.
   */
  append_json_lines: appending('append_json_lines', (values, name) =>
    list(values, name, 'the values')
      .map((value) => jsonLine(value, name))
      .join(''),
  ),
}

function appending(short: string, textOf: (value: LuaValue, name: string) => string): ModuleFunction {
  const name = `aip.file.${short}`
  return {
    effect: 'act',
    tables: 'data',
    call: ([path, value], section, at) => {
      const { context } = section
      const target = sectionPath(path, { name }, section)
      appendToFile(target, textOf(value, name), { context, at })
      return [fileInfo(target, fileStatus(target, context))]
    },
  }
}

function jsonLine(value: LuaValue, name: string): string {
  try {
    return `${jsonText(value)}\n`
  } catch (error) {
    throw argumentError(name, messageOf(error))
  }
}
