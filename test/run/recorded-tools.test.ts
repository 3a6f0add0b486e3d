import { describe, expect, it } from 'vitest'
import { createMissingTools } from '../../src/run/recorded-tools.ts'
import { loadTarget } from '../../src/load/target.ts'
import { strategies } from '../../src/strategies/strategies.ts'
import { root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

const builtInDir = `${root}/agents`
const files = {
  '.git/HEAD': '',
  'ask.md':
    '+++\nmodel = "m"\ntools = ["read", "older"]\ndisallowed_tools = ["oldest"]\nsub_agents = [{ name = "a.md", stage = "pre" }]\n+++\nGo.\n',
  'a.md': '+++\nmodel = "m"\ntools = ["older"]\n+++\nGo.\n',
}

/** Loads a file of a run whose record knows these names. */
async function load(names: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const sent: unknown[] = []
  const gone = createMissingTools((name) => names.includes(name), { send: (_, event) => void sent.push(event) })
  const folder = tempTree({ ...files, ...more })
  const env = { BATON_HOME: `${folder}/.state` }
  const flags = { overrides: [], isRecordedTool: gone.accepts }
  await loadTarget({ strategies, builtInDir, file: 'ask.md', cwd: folder, home: folder, env, flags })
  return { gone, sent }
}

describe('tools that no longer exist in this version', () => {
  it('may be named by the files of a recorded run, with one warning', async () => {
    const { gone, sent } = await load(['older', 'oldest'])
    expect(sent).toEqual([])
    gone.tell()
    gone.accepts('older')
    const message = 'this version of Baton no longer has tools of this run: older, oldest'
    expect(sent).toEqual([expect.objectContaining({ type: 'warning', message })])
    expect(gone.accepts('read')).toBe(false)
  })

  it('are warned about when a file that names them is loaded during the run', async () => {
    const { gone, sent } = await load(['older', 'oldest', 'later'])
    gone.tell()
    gone.accepts('later')
    gone.accepts('later')
    expect(sent.slice(1)).toEqual([
      expect.objectContaining({ message: 'this version of Baton no longer has a tool of this run: later' }),
    ])
  })

  it('are refused if the record does not know them', async () => {
    await expect(load(['older'])).rejects.toThrow('unknown tool "oldest"')
    const inAgent = { 'a.md': '+++\nmodel = "m"\ntools = ["oldre"]\n+++\nGo.\n' }
    await expect(load(['older', 'oldest'], inAgent)).rejects.toThrow('unknown tool "oldre"')
  })
})
