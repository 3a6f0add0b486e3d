import * as z from 'zod'
import { BatonError } from '../../base/error.ts'
import type { Json } from '../../base/json.ts'
import type { Prompt } from '../../event/prompt.ts'

const timed = { start: z.string(), end: z.string().exactOptional() }
const count = z.number().int().min(0)

const tool = z.object({
  type: z.literal('tool'),
  id: z.string(),
  function: z.string(),
  input: z.json(),
  result: z.discriminatedUnion('type', [
    z.object({ type: z.literal('pending'), reason: z.string().exactOptional() }),
    z.object({ type: z.literal('success'), output: z.string(), value: z.json().exactOptional() }),
    z.object({ type: z.literal('error'), error: z.string() }),
  ]),
  ...timed,
})

const text = z.object({
  type: z.literal('text'),
  text: z.string(),
  interim: z.literal(true).exactOptional(),
  ...timed,
})

const file = z.object({
  type: z.literal('file'),
  file: z.object({ type: z.literal('file'), name: z.string(), mediaType: z.string(), data: z.string() }),
  ...timed,
})

const promptSchema = z.object({
  id: z.string(),
  userId: z.string(),
  mode: z.string().default('classic'),
  model: z.string().min(1).default('normal'),
  visible: z.boolean().default(true),
  state: z.enum(['running', 'completed', 'waiting_for_approval', 'failed', 'cancelled']),
  input: z.string().exactOptional(),
  output: z.array(z.discriminatedUnion('type', [tool, text, file])).default([]),
  usage: z
    .object({
      calls: count,
      input: count,
      output: count,
      cached: count,
      reasoning: count,
      cache_write: count.exactOptional(),
      estimated: z.literal(true).exactOptional(),
    })
    .exactOptional(),
})

/**
 * Reads a prompt that was stored as JSON. Without a mode, as in older data, it is `classic`.
 * @throws BatonError USAGE if it is invalid
 */
export function readPrompt(value: Json): Prompt {
  const result = promptSchema.safeParse(value)
  if (result.success) return result.data as Prompt
  const [issue] = result.error.issues
  const where = (issue?.path ?? []).join('.')
  const problem = `${where === '' ? '' : `${where}: `}${issue?.message ?? 'wrong type'}`
  throw new BatonError('USAGE', `invalid prompt in the history: ${problem}`, {
    hint: 'Pass what AgentSession.prompts() or a conversation returned.',
  })
}
