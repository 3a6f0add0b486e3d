import { styleText } from 'node:util'

type Format = Parameters<typeof styleText>[0]

/** Puts colour around text, or leaves it alone. */
export type Paint = (format: Format, text: string) => string

export interface ColorChoice {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isTerminal: boolean
}

/** `NO_COLOR` (any value) removes colour, `FORCE_COLOR` (not `0`) adds it, otherwise terminals get it (spec/conventions.md 4.3). */
export function createPaint({ env, isTerminal }: ColorChoice): Paint {
  const wanted = env['NO_COLOR'] ? false : (forced(env['FORCE_COLOR']) ?? (isTerminal && env['TERM'] !== 'dumb'))
  return wanted ? (format, text) => styleText(format, text, { validateStream: false }) : (_format, text) => text
}

function forced(value: string | undefined): boolean | undefined {
  return value === undefined || value === '' ? undefined : value !== '0'
}
