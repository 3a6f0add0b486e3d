import { limitedModelNames } from '../config/limited-model-names.ts'
import type { SourcedValue } from '../config/layers.ts'
import { originText } from '../config/layers.ts'
import { originsOf, type Target } from './target.ts'

/**
 * What the folder's AIPack config changes about models that the target uses: its model instead of the user's, and
 * aliases that take the names of others. One line, or none.
 */
export async function folderModelWarnings(target: Target): Promise<readonly string[]> {
  const origins = originsOf(target)
  const own = origins.filter(({ layer }) => layer.isAipack === true)
  const [first] = own
  if (first === undefined) return []
  const used = usedNames(target)
  const changed = [
    ...own
      .filter(({ path: [key] }) => key === 'model' && used.has(key))
      .flatMap(({ value, under }) => {
        return under === undefined ? [] : [`the model is ${text(value)}, not ${text(under.value)}`]
      }),
    ...(await changedAliases(own, origins)).flatMap(({ name, value, before }) =>
      used.has(name) ? [`"${name}" is ${value}, not ${before === name ? 'the model of that name' : before}`] : [],
    ),
  ]
  return changed.length === 0 ? [] : [`${originText(first.layer.origin)} decides about models: ${changed.join('; ')}`]
}

interface ChangedAlias {
  readonly name: string
  readonly value: string
  readonly before: string
}

async function changedAliases(
  own: readonly SourcedValue[],
  origins: readonly SourcedValue[],
): Promise<readonly ChangedAlias[]> {
  const aliases = own.filter(({ path: [key] }) => key === 'model_aliases')
  const values = { model_aliases: Object.fromEntries(aliases.map(({ path, value }) => [String(path[1]), value])) }
  const held = await limitedModelNames(
    values,
    origins.filter(({ layer }) => layer.origin.kind === 'user'),
  )
  return aliases.flatMap(({ path, value, under }) => {
    const name = String(path[1])
    const before = under?.value ?? held.find((each) => each.path[1] === name)?.value
    return before === undefined || before === value ? [] : [{ name, value: text(value), before: text(before) }]
  })
}

function text(value: SourcedValue['value']): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Whether the target may use an alias by its name, or, for `model`, the model of the config. */
function usedNames(target: Target): { readonly has: (name: string) => boolean } {
  const { model = '', fallback_models: fallbacks } = target.settings
  const named = [model, ...fallbacks]
  const texts = target.agents.map((agent) => agent.text)
  const written = target.kind === 'prompt' ? [...texts, target.spec.document.text] : texts
  // an agent names its own model in its options
  const setsModel = target.kind === 'agent' && /^\s*model\s*=/m.test(target.agent.text)
  return {
    has(name) {
      if (name === 'model') return !setsModel
      const quoted = new RegExp(`["'\`]${name.replaceAll(/[^\w]/g, '\\$&')}(?:-[a-z]+)?["'\`]`)
      const isNamed = named.some((each) => each === name || each.replace(/-[a-z]+$/, '') === name)
      return (isNamed && !setsModel) || written.some((each) => quoted.test(each))
    },
  }
}
