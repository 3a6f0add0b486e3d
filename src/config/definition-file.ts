import type { JsonObject } from '../base/json.ts'
import { type PromptDocument, placeOf } from '../prompt/document.ts'
import type { DefinitionPart } from './agent-definitions.ts'
import { isCommand, misplacedKeys } from '../settings/agents.ts'
import { BatonError } from '../base/error.ts'
import { translateForeign } from './foreign-agent.ts'

interface WrittenDefinition {
  readonly document: PromptDocument
  readonly path: string
  readonly from: 'user' | 'workspace' | 'pack'
  readonly isTrusted: boolean
}

/**
 * The definition in a prompt file of a folder `agents/`: a model with the instruction of the file, or a command line.
 * @throws BatonError UNTRUSTED for a program that comes with a workspace or pack, CONFIG_INVALID
 */
export async function readDefinitionFile(
  written: WrittenDefinition,
): Promise<Pick<DefinitionPart, 'values' | 'foreignTools'>> {
  const { document } = written
  const { data } = document.meta
  const { instruction } = document
  if (isCommand(data)) return { values: await commandValues(data, written) }
  const own = instruction === '' ? {} : { instructions: instruction }
  const foreign = await translateForeign(document)
  if (foreign !== undefined) return { values: { ...foreign.data, ...own }, foreignTools: foreign.leftOut }
  return { values: { ...data, ...own } }
}

async function commandValues(
  data: JsonObject,
  { document, from, isTrusted, path }: WrittenDefinition,
): Promise<JsonObject> {
  const key = data['command'] === undefined ? 'preset' : 'command'
  const place = await placeOf(document, [key], 'key')
  if (from === 'pack') {
    const hint = 'Define it in your own config file, in [agents].'
    throw new BatonError('UNTRUSTED', `"${key}" may not be set by an agent of a pack`, { place, hint })
  }
  if (!isTrusted) {
    const hint = `If you want it, look at the file and run baton trust ${path}, or define it in your own config file.`
    throw new BatonError('UNTRUSTED', `"${key}" may not be set by ${document.file}: the file is not trusted`, {
      place,
      hint,
    })
  }
  const [misplaced] = misplacedKeys(data).filter((name) => name !== 'name')
  if (misplaced !== undefined) {
    throw new BatonError(
      'CONFIG_INVALID',
      `"${misplaced}" does not apply to a command line, which has its own settings`,
      {
        place: await placeOf(document, [misplaced], 'key'),
        hint: `Remove ${misplaced}, or give the program a flag for it in args.`,
      },
    )
  }
  if (document.instruction !== '') {
    throw new BatonError('CONFIG_INVALID', 'a command line takes no instructions', {
      place: { file: document.file, line: document.instructionLine, text: document.text },
      hint: 'Remove the text below the front matter, or pass it in args.',
    })
  }
  return data
}
