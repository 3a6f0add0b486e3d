import { messageOf } from '../../base/error.ts'
import { stringifyYaml } from '../../base/yaml.ts'
import type { LuaValue } from '../engine.ts'
import { argumentError, list, optionalText } from './arguments.ts'
import { readYaml } from './data-text.ts'
import type { HostModule } from './module.ts'
import { plainData } from './plain-data.ts'

/** `aip.yaml` (spec/aipack.md 6.2). All of it acts only to be able to wait for its code. */
export const yamlModule: HostModule = {
  name: 'aip.yaml',
  functions: {
    /**
     * `aip.yaml.parse(text?) → list?`
     * Reads YAML as the list of its documents, also when there is one. nil for nil; what cannot be read is an error
     * that names the line.
     */
    parse: {
      effect: 'act',
      call: async ([value]) => {
        const content = optionalText(value, 'aip.yaml.parse', 'the text')
        if (content === undefined) return [undefined]
        return [await readYaml({ text: content, what: 'the text', name: 'aip.yaml.parse failed' })]
      },
    },
    /**
     * `aip.yaml.stringify(value) → string`
     * The value as one YAML document, keys sorted. Functions and NaN are errors.
     */
    stringify: {
      effect: 'act',
      tables: 'data',
      call: async ([value]) => [await writeDocuments([value], 'aip.yaml.stringify')],
    },
    /**
     * `aip.yaml.stringify_multi_docs(documents) → string`
     * The values of a list as YAML documents, with `---` between them.
     */
    stringify_multi_docs: {
      effect: 'act',
      tables: 'data',
      call: async ([value]) => {
        const name = 'aip.yaml.stringify_multi_docs'
        return [await writeDocuments(list(value, name, 'the documents'), name)]
      },
    },
  },
}

async function writeDocuments(documents: readonly LuaValue[], name: string): Promise<string> {
  try {
    return await stringifyYaml(documents.map((document) => plainData(document)))
  } catch (error) {
    throw argumentError(name, messageOf(error))
  }
}
