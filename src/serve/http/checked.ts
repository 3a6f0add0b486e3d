import type { z } from 'zod'
import { Refusal } from '../refusal.ts'

/**
 * Validates what a client has sent against a schema.
 * @throws Refusal 400 that names the field and the problem
 */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  const [issue] = error.issues
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.map(String).join('.')}: `
  throw new Refusal(400, `${where}${issue?.message ?? 'invalid'}`, {
    hint: '/openapi describes the expected format.',
  })
}
