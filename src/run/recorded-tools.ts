import { isObject } from '../base/json.ts'
import type { Bus } from '../event/bus.ts'
import type { RunIndex } from '../journal/run-index.ts'

/** Whether a name is that of a tool that a recorded run knew. */
export type IsRecordedTool = (name: string) => boolean

/**
 * The names that the version that recorded a run accepted: those in its sources, and those of the tools that its models
 * were offered, because a cassette has no sources. Reads the record at the first name that is asked for.
 */
export function recordedTools({ records, modelStarts, source }: RunIndex): IsRecordedTool {
  let known: ReadonlySet<string> | undefined

  function read(): ReadonlySet<string> {
    const names = new Set<string>()
    for (const { value } of records('source')) {
      for (const text of textsIn(source.value(value))) {
        for (const [word] of text.matchAll(/[\w-]+/g)) names.add(word)
      }
    }
    for (const { request } of modelStarts()) {
      for (const name of offeredIn(source.value(request))) names.add(name)
    }
    return names
  }

  return (name) => (known ??= read()).has(name)
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

function offeredIn(request: unknown): readonly string[] {
  const tools = isObject(request) ? request['tools'] : undefined
  if (!Array.isArray(tools)) return []
  return (tools as readonly unknown[]).flatMap((tool) =>
    isObject(tool) && typeof tool['name'] === 'string' ? [tool['name']] : [],
  )
}

/** Accepts recorded names, and warns about them: once the run has started, for all that were accepted until then. */
export function createMissingTools(
  isRecorded: IsRecordedTool,
  bus: Pick<Bus, 'send'>,
): { readonly accepts: IsRecordedTool; readonly tell: () => void } {
  const accepted = new Set<string>()
  let hasStarted = false

  function send(names: readonly string[]): void {
    const message = `this version of Baton no longer has ${names.length === 1 ? 'a tool' : 'tools'} of this run: ${names.join(', ')}`
    bus.send([], { type: 'warning', message, hint: 'Recorded results are kept; a new call of it gets an error.' })
  }

  return {
    accepts(name) {
      if (!isRecorded(name)) return false
      if (hasStarted && !accepted.has(name)) send([name])
      accepted.add(name)
      return true
    },
    tell() {
      hasStarted = true
      if (accepted.size > 0) send([...accepted])
    },
  }
}
