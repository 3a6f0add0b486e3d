import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { openInEditor } from '../../../src/cli/commands/run.ts'
import { tempTree } from '../../helpers/temp.ts'

it('opens the file in the editor and continues', async () => {
  const cwd = tempTree({ 'editor.sh': '#!/bin/sh\necho "$1" > opened.tmp && mv opened.tmp opened.txt\n' })
  chmodSync(join(cwd, 'editor.sh'), 0o755)
  expect(
    openInEditor('/some/file.aip', { env: { EDITOR: join(cwd, 'editor.sh'), PATH: process.env['PATH'] }, cwd }),
  ).toBe(true)
  await vi.waitUntil(() => existsSync(join(cwd, 'opened.txt')), { timeout: 10_000 })
  expect(readFileSync(join(cwd, 'opened.txt'), 'utf8')).toBe('/some/file.aip\n')
})

it('reports a missing editor, and continues if the editor does not exist', () => {
  expect(openInEditor('a', { env: {}, cwd: '/' })).toBe(false)
  expect(openInEditor('a', { env: { EDITOR: '/none/such' }, cwd: '/' })).toBe(true)
})
