import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { RunEvent } from '../src/event/event.ts'
import { startRun } from '../src/runner.ts'
import { tempTree } from './helpers/temp.ts'

/** One run in a folder with these files; `state` is where runs are stored. */
async function runIn(files: Readonly<Record<string, string>>, options: Partial<Parameters<typeof startRun>[1]> = {}) {
  const cwd = tempTree(files)
  const events: RunEvent[] = []
  const surroundings = { cwd, env: { BATON_LOCAL_SERVERS: 'off' }, home: cwd }
  const report = await startRun('main.md', { ...surroundings, ...options }, (event) => events.push(event))
  return { cwd, report, events }
}

it('runs in memory, with a warning, when no record can be created', async () => {
  for (const runs of ['a-file/runs', '/proc/no-such/runs']) {
    const cwd = tempTree({ 'a-file': '' })
    const folder = runs.startsWith('/') ? runs : join(cwd, runs)
    const { report, events } = await runIn({ 'main.md': 'Say fine.' }, { model: 'offline::extractive', runs: folder })
    expect(report).toMatchObject({ exitCode: 0, canResume: false, hasActed: true })
    const warnings = events.filter(({ type }) => type === 'warning')
    expect(warnings).toMatchObject([{ message: expect.stringContaining('this run is not recorded') }])
    expect(existsSync(folder)).toBe(false)
  }
})
