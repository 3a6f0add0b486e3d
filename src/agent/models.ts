import { createProvider } from '../model/create.ts'
import type { ModelSources } from '../model/choice.ts'
import { selectModel } from '../model/select.ts'
import type { ChosenModel } from './parts.ts'

export interface ModelChooserOptions {
  readonly sources: ModelSources
  /** Told once what a person should know about a choice. */
  readonly onNotice: (notice: string) => void
}

/** Turns model names into providers; each name is looked up and made once per run (DESIGN 8). */
export function createModelChooser({
  sources,
  onNotice,
}: ModelChooserOptions): (name: string | undefined) => Promise<ChosenModel> {
  const chosen = new Map<string | undefined, Promise<ChosenModel>>()

  async function choose(name: string | undefined): Promise<ChosenModel> {
    const choice = selectModel(name, sources)
    const provider = await createProvider(choice, { env: sources.env })
    if (choice.notice !== undefined) onNotice(choice.notice)
    const { model, label, reasoningEffort } = choice
    return { provider, model, label, ...(reasoningEffort === undefined ? {} : { reasoningEffort }) }
  }

  return (name) => {
    const known = chosen.get(name)
    if (known !== undefined) return known
    const made = choose(name)
    chosen.set(name, made)
    return made
  }
}
