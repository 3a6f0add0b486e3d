import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { RunEvent } from '../../src/event/event.ts'
import { startRun, type StartOptions } from '../../src/runner.ts'
import { resumeRun } from '../../src/wiring/resume.ts'
import { type ModelReply, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

async function world(files: Readonly<Record<string, string>>, answer: (index: number) => ModelReply) {
  const server = await startModelServer((_, index) => answer(index))
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': '', ...files })
  const around = { cwd, env: { BATON_HOME: join(cwd, '.state'), BATON_GATEWAY_URL: server.url }, home: cwd }
  const events: RunEvent[] = []
  let folder = ''
  return {
    server,
    events,
    start: (options: Partial<StartOptions> = {}) =>
      startRun('main.md', { ...around, model: 'm', onRecord: (kept) => void (folder = kept), ...options }, (event) =>
        events.push(event),
      ),
    resume: (overrides: readonly string[] = []) => resumeRun({ ...around, folder, overrides }, () => undefined),
  }
}

describe('the timeout of a run', () => {
  it('ends it as a reached limit, with finished work kept, and resume grants the whole time again', async () => {
    const { start, resume, server, events } = await world(
      { 'main.md': '+++\ntemplate = true\n+++\nSay fine.\n' },
      (index) => (index === 1 ? { text: 'never', stallAfter: 1 } : { text: 'fine' }),
    )
    const given = { inputs: ['one', 'two'], overrides: ['timeout=4s', 'input_concurrency=1'] }
    const report = await start(given)
    expect(report).toMatchObject({ exitCode: 4, stopReason: 'limit', canResume: true, error: { code: 'LIMIT' } })
    expect(report.error).toMatchObject({ message: 'the run took longer than its timeout, 4 s' })
    expect(report.tasks).toMatchObject([{ label: 'one', status: 'done' }])
    expect(events.at(-1)).toMatchObject({ type: 'run.failed', stop_reason: 'limit', exit_code: 4 })
    await server.closedByClient(1)
    expect(await resume(['timeout=1m'])).toMatchObject({
      exitCode: 0,
      tasks: [{ content: 'fine' }, { content: 'fine' }],
    })
    expect(server.requests).toHaveLength(3)
  })

  it('may be set in the file, and does not affect a run that is fast enough', async () => {
    const { start } = await world({ 'main.md': '+++\ntimeout = "1m"\n+++\nSay fine.\n' }, () => ({ text: 'fine' }))
    expect((await start()).exitCode).toBe(0)
  })

  it('is not reported for a run that was stopped from outside', async () => {
    const stop = new AbortController()
    const { start } = await world({ 'main.md': '+++\ntimeout = "1m"\n+++\nSay fine.\n' }, () => ({
      text: 'x',
      stallAfter: 1,
    }))
    const running = start({ signal: stop.signal })
    setTimeout(() => stop.abort(new DOMException('stop', 'AbortError')), 100)
    expect(await running).toMatchObject({ stopReason: 'cancelled', exitCode: 130 })
  })
})

describe('[prices]', () => {
  const config = '[prices]\n"m*" = { input = 100, output = 1000 }\n'
  const usage = { prompt_tokens: 1_000, completion_tokens: 100 }

  it('set the cost of models behind a gateway, and apply to a limit in dollars', async () => {
    const files = { 'main.md': 'Say fine.\n', '.config/baton/config.toml': config }
    const { start, events, server } = await world(files, () => ({ text: 'fine', usage }))
    const { BATON_HOME: _, ...env } = { BATON_HOME: '', BATON_GATEWAY_URL: server.url }
    const report = await start({ env, overrides: ['budget.usd=50'] })
    expect(report).toMatchObject({ exitCode: 0, costUsd: 0.2, unpriced: [] })
    expect(events.find(({ type }) => type === 'usage')).toMatchObject({ cost_usd: 0.2, total_cost_usd: 0.2 })
    const limited = await start({ env, overrides: ['budget.usd=0.5'] })
    expect(limited).toMatchObject({ exitCode: 4, stopReason: 'budget' })
  })

  it('are refused in files of a folder, because budgets depend on them', async () => {
    const { start, server } = await world({ 'main.md': 'Say fine.\n', 'baton.toml': config }, () => ({ text: 'fine' }))
    expect(await start()).toMatchObject({ exitCode: 6 })
    expect(server.requests).toEqual([])
  })
})
