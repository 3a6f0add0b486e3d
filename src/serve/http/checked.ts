import type { z } from 'zod'
import { Refusal } from './refusal.ts'

/**
 * What a client has sent, as a schema has it.
 * @throws Refusal 400 that says what is wrong where
 */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  const [issue] = error.issues
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.map(String).join('.')}: `
  throw new Refusal(400, `${where}${issue?.message ?? 'not as expected'}`, {
    hint: '/openapi describes what is expected.',
  })
}
