import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, it, onTestFinished, vi } from 'vitest'
import { root } from '../helpers/baton.ts'
import { type ModelReply, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { hasTmux, inTmux } from '../helpers/tmux.ts'

const ask = '+++\nmodel = "m"\nwrite_mode = "ask"\ncontext_globs = ["*.txt"]\n+++\nChange it.\n'
const change =
  '<FILE_CHANGES>\n<FILE_PATCH file_path="a.txt">\n@@\n-one\n+two\n</FILE_PATCH>\n</FILE_CHANGES>\n\nThat is all.'

it.skipIf(!hasTmux)(
  'a watch session in a terminal streams answers, stops a run for Ctrl-C, tells of saves, and sums up its runs (needs tmux)',
  async () => {
    const opened: (() => void)[] = []
    const gates = [1, 2, 3].map(() => new Promise<void>((resolve) => opened.push(resolve)))
    const server = await startModelServer((_, index): ModelReply => {
      const chunks = [`Answer ${index + 1}.\n`, 'Why not.\n\n', change]
      return { chunks, gateAfter: 3, ...(gates[index] === undefined ? {} : { gate: gates[index] }) }
    })
    onTestFinished(() => server.close())
    const cwd = tempTree({ '.git/HEAD': '', 'ask.md': ask, 'a.txt': 'one\n' })
    const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree(), BATON_LOCAL_SERVERS: 'off' }
    const command = `'${process.execPath}' '${join(root, 'dist/bin/baton.js')}' ask.md --watch`
    const { lines, type, output } = inTmux(command, env, cwd, 60)
    const screen = (): string => lines().join('\n')
    const sees = (text: string | RegExp): Promise<void> =>
      vi.waitFor(() => expect(screen()).toMatch(text), { timeout: 30_000, interval: 100 })

    // the first lines are there although the answer has not ended
    await sees(/── run 1 · \d{4}-\d\d-\d\d \d\d:\d\d:\d\d ──\nAnswer 1\.\nWhy not\.\n/)
    opened[0]?.()
    await sees(/write a\.txt\? .*$/)
    type('n', 'Enter')
    await sees(/declined a\.txt\n[^]*watching 2 files; press r or Enter to rerun, q to quit$/)
    // the changes are shown as a diff only, and the answer is not written once more
    expect(screen()).toMatch(/Why not\.\n\nThat is all\.\n│ Answer 1\.\n[^]*-one\n\+two\nwrite/)
    expect(screen()).not.toContain('FILE_PATCH')
    expect(screen().match(/^Why not\.$/gm)).toHaveLength(1)

    // Ctrl-C stops a run, and the session stays
    type('r')
    await sees(/── run 2 · .*\n(?:.*\n)?Answer 2\.\n/)
    type('C-c')
    await sees(/Answer 2\.\nWhy not\.\n[^]*stopped\n[^]*q to quit$/)

    // a save during a run is told, and one more run follows
    writeFileSync(join(cwd, 'a.txt'), 'one\nmore\n')
    await sees(/── run 3 · .*\n(?:.*\n)?Answer 3\.\n/)
    writeFileSync(join(cwd, 'a.txt'), 'one\nand more\n')
    await sees('saved a.txt: one more run follows this one')
    opened[2]?.()
    await sees(/saved a\.txt: [^]*write a\.txt\? .*$/)
    type('n', 'Enter')
    await sees(/── run 4 · [^]*write a\.txt\? .*$/)
    type('y', 'Enter')
    await sees(/── run 4 · [^]*q to quit$/)
    type('q')
    await sees(/session: 4 runs, 1 failed · .* tokens in, \d+ out\ncode 0$/)
    expect(stripVTControlCharacters(output()).match(/── run \d · /g)).toHaveLength(4)
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toMatch(/and more\n$/)
  },
  120_000,
)

it.skipIf(!hasTmux)('in a watch session Ctrl-D leaves a question open and keys still work (needs tmux)', async () => {
  const server = await startModelServer(() => ({ text: change }))
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': '', 'ask.md': ask, 'a.txt': 'one\n' })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree(), BATON_LOCAL_SERVERS: 'off' }
  const command = `'${process.execPath}' '${join(root, 'dist/bin/baton.js')}' ask.md --watch`
  const { lines, type } = inTmux(command, env, cwd, 60)
  const sees = (text: RegExp): Promise<void> =>
    vi.waitFor(() => expect(lines().join('\n')).toMatch(text), { timeout: 30_000, interval: 100 })

  await sees(/write a\.txt\? .*$/)
  for (const run of [2, 3]) {
    type('C-d')
    await sees(/waiting for approval: 1 call\n[^]*q to quit$/)
    type('r')
    await sees(new RegExp(`── run ${run} · [^]*write a\\.txt\\? [^\n]*$`))
  }
  type('n', 'Enter')
  await sees(/declined a\.txt\n[^]*q to quit$/)
  type('q')
  await sees(/session: 3 runs.*\n[^]*code 0$/)
})

it.skipIf(!hasTmux)('a question is shown again after Ctrl-Z and fg, and is answered there (needs tmux)', async () => {
  const server = await startModelServer(() => ({ text: change }))
  onTestFinished(() => server.close())
  const cwd = tempTree({ '.git/HEAD': '', 'ask.md': ask, 'a.txt': 'one\n' })
  const env = { BATON_GATEWAY_URL: server.url, BATON_HOME: tempTree(), BATON_LOCAL_SERVERS: 'off', PS1: '% ' }
  const { lines, type } = inTmux('bash --norc --noprofile -i', env, cwd, 60)
  const sees = (text: RegExp): Promise<void> =>
    vi.waitFor(() => expect(lines().join('\n')).toMatch(text), { timeout: 30_000, interval: 100 })

  await sees(/% $|%$/)
  type(`'${process.execPath}' '${join(root, 'dist/bin/baton.js')}' ask.md`, 'Enter')
  await sees(/write a\.txt\? .*$/)
  type('C-z')
  await sees(/Stopped [^]*%\s*$/)
  type('fg', 'Enter')
  await sees(/% fg\n[^]*write a\.txt\? .*$/)
  type('y', 'Enter')
  await sees(/write a\.txt\? .* y\n[^]*1 file changed/)
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('two\n')
})
