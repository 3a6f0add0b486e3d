import { describe, expect, it } from 'vitest'
import { BatonError } from '../../../src/base/error.ts'
import { defaults } from '../../../src/settings/keys.ts'
import { settingsOf } from '../../../src/config/settings.ts'
import type { JsonObject } from '../../../src/base/json.ts'
import type { AgentExecutor, AgentRequest, AgentResult } from '../../../src/event/agent.ts'
import type { RunContext } from '../../../src/event/context.ts'
import { noUsage } from '../../../src/event/message.ts'
import { summarize } from '../../../src/strategies/iterate/summarize.ts'
import { testContext } from '../../helpers/context.ts'
import { iterateSettings } from '../../helpers/iteration.ts'
import type { ResolvedAgent } from '../../../src/load/definitions.ts'

const done = { iteration: 1, success: true, files: ['a.ts'], task: 'the task', answers: ['the answer'] }
const byFiles = 'Iteration 1 succeeded. Modified 1 file(s): 1 .ts file(s).'
const spent = { model: 'm', usage: { ...noUsage, calls: 1, output: 7 }, costUsd: 0.5 }
const file = { kind: 'prompt', name: 'sum.md', file: '/sum.md', text: 'Sum up.', builtIn: false } as const
const settings = settingsOf(defaults as unknown as JsonObject, { workspace: '/nowhere' })

/** Summarizes with an agent that does this. */
async function summarized(answer: (request: AgentRequest) => AgentResult, summarizer?: ResolvedAgent) {
  const requests: AgentRequest[] = []
  const run = async (request: AgentRequest, context: RunContext): Promise<AgentResult> => {
    requests.push(request)
    context.services.meter.add(context.scope.at, spent)
    return answer(request)
  }
  const context = testContext({ agents: { run, open: () => expect.unreachable() } as unknown as AgentExecutor })
  const iteration = {
    settings: iterateSettings({ summarizer: summarizer === undefined ? 'llm' : 'sum.md' }),
    ...(summarizer === undefined ? {} : { summarizer }),
  }
  const summary = await summarize(done, iteration, settings, context)
  const warnings = context.sent.flatMap((event) => (event.type === 'warning' ? [event.message] : []))
  return { summary, warnings, requests }
}

const modelText = (text: string): AgentResult => ({ kind: 'model', text }) as unknown as AgentResult
const fileText = (text: string): AgentResult => ({ kind: 'prompt', end: 'done', text }) as unknown as AgentResult

describe('a summary', () => {
  it('lists the files without asking a model', async () => {
    const iteration = { settings: iterateSettings() }
    expect(await summarize(done, iteration, settings, testContext())).toMatchObject({ text: byFiles })
  })

  it('is written by a model, with its first sentence for the commit, and its cost', async () => {
    const { summary, warnings, requests } = await summarized(() => modelText('Added v1.2 auth.\nTests pass. '))
    expect(summary).toMatchObject({ text: 'Added v1.2 auth. Tests pass.', subject: 'Added v1.2 auth', spent })
    expect(warnings).toEqual([])
    expect(JSON.stringify(requests)).toContain('the task')
    expect(JSON.stringify(requests)).toContain('the answer')
  })

  it('is written by a prompt file, which gets all data of the iteration', async () => {
    const { summary, requests } = await summarized(() => fileText('Short!'), file)
    expect(summary).toMatchObject({ text: 'Short!', subject: 'Short!', spent })
    expect(requests).toMatchObject([{ kind: 'prompt', inputs: [{ value: done }] }])
  })

  it.each([
    ['answers nothing', () => modelText(' \n'), 'the answer was empty or too long'],
    ['answers too much', () => modelText('x'.repeat(2001)), 'the answer was empty or too long'],
    ['fails', () => fails('the model is gone'), 'the model is gone'],
  ])('lists the files if the model or agent %s, which is paid nevertheless', async (_, answer, why) => {
    const { summary, warnings } = await summarized(answer)
    expect(summary).toEqual({ text: byFiles, spent })
    expect(warnings).toEqual([`the summary of iteration 1 only lists its files: ${why}`])
  })

  it('ends nothing that must continue: only errors that stop the run are thrown', async () => {
    await expect(
      summarized(() => {
        throw new BatonError('SUSPENDED', 'waiting for an approval')
      }),
    ).rejects.toMatchObject({ code: 'SUSPENDED' })
  })
})

function fails(message: string): never {
  throw new BatonError('MODEL_FAILED', message)
}
