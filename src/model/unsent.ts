import type { JsonObject } from '../base/json.ts'
import type { ModelRequest, UnsentSetting } from './provider.ts'

type Settings = Pick<ModelRequest, 'reasoning_effort' | 'temperature' | 'top_p' | 'seed' | 'max_tokens'>
type Name = keyof Settings

/** The output limit is always sent, but leaves no room for others when it is low. */
const names: readonly Name[] = ['reasoning_effort', 'temperature', 'top_p', 'seed', 'max_tokens']

/**
 * The settings of a request that are not sent, found by what its body would be without each of them, so that no format
 * keeps a second account of what it leaves out. An effort of `none` asks for nothing.
 * @param body what is sent for a request
 */
export function unsentSettings(
  request: ModelRequest,
  body: (request: ModelRequest) => JsonObject,
): readonly UnsentSetting[] {
  const settings: Settings = Object.fromEntries(
    names
      .filter((name) => request[name] !== undefined && request[name] !== 'none')
      .map((name) => [name, request[name]]),
  )
  const given = names.filter((name) => settings[name] !== undefined)

  function isSent(name: Name, others: Settings): boolean {
    const bare = { ...others, model: request.model, messages: [] }
    return JSON.stringify(body(bare)) !== JSON.stringify(body({ ...bare, [name]: settings[name] }))
  }

  /** What keeps a setting from being sent; none when it is not sent by itself either. */
  function rivalsOf(name: Name): readonly Name[] {
    const others = given.filter((other) => other !== name)
    const rival = others.find((other) => isSent(name, without(settings, name, other)))
    if (rival !== undefined) return [rival]
    return isSent(name, {}) ? others : []
  }

  return given
    .filter((name) => name !== 'max_tokens' && !isSent(name, without(settings, name)))
    .map((name) => ({ name, ...explained(name, rivalsOf(name), settings) }))
}

function explained(name: Name, rivals: readonly Name[], settings: Settings): Pick<UnsentSetting, 'reason' | 'hint'> {
  if (rivals.length === 0)
    return { reason: 'is not known to take it', hint: `Leave ${name} out, or name another model.` }
  const shown = rivals.map((rival) => `${rival} = ${JSON.stringify(settings[rival])}`).join(' and ')
  const hint = rivals[0] === 'max_tokens' ? `Raise max_tokens, or leave ${name} out.` : 'Leave one of them out.'
  return { reason: `does not take it together with ${shown}`, hint }
}

function without(settings: Settings, ...left: readonly Name[]): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !left.some((other) => other === name)))
}
