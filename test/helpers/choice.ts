import { join } from 'node:path'
import type { ModelChoice, ModelSources } from '../../src/model/choice.ts'
import { selectModel } from '../../src/model/select.ts'
import { loadModelTable } from '../../src/model/table.ts'
import { root } from './baton.ts'

/** The table of models of this repository. */
export const modelTable = await loadModelTable(join(root, 'agents/models.toml'))

/** What a name leads to; a test that gets here expects that a name or a key decides. */
export function choiceFor(name: string | undefined, given: Partial<ModelSources> = {}): ModelChoice {
  const selection = selectModel(name, { env: {}, providers: {}, aliases: {}, ...given }, modelTable)
  if (selection.kind === 'undecided') throw new Error(`nothing decides what ${name ?? 'no name'} means`)
  return selection.choice
}

/** Where a choice leads, in one line; `!` when the key must be there. */
export function shown({ provider, label, reasoningEffort }: ModelChoice): string {
  const where =
    provider.kind === 'offline'
      ? 'offline'
      : [provider.format, provider.baseUrl, `${provider.apiKeyEnv}${provider.keyRequired ? '!' : ''}`].join(' ')
  return [label, where, ...(reasoningEffort === undefined ? [] : [reasoningEffort])].join(' | ')
}
