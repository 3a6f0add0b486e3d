import { listTools } from '../../authoring/tools.ts'
import type { Flags } from '../command-specs.ts'
import type { CommandIo } from '../io.ts'

/** `baton schema`: prints a JSON Schema. */
export async function schemaCommand(
  { subject = 'prompt' }: Flags<'schema'>,
  { out }: Pick<CommandIo, 'out'>,
): Promise<number> {
  const schema =
    subject === 'events'
      ? (await import('../../event/event.ts')).eventJsonSchema()
      : (await import('../../config/json-schema.ts')).configJsonSchema(subject, {
          tools: listTools().map(({ name }) => name),
        })
  out(`${JSON.stringify(schema, null, 2)}\n`)
  return 0
}
