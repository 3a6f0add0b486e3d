import { readText } from '../../tool/workspace-reads.ts'
import type { LuaValue } from '../engine.ts'
import { argumentsToJson } from '../values.ts'
import { pathText } from './arguments.ts'
import { readToml, readYaml, type TextSource } from './data-text.ts'
import type { ModuleFunction } from './module.ts'
import { sectionPath } from './section-path.ts'

/** The functions of `aip.file` that read TOML and YAML (spec/aipack.md 6.2); YAML is a list of its documents. */
export const dataFunctions: { readonly [name: string]: ModuleFunction } = {
  /**
   * `aip.file.load_toml(path) → table`
   * Reads a TOML file; dates are text. What cannot be read is an error that names file and line.
   */
  load_toml: loading('load_toml', readToml),
  /**
   * `aip.file.load_yaml(path) → list`
   * Reads a YAML file as the list of its documents, also when there is one. What cannot be read is an error that names
   * file and line.
   */
  load_yaml: loading('load_yaml', readYaml),
}

function loading(short: string, read: (source: TextSource) => Promise<LuaValue>): ModuleFunction {
  const name = `aip.file.${short}`
  return {
    effect: 'act',
    call: async (args, section, at) => {
      const { context } = section
      const text = context.effects.observe(at, { name, args: argumentsToJson(args) }, () =>
        readText(sectionPath(args[0], { name }, section), context),
      )
      return [await read({ text, what: pathText(args[0], name), name })]
    },
  }
}
