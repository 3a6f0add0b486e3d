import { join } from 'node:path'
import { expect, it } from 'vitest'
import { settingsOf } from '../../src/config/settings.ts'
import { readDiff } from '../../src/event/hunks.ts'
import { afterReview } from '../../src/run/review-changes.ts'
import { defaults } from '../../src/settings/keys.ts'
import { testContext } from '../helpers/context.ts'
import { tempTree } from '../helpers/temp.ts'

it('after a review the model gets what was decided about each change, and only files that it was shown before', () => {
  const folder = tempTree({ 'a.txt': 'A\n', 'secret.txt': 'hunter2\n' })
  const { hunks } = readDiff('--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A\n@@ -9 +9 @@\n-b\n+B\n')
  const part = { success: true, kind: 'Patch', declined_hunks: [2] } as const
  const decision = { hunks: [1], remarks: [{ hunk: 2, text: 'Keep b.' }] }
  const { message, editing } = afterReview(
    {
      kind: 'reviewed',
      baseDir: folder,
      remark: 'Keep b.',
      items: [
        { file_path: 'a.txt', ...part },
        { file_path: 'secret.txt', ...part },
      ],
      reviewed: [
        { path: 'a.txt', decision, hunks },
        { path: 'secret.txt', decision: 'deny', hunks },
        { path: 'gone.txt', decision: 'allow', hunks, problem: 'it has changed' },
      ],
    },
    {
      settings: settingsOf({ ...defaults }, { workspace: folder }),
      shown: new Map([[join(folder, 'a.txt'), 'an older state']]),
    },
    testContext({ workspace: folder }),
  )
  expect(message).toContain(
    '- a.txt: hunk 1 of 2 applied, the rest rejected.\n\nRejected: a.txt:9\n\n-b\n+B\n\nThey say:\n\nKeep b.\n\n- secret.txt: rejected, without a remark. Leave it as it is.\n\n- gone.txt: accepted, but not applied: it has changed',
  )
  expect(message).toContain('<file path="a.txt" lines="1">\nA\n</file>')
  expect(message).not.toContain('hunter2')
  expect([...(editing.shown?.keys() ?? [])]).toEqual([join(folder, 'a.txt')])
  expect([...(editing.shown?.values() ?? [])]).not.toContain('an older state')
})
