import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { defined, type Json } from '../../base/json.ts'
import type { RunView } from '../../history/run-view.ts'
import { valueOf } from '../../history/recorded.ts'
import { type Invocation, invocationOf } from '../../run/record.ts'
import type { ServedWorkspace } from './served-workspace.ts'

/** The fields of `POST /api/runs` with which a run was started. */
export interface StartAgain {
  readonly file?: string
  readonly text?: string
  readonly inputs?: readonly Json[]
  readonly files?: readonly string[]
  /** As written, by name. */
  readonly vars?: Readonly<Record<string, string>>
  readonly model?: string
  readonly mode?: string
  readonly iter?: string
  readonly until?: string
  readonly max_cost?: number
  readonly dry?: 'req' | 'res' | 'changes'
}

/** How a run was started, for one like it; null for messages of chats, and if it was not recorded. Secrets are shown by name. */
export function startAgain({ start, source }: RunView, { cwd }: Pick<ServedWorkspace, 'cwd'>): StartAgain | null {
  const record = start === undefined ? undefined : source.at(start)
  const invocation = record?.k === 'run.start' ? invocationOf(valueOf(record.facts, source)) : undefined
  if (invocation === undefined || invocation.chat !== undefined || invocation.conversation === true) return null
  const { text, inputs, onFiles, vars, overrides, model, dry } = invocation
  return {
    ...(text === undefined ? { file: namedFrom(cwd, invocation) } : { text }),
    ...(inputs.length > 0 && { inputs }),
    ...(onFiles.length > 0 && { files: onFiles }),
    ...(vars.length > 0 && { vars: Object.fromEntries(vars.map(splitVariable)) }),
    ...defined({ model, dry }),
    ...settingsIn(overrides),
  }
}

function namedFrom(folder: string, { cwd, file }: Invocation): string {
  const path = resolve(cwd, file)
  return existsSync(path) ? relative(folder, path) : file
}

function splitVariable(flag: string): readonly [name: string, text: string] {
  const at = flag.indexOf('=')
  return [flag.slice(0, at), flag.slice(at + 1)]
}

/** What the fields of a request have become: the last one of a key counts. See `overridesOf`. */
function settingsIn(overrides: readonly string[]): Pick<StartAgain, 'mode' | 'iter' | 'until' | 'max_cost'> {
  const values = new Map(overrides.map(splitVariable))
  const textOf = (key: string): string | undefined => {
    const value = readJson(values.get(key))
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
  }
  const cost = Number(values.get('budget.usd') ?? NaN)
  return defined({
    mode: textOf('mode'),
    iter: textOf('iterate.condition'),
    until: textOf('iterate.until'),
    max_cost: cost > 0 ? cost : undefined,
  })
}

function readJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}
