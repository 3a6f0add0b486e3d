import type { AgentParts, ChosenModel } from '../agent/parts.ts'
import { BatonError } from '../base/error.ts'
import { placeText } from '../event/effects.ts'
import type { RunJournal } from '../journal/journal.ts'
import type { ReplayIndex } from '../journal/replay-index.ts'
import { resolveAlias } from '../model/alias.ts'
import type { ModelSources } from '../model/choice.ts'
import { chooseModelFor } from '../model/choose.ts'
import type { ModelProvider } from '../model/provider.ts'
import { loadModelTable } from '../model/table.ts'

type Choose = AgentParts['chooseModel']
type Aliases = ModelSources['aliases']

/** What a name meant when the run was recorded: keys, gateways and local servers decide it, and they are not recorded. */
type Choice = Pick<ChosenModel, 'model' | 'label' | 'reasoningEffort'>

/** The same chooser; what each name meant is noted once, so that a replay needs no key and no server to know it. */
export function recordChoices(
  choose: Choose,
  { journal, aliases }: { readonly journal: Pick<RunJournal, 'note'>; readonly aliases: Aliases },
): Choose {
  const noted = new Set<string>()
  return async (name) => {
    const chosen = await choose(name)
    const { p, asked } = choicePlace(name, aliases)
    if (noted.has(p)) return chosen
    noted.add(p)
    const { model, label, reasoningEffort } = chosen
    const value: Choice = { model, label, ...(reasoningEffort === undefined ? {} : { reasoningEffort }) }
    journal.note({ k: 'obs', p, name: 'model.choice', args: [asked], status: 'ok', value })
    return chosen
  }
}

export interface ReplayedChoices {
  readonly index: ReplayIndex
  readonly sources: ModelSources
  /** `agents/models.toml`, absolute. */
  readonly tableFile: string
}

/**
 * Says what a name meant in the recorded run. Of one that it did not use: what it means here, as far as that can be told
 * without asking anybody; the request differs then, which is for the replay to say. Never rejects.
 */
export function createReplayedChooser({ index, sources, tableFile }: ReplayedChoices): Choose {
  return async (name) => {
    const { p } = choicePlace(name, sources.aliases)
    const location = index.entries.get(p)?.observed
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
    const options = { loadTable: () => loadModelTable(tableFile), findLocal: async () => undefined }
    const { model, label, reasoningEffort } = await chooseModelFor(name, sources, options)
    return { model, label, ...(reasoningEffort === undefined ? {} : { reasoningEffort }) }
  } catch {
    const label = name ?? 'the default model'
    return { model: label, label }
  }
}

/** Aliases of the user are files: what they stand for is looked up anew. */
function choicePlace(name: string | undefined, aliases: Aliases): { readonly p: string; readonly asked: string } {
  const asked = name === undefined ? '' : resolveAlias(name.trim(), aliases)
  return { p: placeText(['model-choice', asked]), asked }
}

const silent: ModelProvider = {
  name: 'replay',
  stream() {
    throw new BatonError('MODEL_FAILED', 'a replayed run asks no model')
  },
}
