import type { CommandIo } from '../io.ts'

/** `baton schema`: a JSON Schema on stdout (DESIGN 13). */
export async function schemaCommand(
  subject: 'prompt' | 'config' | 'events',
  { out }: Pick<CommandIo, 'out'>,
): Promise<number> {
  const schema =
    subject === 'events'
      ? (await import('../../event/event-schema.ts')).eventJsonSchema()
      : (await import('../../config/json-schema.ts')).configJsonSchema(subject)
  out(`${JSON.stringify(schema, null, 2)}\n`)
  return 0
}
