import { BatonError, isBatonError } from '../base/error.ts'
import type { JsonObject } from '../base/json.ts'
import { readTomlFile } from '../base/toml.ts'

/**
 * Parses one `-c key=value`: the key may be dotted, the value is TOML, and text that is not TOML is used verbatim, so
 * that `-c model=gpt-5-mini` needs no quotes. In `permission.TOOL.PATTERN=EFFECT` the pattern extends from the dot
 * after the tool to the last `=`, so that dots, spaces and `=` in it need no quotes either.
 * @throws BatonError USAGE for text without `=` or with a key that cannot be parsed
 */
export async function parseOverride(text: string): Promise<JsonObject> {
  const rule = parseRule(text)
  if (rule !== undefined) return rule
  const split = text.indexOf('=')
  const key = text.slice(0, Math.max(0, split)).trim()
  const value = text.slice(split + 1).trim()
  if (split === -1 || key === '' || /[\r\n]/.test(key)) throw badFlag(text)
  const asToml = /[\r\n]/.test(value) ? undefined : await readToml(`${key} = ${value}`)
  // the only character of JSON strings that TOML refuses is a raw DEL
  const quoted = JSON.stringify(value).replaceAll('\u007F', String.raw`\u007F`)
  const values = asToml ?? (await readToml(`${key} = ${quoted}`))
  if (values === undefined) throw badFlag(text)
  return values
}

/**
 * `permission.TOOL=EFFECT` or `permission.TOOL.PATTERN=EFFECT`, each part plain or quoted; undefined for anything else.
 */
function parseRule(text: string): JsonObject | undefined {
  const found = /^\s*permission\.(?<tool>"[^"]*"|'[^']*'|[^.\s"'={]+)(?:\.(?<pattern>.+))?=\s*(?<effect>[^=]*)$/s.exec(
    text,
  )
  const { tool, pattern, effect = '' } = found?.groups ?? {}
  // tables are TOML
  if (tool === undefined || /[\r\n]/.test(text) || /[{}]/.test(effect)) return undefined
  const value = unquoted(effect.trim())
  return { permission: { [unquoted(tool)]: pattern === undefined ? value : { [unquoted(pattern.trim())]: value } } }
}

function unquoted(text: string): string {
  const [, single, double] = /^(?:'([^']*)'|("(?:[^"\\]|\\.)*"))$/.exec(text) ?? []
  if (double === undefined) return single ?? text
  try {
    return String(JSON.parse(double))
  } catch {
    return double.slice(1, -1)
  }
}

async function readToml(block: string): Promise<JsonObject | undefined> {
  try {
    return (await readTomlFile('-c', block)).data
  } catch (error) {
    if (isBatonError(error)) return undefined
    throw error
  }
}

function badFlag(text: string): BatonError {
  const hint = 'Write -c key=value, for example -c temperature=0.2 or -c lua.timeout=5s.'
  return new BatonError('USAGE', `-c ${text} is not key=value`, { hint })
}

/** The name of a `-c` as an origin: without its value, which may be a secret put there by mistake. */
export function overrideName(text: string, { permission }: JsonObject): string {
  const end = permission === undefined ? text.indexOf('=') : text.lastIndexOf('=')
  return `-c ${text.slice(0, end).trim()}`
}
