import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sha256 } from '../../../src/base/hash.ts'
import { readFileChanges } from '../../../src/tool/changes/answer-changes.ts'
import type { FileContentMode } from '../../../src/tool/changes/instruction.ts'
import { applyTransaction, type TransactionResult } from '../../../src/tool/changes/transaction.ts'
import { testContext } from '../../helpers/context.ts'
import { blockSets } from './block-sets.ts'
import type { ChangeSet } from './change-set.ts'
import { patchSets } from './patch-sets.ts'
import { pathSets } from './path-sets.ts'
import { makeTree, readModes, readTree } from './tree.ts'
import { placeAt } from '../../helpers/effects.ts'

interface Outcome {
  readonly root: string
  readonly result: TransactionResult
  readonly text: string
  readonly modesBefore: object
}

async function run({ before, modes, answer, partial = false, shown = before, base = '' }: ChangeSet): Promise<Outcome> {
  const root = makeTree(before, modes)
  const modesBefore = readModes(root)
  const hashes = Object.entries(shown).flatMap(([path, content]) =>
    typeof content === 'string' ? [[join(root, path), sha256(content)] as const] : [],
  )
  const { directives, text } = readFileChanges(answer.replaceAll('{root}', root))
  const options = { baseDir: join(root, base), partial, shown: new Map(hashes) }
  const result = await applyTransaction(directives, options, {
    context: testContext({ workspace: root }),
    at: placeAt('apply'),
  })
  return { root, result, text, modesBefore }
}

describe.each([
  ['patches', patchSets],
  ['files and paths', pathSets],
  ['whole files, and search and replace', blockSets],
] as const)('a set of changes: %s', (_, sets) => {
  it.each(sets.map((set) => [set.name, set] as const))('%s', async (_name, set) => {
    const { root, result, text, modesBefore } = await run(set)
    const { kind = 'applied', errors = [] } = set
    const items = 'items' in result ? result.items : []
    const found = items.flatMap(({ success, error_msg: error }) => (success ? [] : [error]))

    expect({ kind: result.kind, errors: found }).toEqual({ kind, errors })
    expect(readTree(root)).toEqual(set.after === 'as before' ? set.before : set.after)
    if (set.after === 'as before') expect(readModes(root)).toEqual(modesBefore)
    if (kind === 'stale') {
      const gone = set.gone === undefined ? {} : { gone: set.gone }
      expect(result).toEqual({ kind, paths: set.stale ?? [], unseen: set.unseen ?? [], ...gone })
    }
    if (set.text !== undefined) expect(text).toBe(set.text)
  })
})

it('50,000 lines are unchanged except for the edited ones, in every mode', async () => {
  const lines = Array.from({ length: 50_000 }, (_, index) => `line ${index} of the file\n`)
  const changed = lines.with(10, 'ten\n').with(25_000, 'middle\n').with(49_999, 'last\n').join('')
  const hunk = (index: number, to: string): string =>
    `@@\n line ${index - 1} of the file\n-line ${index} of the file\n+${to}\n`
  const block = (index: number, to: string): string =>
    `<<<<<<< SEARCH\nline ${index} of the file\n=======\n${to}\n>>>>>>> REPLACE\n`
  const parts = (one: (index: number, to: string) => string): string =>
    one(10, 'ten') + one(25_000, 'middle') + one(49_999, 'last')
  const answers: Readonly<Record<FileContentMode, string>> = {
    udiffx: `<FILE_CHANGES>\n<FILE_PATCH file_path="big">\n${parts(hunk)}</FILE_PATCH>\n</FILE_CHANGES>\n`,
    whole: `<AIP_FILE_CHANGE file_path="big">\n\`\`\`\`\n${changed}\`\`\`\`\n</AIP_FILE_CHANGE>\n`,
    search_replace_auto: `<AIP_FILE_CHANGE file_path="big">\n\`\`\`\`\n${parts(block)}\`\`\`\`\n</AIP_FILE_CHANGE>\n`,
  }
  for (const mode of ['udiffx', 'whole', 'search_replace_auto'] as const) {
    const { root, result } = await run({
      name: mode,
      before: { big: lines.join('') },
      answer: answers[mode],
      after: {},
    })
    expect(result.kind).toBe('applied')
    expect(readFileSync(join(root, 'big'), 'utf8') === changed).toBe(true)
  }
})
