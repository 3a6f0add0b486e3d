import { describe, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { withServices } from '../../src/event/context.ts'
import { member, placeText } from '../../src/event/place.ts'
import type { PromptTarget } from '../../src/load/prompt-target.ts'
import { runPrompt } from '../../src/run/prompt-run.ts'
import { strategies } from '../../src/strategies/strategies.ts'
import { agentWorld, loadPromptFile } from '../helpers/agents.ts'
import { createFakeProvider } from '../helpers/fake-model.ts'
import { createRandom, oneOf, type Random } from '../helpers/random.ts'
import { core } from '../helpers/series.ts'
import { planPromptIn } from '../plan/helpers.ts'

/** A file and those that it names. */
type Files = { readonly [path: string]: string }

const child = '+++\nmodel = "offline::extractive"\nretry.max_attempts = 1\n+++\nGo on.\n'

function file(table: string, front = ''): Files {
  const keys = `model = "offline::extractive"\nretry.max_attempts = 1\n${front}\n`
  return { 'ask.md': `+++\n${keys}${table}\n+++\nDo it.\n`, 'child.md': child }
}

function workflow(random: Random): Files {
  const count = 2 + Math.floor(random() * 4)
  const steps = Array.from({ length: count }, (_, index) => {
    const needs = Array.from({ length: index }, (_one, need) => `"s${need}"`).filter(() => random() < 0.5)
    const isLater = needs.length > 0
    return [
      `[[workflow.step]]\nid = "s${index}"\nneeds = [${needs.join(', ')}]`,
      random() < 0.3 ? 'agent = "child.md"' : `instructions = "Say ${index}."`,
      random() < 0.2 ? 'for_each = \'{ "x", "y" }\'' : '',
      random() < 0.2 ? 'fallback = ["child.md"]' : '',
      random() < 0.3 ? 'retries = 1' : '',
      random() < 0.5 ? 'on_error = "continue"' : '',
      isLater ? `when = "${oneOf(random, ['success', 'success', 'failure', 'always', '#instruction > 3'])}"` : '',
    ].join('\n')
  })
  return file(steps.join('\n'))
}

function ensemble(random: Random): Files {
  const members = Array.from({ length: 2 + Math.floor(random() * 2) }, (_, index) =>
    random() < 0.3
      ? `[[ensemble.agents]]\nname = "m${index}"\nagent = "child.md"`
      : `[[ensemble.agents]]\nname = "m${index}"\nmodel = "offline::extractive"`,
  )
  const aggregate = oneOf(random, ['aggregate = "first"', 'aggregate = "synthesis"', 'aggregator = "child.md"'])
  const retries = Math.floor(random() * 2)
  return file(['[ensemble]', 'quorum = 1', aggregate, `retries = ${retries}`, ...members].join('\n'))
}

function iteration(random: Random): Files {
  const summarizer = oneOf(random, ['files', 'llm', 'child.md'])
  return file(`[iterate]\ncondition = "${1 + Math.floor(random() * 3)}"\nsummarizer = "${summarizer}"`)
}

/** The places below which a run may ask models, from the outline of the strategy of the file. */
async function outlinedPlaces(target: PromptTarget): Promise<readonly string[]> {
  const { settings, spec } = target
  const row = strategies.find(({ key }) => key === target.strategy?.row.key)
  const repeated = (await row?.outlineRepeated?.())?.ofPrompt(target)
  if (repeated !== undefined) {
    const summary = repeated.summary({ settings, instruction: '', answers: 0 })
    const times = Array.from({ length: repeated.times.at_most }, (_, index) => `iteration/${index}`)
    const [, , ...below] = summary?.at ?? []
    const asked = ['task/0/ask', ...(summary === undefined ? [] : [placeText(below)])]
    return times.flatMap((place) => asked.map((one) => `${place}/${one}`))
  }
  const state = { params: spec.params, prompts: [spec.document.instruction] }
  const files = { context: [], knowledge: [], structure: [], groups: undefined }
  const parts = (await row?.outline?.({ target, settings, state, files })) ?? []
  return parts.map(({ name, at = member(name) }) => placeText([{ kind: 'task', index: 0 }, at]))
}

/** Runs the file with a model that fails now and then. Returns where models were asked, and how often. */
async function asked(files: Files, fails: () => boolean) {
  const provider = createFakeProvider(() =>
    fails() ? { text: [], failure: new BatonError('MODEL_FAILED', 'cut off') } : { text: ['Yes.'] },
  )
  const { folder, context } = agentWorld(files, { provider })
  // a generated condition may contradict others
  const target = await loadPromptFile('ask.md', folder).catch(() => undefined)
  if (target === undefined) return undefined
  const places = await outlinedPlaces(target)
  const { total } = await planPromptIn(folder)
  const clock = { ...context.services.clock, sleep: async () => {} }
  const unwaiting = withServices(context, { clock })
  await runPrompt({ strategies, target, inputs: [], onOutcome: () => {} }, unwaiting).catch(() => {})
  const sent = context.sent.flatMap((event) =>
    event.type === 'agent.started' && event.kind === 'llm' ? [event.agent] : [],
  )
  return { places, sent, requests: provider.requests.length, bounds: total.requests }
}

describe('a run never leaves its outline', () => {
  const count = core(12, 150)
  it.each([
    ['workflow', workflow],
    ['ensemble', ensemble],
    ['iterate', iteration],
  ])('%s: models are asked only at its places, and as often as its plan says', async (_, generate) => {
    let valid = 0
    for (let seed = 0; seed < count; seed += 1) {
      const random = createRandom(seed)
      const files = generate(random)
      let failures = 0
      const share = oneOf(random, [0, 0.3])
      const run = await asked(files, () => {
        const isFailure = random() < share
        if (isFailure) failures += 1
        return isFailure
      })
      if (run === undefined) continue
      valid += 1
      const { places, sent, requests, bounds } = run
      const outside = sent.filter((at) => !places.some((place) => at === place || at.startsWith(`${place}/`)))
      const shown = `seed ${seed}\n${files['ask.md']}\n`
      expect([shown, outside]).toEqual([shown, []])
      expect(sent.length, shown).toBeGreaterThan(0)
      expect(requests, shown).toBeLessThanOrEqual(bounds.at_most ?? requests)
      if (failures === 0) expect(requests, shown).toBeGreaterThanOrEqual(bounds.at_least)
    }
    expect(valid).toBeGreaterThan(count / 2)
  })
})
