import { modelText } from '../../base/model-text.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { callPlace } from '../../event/place.ts'
import { statusText } from '../shell/end-text.ts'
import type { Job } from '../shell/jobs.ts'
import { defineTool, type Toolbox, type ToolCall, type ToolOutput } from './kind.ts'
import { printedOutput } from './printed.ts'

interface OutputInput {
  readonly id: string
  /** Seconds. */
  readonly wait?: number
}

const mostSeconds = 600

/** Shows what a background command has printed since the last call, and whether it is still running. */
export const bashOutput = defineTool<OutputInput>({
  name: 'bash_output',
  description: modelText`Show the new output of a background command since the last call, and whether it is still running or how it ended.`,
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string', minLength: 1, description: modelText`The id that bash returned, such as bash_1.` },
      wait: {
        type: 'number',
        minimum: 0,
        maximum: mostSeconds,
        description: modelText`Seconds to wait for its end; default: 0.`,
      },
    },
    required: ['id'],
    additionalProperties: false,
  },
  run({ id, wait = 0 }, call) {
    const { context, box, at } = call
    const { effects, signal } = context.services
    return effects.observeAsync(callPlace(at, 0), { name: 'bash_output', args: [id] }, async () => {
      const job = findJob(id, box)
      if ('text' in job) return job
      await atMost(wait * 1000, job.running.ended, signal)
      return stateOf(job, call)
    })
  },
})

/** The job with that name, or an output that says why there is none. */
export function findJob(id: string, { shell: { jobs } }: Toolbox): Job | ToolOutput {
  const job = jobs.find(id)
  if (job === 'gone') {
    return {
      text: modelText`${id} was ended with the process of the run that had started it: start it again`,
      isError: true,
    }
  }
  if (job !== undefined) return job
  const known = jobs.ids()
  const others = known.length === 0 ? ': none was started' : `; known commands: ${known.join(', ')}`
  return { text: modelText`there is no command ${id} in the background${others}`, isError: true }
}

function stateOf(job: Job, call: ToolCall): ToolOutput {
  const ended = job.end()
  const { text, kept } = printedOutput(
    job.running.output,
    { nothing: '[nothing new]', runs: ended === undefined },
    call,
  )
  const state = ended === undefined ? 'is running' : `has ended: ${statusText(ended, undefined) ?? 'exit code 0'}`
  return { text: `${job.id} ${state}\n${text}`, ...(kept === undefined ? {} : { kept }) }
}

async function atMost(ms: number, ended: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (ms === 0) return
  const done = new AbortController()
  const time = sleep(ms, undefined, { signal: AbortSignal.any([signal, done.signal]) }).catch(() => undefined)
  await Promise.race([time, ended])
  done.abort()
  signal.throwIfAborted()
}
