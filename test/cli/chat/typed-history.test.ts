import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openTypedHistory } from '../../../src/cli/chat/typed-history.ts'
import { createMask } from '../../../src/journal/secrets.ts'
import { tempTree } from '../../helpers/temp.ts'

const mask = createMask({ MY_TOKEN: 'tok-0123456789/ab' })

it('stores typed lines with secrets masked, and restores them in the same process', () => {
  const file = join(tempTree(), 'state', 'chat-history.jsonl')
  const history = openTypedHistory(file, mask)
  history.add('use tok-0123456789/ab or tok-0123456789%2fab')
  expect(history.lines()).toEqual(['use tok-0123456789/ab or tok-0123456789%2fab'])
  expect(readFileSync(file, 'utf8')).not.toContain('tok-')
  expect(openTypedHistory(file, mask).lines()).toEqual([expect.stringMatching(/^use «secret:MY_TOKEN» or «secret:/)])
})

it('masks secrets in a file of an earlier version', () => {
  const file = join(tempTree(), 'chat-history.jsonl')
  writeFileSync(file, '"hello"\n"use tok-0123456789/ab"\n')
  expect(openTypedHistory(file, mask).lines()).toEqual(['hello', 'use «secret:MY_TOKEN»'])
  expect(readFileSync(file, 'utf8')).toBe('"hello"\n"use «secret:MY_TOKEN»"\n')
})
