import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { finishInTurns, finishSteps } from '../../src/base/concurrency.ts'
import type { Settings } from '../../src/config/settings.ts'
import { allowanceOf, loadSteps } from '../../src/run/files.ts'
import { runPrompt } from '../../src/run/prompt-run.ts'
import { loadTarget } from '../../src/load/target.ts'
import { agentWorld, builtInDir, loadPromptFile } from '../helpers/agents.ts'
import { type TestContext, testContext } from '../helpers/context.ts'
import { tempTree } from '../helpers/temp.ts'
import { strategies } from '../../src/strategies/strategies.ts'

const count = 300
const names = Array.from({ length: count }, (_, index) => `d/f${index}.txt`)

async function world(limit: number): Promise<{ workspace: string; settings: Settings; context: TestContext }> {
  const workspace = tempTree({
    'p.md': `+++\ncontext_globs = ["d/**"]\nmax_files_size_kb = ${limit}\n+++\nHi\n`,
    ...Object.fromEntries(names.map((name) => [name, 'x'.repeat(100)])),
  })
  const around = { cwd: workspace, env: {}, home: workspace, builtInDir, flags: { overrides: [] } }
  const { settings } = await loadTarget({ strategies, ...around, file: 'p.md' })
  return {
    workspace,
    settings,
    context: testContext({ workspace, scope: { folders: { workspace, cwd: workspace, packRoots: [] } } }),
  }
}

const bytesRead = ({ records }: TestContext): number =>
  records.reduce((sum, record) => sum + (record.k === 'obs' && 'value' in record ? String(record.value).length : 0), 0)

describe('the files of a request', () => {
  it('are not read at all when the listed files are too large', async () => {
    const texts = Object.fromEntries(names.map((name) => [name, 'x'.repeat(100)]))
    const prompt = '+++\ncontext_globs = ["d/**"]\nmax_files_size_kb = 10\n+++\nHi\n'
    const { folder, context } = agentWorld({ 'p.md': prompt, ...texts })
    const target = await loadPromptFile('p.md', folder)
    const ran = runPrompt({ strategies, target, inputs: [], onOutcome: () => undefined }, context)
    await expect(ran).rejects.toThrow('the files of this request have 30 kB, more than max_files_size_kb = 10')
    const observed = context.records.flatMap((record) => (record.k === 'obs' ? [record.name] : []))
    expect(observed).toContain('file.list')
    expect(observed).not.toContain('file.read')
  })

  it('are read only up to the limit when they have grown since they were listed', async () => {
    const { workspace, settings, context } = await world(40)
    for (const name of names) writeFileSync(join(workspace, name), 'x'.repeat(1000))
    const loading = { settings, context, allowance: allowanceOf(settings) }
    expect(() => finishSteps(loadSteps(names, loading))).toThrow('have grown beyond max_files_size_kb = 40')
    expect(bytesRead(context)).toBe(41_000)
  })

  it('share one limit, whatever they are read for', async () => {
    const { settings, context } = await world(40)
    const loading = { settings, context, allowance: allowanceOf(settings) }
    expect(finishSteps(loadSteps(names, loading))).toHaveLength(count)
    expect(() => finishSteps(loadSteps(names, loading))).toThrow('have grown beyond')
  })

  it('are read in steps, so that a run can be stopped meanwhile', async () => {
    const { settings, context } = await world(40)
    const stop = new AbortController()
    const many = Array.from({ length: 100 }, () => names).flat()
    const reading = finishInTurns(loadSteps(many, { settings, context }), stop.signal)
    stop.abort(new Error('stopped'))
    await expect(reading).rejects.toThrow()
    expect(bytesRead(context)).toBeLessThan(many.length * 100)
  })
})
