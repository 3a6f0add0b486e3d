import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readdirSync } from 'node:fs'
import { resumeRun } from '../../src/wiring/resume.ts'
import { startRun } from '../../src/runner.ts'
import { tempTree } from '../helpers/temp.ts'

const files = {
  '.git/HEAD': 'x',
  'a.txt': 'one',
  'b.txt': 'two',
  'ask.md':
    '+++\nmodel = "offline::extractive"\nsub_agents = [{ name = "./small.md", stage = "pre", as = "append" }]\n+++\nSay it.\n',
}

function small(budget: string): string {
  return `+++\nmodel = "offline::extractive"\nworking_globs = ["*.txt"]\ninput_concurrency = 1\n[budget]\n${budget}\n+++\nRead it.\n`
}

function around(folder: string) {
  return { cwd: folder, env: { BATON_HOME: join(folder, '.state') }, home: folder }
}

describe('the budget of a prompt file that runs as an agent', () => {
  it('applies to the calls below it, but not to those of its caller', async () => {
    const folder = tempTree({ ...files, 'small.md': small('calls = 2') })
    const report = await startRun('ask.md', around(folder), () => {})
    expect(report.exitCode).toBe(0)
    expect(report.usage.calls).toBe(3)
  })

  it('ends the run when it is used up, like the budget of the run', async () => {
    const folder = tempTree({ ...files, 'small.md': small('calls = 1') })
    const report = await startRun('ask.md', around(folder), () => {})
    expect(report).toMatchObject({ exitCode: 4, stopReason: 'budget' })
    expect(report.usage.calls).toBe(1)
  })

  it('is limited by that of the run', async () => {
    const folder = tempTree({ ...files, 'small.md': small('calls = 5') })
    const report = await startRun('ask.md', { ...around(folder), overrides: ['budget.calls=1'] }, () => {})
    expect(report).toMatchObject({ exitCode: 4, stopReason: 'budget' })
    expect(report.usage.calls).toBe(1)
  })

  it('includes what was spent before a run was resumed', async () => {
    const folder = tempTree({ ...files, 'small.md': small('calls = 1') })
    const first = await startRun('ask.md', around(folder), () => {})
    const runs = join(folder, '.state/state/runs')
    const [workspace = ''] = readdirSync(runs)
    const again = await resumeRun({ folder: join(runs, workspace, first.runId), ...around(folder) }, () => {})
    expect(again).toMatchObject({ exitCode: 4, stopReason: 'budget' })
    expect(again.usage.calls).toBe(1)
  })

  it('needs prices if it is in dollars', async () => {
    const folder = tempTree({ ...files, 'small.md': small('usd = 1') })
    const report = await startRun('ask.md', around(folder), () => {})
    expect(report.exitCode).toBe(0)
  })
})
