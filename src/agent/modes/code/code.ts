import type { JsonObject } from '../../../base/json.ts'
import type { PluginFunction } from '../../../event/plugin-tool.ts'
import type { ExecutionMode } from '../mode.ts'

/** Programs of one message when nothing says how many (R207). */
const usualRounds = 10

/** What `[code]` may hold (R215). */
const options: JsonObject = {
  type: 'object',
  properties: {
    timeout: { type: 'string', description: 'How long a program may work; waiting for its calls is not counted.' },
    memory_mb: { type: 'integer', minimum: 16, maximum: 1024 },
    eval_type: { enum: ['auto', 'global', 'module'] },
    stream: { type: 'boolean', description: 'Whether outputs are streamed as events.' },
    auto_approve: { type: 'boolean' },
  },
  additionalProperties: false,
}

/** The mode in which a model answers with programs, which are run until one of them is done (R167). */
export function codeMode(added: readonly PluginFunction[] = []): ExecutionMode {
  return {
    id: 'code',
    name: 'Code (JavaScript sandbox)',
    options,
    rounds: usualRounds,
    createExecutor: ({ services, maxRounds = usualRounds, options: given = {} }) =>
      services.executor(async (work) => {
        // most runs have no programs
        const { converseInPrograms } = await import('./loop.ts')
        return converseInPrograms(work, { maxRounds, options: given, added })
      }),
  }
}
