import { expect, it } from 'vitest'
import { BatonError } from '../../../src/base/error.ts'
import { withServices } from '../../../src/event/context.ts'
import type { JournalRecord } from '../../../src/journal/record.ts'
import { runPrompt } from '../../../src/run/prompt-run.ts'
import { loadPromptFile } from '../../helpers/agents.ts'
import { createFakeProvider } from '../../helpers/fake-model.ts'
import { liveOnce } from '../../helpers/mortal-process.ts'
import { core } from '../../helpers/series.ts'
import { tempTree } from '../../helpers/temp.ts'
import { strategies } from '../../../src/strategies/strategies.ts'
import type { TaskOutcome } from '../../../src/run/strategy.ts'

/** An ensemble of three models, of which `c` fails. */
function ensembleWorld(keys: string) {
  const members = ['a', 'b', 'c'].map((name) => `[[ensemble.agents]]\nname = "${name}"\nmodel = "${name}"\n`)
  const text = `+++\nmodel = "main"\n${keys}\n${members.join('')}+++\nWhat is it?\n`
  const folder = tempTree({ '.git/HEAD': 'x', 'three.md': text })
  const provider = createFakeProvider(({ model }) =>
    model === 'c'
      ? { text: [], failure: new BatonError('MODEL_FAILED', 'no such luck') }
      : { text: [model === 'main' ? '"all"' : '"one"'] },
  )
  /** One process: undefined if it died. */
  const live = async (records: JournalRecord[], lives = Infinity) => {
    const target = await loadPromptFile('three.md', folder)
    return liveOnce({ provider, records, lives, workspace: folder }, async ({ context: all, repeated }) => {
      const tasks: TaskOutcome[] = []
      const keep = (task: TaskOutcome): void => void tasks.push(task)
      const context = { scope: { ...all.scope, at: [] }, services: withServices(all, {}).services }
      await runPrompt({ strategies, target, inputs: [], onOutcome: keep, onFailure: keep }, context)
      const [task] = tasks
      return { content: task?.status === 'done' ? task.content : task?.status, repeated: repeated.length }
    })
  }
  // a call that failed was not paid for
  return { live, paid: () => provider.requests.filter(({ model }) => model !== 'c').length }
}

const output = '[output]\nschema = { type = "string" }\n'

it.each([
  ['a synthesis', '[ensemble]', '"all"'],
  ['a vote', `${output}[ensemble]\naggregate = "vote"`, '"one"'],
  ['the first that passes a check', '[ensemble]\ncheck = "grep -q one"', '"one"'],
])('an ensemble with %s that is killed at any record repeats no paid call', async (_, keys, content) => {
  const whole: JournalRecord[] = []
  const calm = ensembleWorld(keys)
  expect(await calm.live(whole)).toEqual({ content, repeated: 0 })
  expect(whole.length).toBeGreaterThan(5)
  let again = 0
  for (let lives = core(1, 0); lives < whole.length; lives += core(4, 1)) {
    const { live, paid } = ensembleWorld(keys)
    const records: JournalRecord[] = []
    expect(await live(records, lives), `killed after ${lives} records`).toBeUndefined()
    const before = paid()
    const resumed = await live(records)
    expect(resumed?.content, `killed after ${lives} records`).toBe(content)
    // only what was in flight is requested again
    expect(paid() - calm.paid(), `killed after ${lives} records`).toBeLessThanOrEqual(resumed?.repeated ?? 0)
    again += paid() - before
    const settled = paid()
    expect(await live(records)).toMatchObject({ content, repeated: 0 })
    expect(paid(), 'what is over asks nobody').toBe(settled)
  }
  expect(again).toBeGreaterThan(0)
})
