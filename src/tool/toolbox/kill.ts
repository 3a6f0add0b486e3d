import { modelText } from '../../base/model-text.ts'
import { callPlace } from '../../event/place.ts'
import { findJob } from './bash-output.ts'
import { defineTool, type ToolOutput } from './kind.ts'

interface KillInput {
  readonly id: string
}

/** Ends a background command and everything it has started. */
export const kill = defineTool<KillInput>({
  name: 'kill',
  description: modelText`End a background command and all processes it has started.`,
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string', minLength: 1, description: modelText`The id that bash returned, such as bash_1.` },
    },
    required: ['id'],
    additionalProperties: false,
  },
  run({ id }, { context, box, at, permit }) {
    const input = { id }
    const action = { kind: 'tool', tool: 'kill', input } as const
    return context.services.effects.perform<ToolOutput>(
      callPlace(at, 0),
      { kind: 'tool', request: { tool: 'kill', input }, action, repeat: 'safe' },
      async () => {
        const job = findJob(id, box)
        if ('text' in job) return job
        if (job.end() !== undefined) return { text: modelText`${id} had already ended; bash_output shows how` }
        await job.running.stop()
        await job.running.ended
        return { text: modelText`${id} was ended; bash_output shows what it had printed` }
      },
      permit,
    )
  },
})
