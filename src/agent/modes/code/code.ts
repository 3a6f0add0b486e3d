import type { JsonObject } from '../../../base/json.ts'
import type { PluginFunction } from '../../../event/plugin-tool.ts'
import type { Mode } from '../mode.ts'

/** Default limit of programs for one message. */
const defaultRounds = 10

/** The keys of `[code]`. */
const options: JsonObject = {
  type: 'object',
  properties: {
    timeout: {
      type: 'string',
      description: 'How long a program may run, not counting the time it waits for its calls.',
    },
    memory_mb: { type: 'integer', minimum: 16, maximum: 1024 },
    eval_type: { enum: ['auto', 'global', 'module'] },
    stream: { type: 'boolean', description: 'Whether outputs are streamed as events.' },
    auto_approve: { type: 'boolean' },
  },
  additionalProperties: false,
}

/** The mode in which the model answers with programs, which are run until one calls `done()`. */
export function codeMode(added: readonly PluginFunction[] = []): Mode {
  return {
    id: 'code',
    name: 'Code (JavaScript sandbox)',
    options,
    rounds: defaultRounds,
    async open(given) {
      // loaded late, because most runs have no programs
      const { openCodeMode } = await import('./answer.ts')
      return openCodeMode(given, added)
    },
  }
}
