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
    parse: {
      effect: 'act',
      call: async ([value]) => {
        const content = optionalText(value, 'aip.yaml.parse', 'the text')
        if (content === undefined) return [undefined]
        return [await readYaml({ text: content, what: 'the text', name: 'aip.yaml.parse failed' })]
      },
    },
    stringify: {
      effect: 'act',
      tables: 'data',
      call: async ([value]) => [await writeDocuments([value], 'aip.yaml.stringify')],
    },
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
