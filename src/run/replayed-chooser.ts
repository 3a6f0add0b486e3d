import type { AgentParts } from '../agent/parts.ts'
import { BatonError } from '../base/error.ts'
import type { RunIndex } from '../journal/run-index.ts'
import type { ModelSources } from '../model/choice.ts'
import type { ModelProvider } from '../model/provider.ts'
import { chooseModelFor } from '../model/select.ts'
import { loadModelTable } from '../model/table.ts'
import { type Choice, choiceOf, choicePlace } from './model-choices.ts'

interface ReplayedChoices {
  readonly index: RunIndex
  readonly sources: ModelSources
  /** `agents/models.toml`, absolute. */
  readonly tableFile: string
}

/**
 * Returns what a name meant in the recorded run. For a name that the run did not use: what it means here, as far as
 * that is known without calling a server; the request then differs, which the replay reports. Never rejects.
 */
export function createReplayedChooser({ index, sources, tableFile }: ReplayedChoices): AgentParts['chooseModel'] {
  return async (name) => {
    const { p } = choicePlace(name, sources.aliases)
    const location = index.tree.find(p)?.answer
    const record = location === undefined ? undefined : index.source.at(location)
    const choice =
      record?.k === 'obs' && record.status === 'ok'
        ? (index.source.value(record.value) as Choice)
        : await choiceHere(name, { sources, tableFile })
    return {
      ...choice,
      provider: silent,
      priced: { provider: 'replay', baseUrl: undefined, model: choice.model, isFree: true },
    }
  }
}

async function choiceHere(
  name: string | undefined,
  { sources, tableFile }: Pick<ReplayedChoices, 'sources' | 'tableFile'>,
): Promise<Choice> {
  try {
    const options = { loadTable: () => loadModelTable(tableFile), findLocal: async () => undefined, isAttended: true }
    return choiceOf(await chooseModelFor(name, sources, options))
  } catch {
    const label = name ?? 'the default model'
    return { model: label, label }
  }
}

const silent: ModelProvider = {
  name: 'replay',
  stream() {
    throw new BatonError('MODEL_FAILED', 'a replayed run calls no model')
  },
}
