import { isBatonError, rewordError, type SourcePlace } from '../base/error.ts'
import type { ScriptAgent } from '../event/agent.ts'
import type { AipBlock } from '../prompt/aip.ts'

/** Runs a section of an agent. Errors without a place are about its return value, and get the section's place. */
export async function inSection<T>(
  agent: ScriptAgent,
  block: AipBlock | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (block === undefined || !isBatonError(error) || error.place !== undefined) throw error
    throw rewordError(error, { place: placeOfReturn(agent, block, error.message) })
  }
}

/** The line of the function named in the message, if it occurs once; else the first line of the section. */
function placeOfReturn({ file, text }: ScriptAgent, block: AipBlock, message: string): SourcePlace {
  const name = /aip\.flow\.\w+/.exec(message)?.[0]
  const lines = block.text.split('\n')
  const calls = name === undefined ? [] : lines.flatMap((line, index) => (line.includes(name) ? [index + 1] : []))
  const [line, second] = calls
  if (name === undefined || line === undefined || second !== undefined) return { file, line: block.line, text }
  const column = (lines[line - 1] ?? '').indexOf(name) + 1
  return { file, line, column, endLine: line, endColumn: column + name.length, text }
}
