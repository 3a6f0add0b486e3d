import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { WireFormatName } from '../../../src/event/message.ts'
import { startConversationHost } from '../conversation-host.ts'
import { tempTree } from '../temp.ts'
import { readJournal } from './journal-state.ts'
import { type Disturbance, play } from './play.ts'
import { makeWorldOf } from './scenario.ts'
import type { Trial } from './trial.ts'

/** A conversation that is killed. */
export interface TalkingTry {
  readonly at: string
  readonly format: WireFormatName
  readonly turns: number
  readonly disturb: readonly Disturbance[]
}

export interface TalkingTrial extends Trial {
  /** Operations on the journal during the last start. */
  readonly operations: number
}

interface End {
  readonly text: string
  readonly messages: number
  readonly repeated: readonly string[]
}

/**
 * Runs the conversation in processes that are all killed except the last, and reports what was paid for twice without
 * need.
 */
export async function tryTalking({ format, turns, disturb }: TalkingTry): Promise<TalkingTrial> {
  const host = await startConversationHost(format, { turns })
  try {
    const world = makeWorldOf({ 'baton.toml': '' }, tempTree())
    const problems: string[] = []
    const repeated: string[] = []
    const paid = new Set<string>()
    let stops = 0
    let operations = 0
    let end: End | undefined
    for (const one of [...disturb, undefined]) {
      const [asked, read] = [[...host.asked], readsIn(world.outside).length]
      const options = { world, url: 'http://127.0.0.1:9', script: 'talking.mjs', ...(one && { disturb: one }) }
      const { code, stdout, stderr, operations: done } = await play([JSON.stringify(host.choice)], options)
      operations = done.length
      for (const [turn, count] of host.asked.entries()) {
        if (paid.has(`turn/${turn}#0`) && count !== asked[turn]) problems.push(`I3: turn ${turn} was asked again`)
      }
      for (const place of readsIn(world.outside).slice(read)) {
        if (paid.has(place)) problems.push(`I3: ${place} was read again`)
      }
      for (const record of (await readJournal(world))?.records ?? []) {
        if (record.k !== 'ended' || record.status !== 'ok') continue
        paid.add(record.kind === 'model' ? (/turn\/\d+#0$/.exec(record.p ?? '')?.[0] ?? '') : (record.p ?? ''))
      }
      if (code === null) stops += 1
      else if (code !== 0) problems.push(`I5: exit ${code}: ${stderr}`)
      else {
        end = JSON.parse(stdout) as End
        repeated.push(...end.repeated)
        break
      }
    }
    const calls = host.turns.reduce((sum, turn) => sum + turn.calls.length, 0)
    // one user's and one system message, an answer for each turn, a result for each call
    if (end?.text !== 'All files are read.' || end.messages !== 2 + turns + calls) {
      problems.push(`I5: it came to ${JSON.stringify(end)}`)
    }
    const twice = host.asked.flatMap((count, turn) => (count > 1 ? [`turn/${turn}#0`] : []))
    const unlisted = disturb.length > 1 ? [] : twice.filter((turn) => !repeated.some((place) => place.endsWith(turn)))
    problems.push(...unlisted.map((turn) => `I4: ${turn} was asked twice, and is not listed`))
    return { problems: [...problems, ...host.problems.map((one) => `I5: ${one}`)], stops, operations }
  } finally {
    await host.close()
  }
}

function readsIn(outside: string): readonly string[] {
  const file = join(outside, 'reads.txt')
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
}
