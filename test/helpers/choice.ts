import { join } from 'node:path'
import type { ModelChoice, ModelSources } from '../../src/model/choice.ts'
import { selectModel } from '../../src/model/select.ts'
import { loadModelTable } from '../../src/model/table.ts'
import { root } from './baton.ts'

/** The table of models of this repository. */
export const modelTable = await loadModelTable(join(root, 'agents/models.toml'))

/** The model that a name selects; a test that uses this expects that a name or a key decides. */
export function choiceFor(name: string | undefined, given: Partial<ModelSources> = {}): ModelChoice {
  const selection = selectModel(name, { env: {}, providers: {}, aliases: {}, ...given }, modelTable)
  if (selection.kind === 'undecided') throw new Error(`nothing decides what ${name ?? 'no name'} means`)
  return selection.choice
}

/** The target of a choice, in one line; `!` if the key is required. */
export function shown({ provider, label, reasoningEffort }: ModelChoice): string {
  const where =
    provider.kind === 'offline'
      ? 'offline'
      : [provider.format, provider.baseUrl, `${provider.apiKeyEnv}${provider.keyRequired ? '!' : ''}`].join(' ')
  return [label, where, ...(reasoningEffort === undefined ? [] : [reasoningEffort])].join(' | ')
}
