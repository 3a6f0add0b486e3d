import type { AgentParts, ChosenModel } from '../agent/parts.ts'
import { defined } from '../base/json.ts'
import { item, part, placeText } from '../event/place.ts'
import type { RunJournal } from '../journal/journal.ts'
import { resolveAlias } from '../model/alias.ts'
import type { ModelSources } from '../model/choice.ts'

type Choose = AgentParts['chooseModel']
type Aliases = ModelSources['aliases']

/** The model of a name in the recorded run; it depends on keys, gateways and local servers, which are not recorded. */
export type Choice = Pick<ChosenModel, 'model' | 'label' | 'reasoningEffort'>

/** Wraps a chooser to record once what each name means, so that a replay needs no key and no server for it. */
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
    journal.note({ k: 'obs', p, name: 'model.choice', args: [asked], status: 'ok', value: choiceOf(chosen) })
    return chosen
  }
}

export function choiceOf({ model, label, reasoningEffort }: Choice): Choice {
  return { model, label, ...defined({ reasoningEffort }) }
}

/** The place of the record of a choice. Aliases of the user are in files and are resolved again. */
export function choicePlace(
  name: string | undefined,
  aliases: Aliases,
): { readonly p: string; readonly asked: string } {
  const asked = name === undefined ? '' : resolveAlias(name.trim(), aliases)
  return { p: placeText([part('model-choice'), item(asked)]), asked }
}
