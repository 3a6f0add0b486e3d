import { styleText } from 'node:util'
import { harmless } from '../base/terminal-text.ts'

type Format = Parameters<typeof styleText>[0]

/** Colors text, or returns it unchanged. */
export type Paint = (format: Format, text: string) => string

/** `NO_COLOR` (any value) turns color off, `FORCE_COLOR` (not `0`) turns it on; by default only terminals get color. */
export function createPaint({
  env,
  isTerminal,
}: {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly isTerminal: boolean
}): Paint {
  const wanted = env['NO_COLOR'] ? false : (forced(env['FORCE_COLOR']) ?? (isTerminal && env['TERM'] !== 'dumb'))
  return wanted ? (format, text) => styleText(format, text, { validateStream: false }) : (_format, text) => text
}

function forced(value: string | undefined): boolean | undefined {
  return value === undefined || value === '' ? undefined : value !== '0'
}

/** Lines of a unified diff for a terminal. */
export function paintDiff(lines: readonly string[], paint: Paint): readonly string[] {
  return lines.map((line) => {
    const format = diffFormats.find(([start]) => line.startsWith(start))?.[1]
    return format === undefined ? harmless(line) : paint(format, harmless(line))
  })
}

const diffFormats = [
  ['@@', 'cyan'],
  ['-', 'red'],
  ['+', 'green'],
] as const
