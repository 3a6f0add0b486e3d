import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { tempTree } from '../helpers/temp.ts'

/** A copy of what the quick start reads, so that the prompt file can be changed. */
function copy(change: (prompt: string) => string = (prompt) => prompt): string {
  const folder = tempTree({ '.git/HEAD': 'x' })
  for (const path of ['src', 'docs', 'README.md', 'ARCHITECTURE.md'])
    cpSync(join(root, path), join(folder, path), { recursive: true })
  writeFileSync(join(folder, 'quickstart.md'), change(readFileSync(join(root, 'pipelines/quickstart.md'), 'utf8')))
  return folder
}

async function answer(change?: (prompt: string) => string): Promise<string> {
  const { code, stdout } = await baton(['quickstart.md', '-m', 'offline::extractive'], { cwd: copy(change) })
  expect(code).toBe(0)
  return stdout
}

describe('pipelines/quickstart.md', () => {
  it('answers with quotes of real files, with their actual lines', async () => {
    const folder = copy()
    const { stdout, stderr } = await baton(['quickstart.md', '-m', 'offline::extractive'], { cwd: folder })
    expect(stderr).toBe('')
    const quotes = [...stdout.matchAll(/^### (\S+):(\d+)-(\d+)\n\n(`{3,})\w*\n([\s\S]*?)\n\4$/gm)]
    expect(quotes.length).toBeGreaterThanOrEqual(3)
    for (const [, path = '', first, last, , text = ''] of quotes) {
      const lines = readFileSync(join(folder, path), 'utf8')
        .split('\n')
        .slice(Number(first) - 1, Number(last))
      // the end of a very long line is left out
      const shown = text.split('\n').map((line, index) => {
        const start = line.replace(/ \[…\]$/, '')
        return line !== start && lines[index]?.startsWith(start) === true ? lines[index] : line
      })
      expect(shown).toEqual(lines)
    }
    expect(stdout).toMatch(/References: \d+ checked, all exist\./)
  })

  it('has nothing to quote without context-builder', async () => {
    expect(await answer((prompt) => prompt.replace(/^.*context-builder.*\n/m, ''))).not.toMatch(/^### \S+:\d+-\d+$/m)
  })

  it('checks no references without reference-checker', async () => {
    expect(await answer((prompt) => prompt.replace(/^.*reference-checker.*\n/m, ''))).not.toContain('References:')
  })
})
