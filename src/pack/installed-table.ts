import { BatonError, isBatonError } from '../base/error.ts'
import { canonicalJson, type Json } from '../base/json.ts'
import { parsePackToml } from './pack-manifest.ts'

export interface Installation {
  /** When it was installed. */
  readonly time: string
  /** The URL or the absolute path it came from, without a password. */
  readonly source: string
  /** Of a git repository. */
  readonly commit?: string
}

const ownTable = /\n*\[installed\]\n(?:(?:time|source|commit) = "(?:[^"\\\n]|\\.)*"\n){1,3}$/
const anyTable = /^\[installed\][^\n]*\n(?:(?!\[)[^\n]*(?:\n|$))*/m

/** The text with `[installed]` as its last table (spec/aipack.md 7.3). It must not have one. */
export function withInstalled(text: string, { time, source, commit }: Installation): string {
  const entries = Object.entries({ time, source, commit }).filter(([, value]) => value !== undefined)
  const lines = entries.map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
  return `${withoutOwnTable(text)}\n[installed]\n${lines.join('')}`
}

/** The text without the table that `withInstalled` has added: what a digest is made of. */
export function withoutOwnTable(text: string): string {
  const rest = text.replace(ownTable, '')
  return rest === text ? text : `${rest}\n`
}

/**
 * The text without `[installed]`, whoever has written it: what was said where it came from is not so here.
 * @throws BatonError CONFIG_INVALID when the table is written so that it cannot be taken out
 */
export async function withoutInstalled(text: string, file: string): Promise<string> {
  const before = await parsePackToml(text, file)
  if (before.data['installed'] === undefined) return text
  const rest = withoutOwnTable(text) === text ? text.replace(anyTable, '') : withoutOwnTable(text)
  const { installed: _, ...wanted } = before.data
  if (canonicalJson(await dataOf(rest, file)) === canonicalJson(wanted)) return rest
  throw new BatonError('CONFIG_INVALID', `"installed" in ${file} cannot be replaced`, {
    place: { file, text, ...(await before.locate(['installed'])) },
    hint: 'Remove it: it is written when a pack is installed.',
  })
}

/** Null for what is no TOML. */
async function dataOf(text: string, file: string): Promise<Json> {
  try {
    return (await parsePackToml(text, file)).data
  } catch (error) {
    if (isBatonError(error)) return null
    throw error
  }
}
