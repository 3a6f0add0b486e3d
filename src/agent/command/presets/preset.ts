import type { CommandPreset } from '../../../event/agent.ts'
import type { SandboxMode } from '../../../event/sandbox-rights.ts'
import type { EventReader } from '../said.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { gemini } from './gemini.ts'
import { opencode } from './opencode.ts'

/** What a preset is started for. */
interface PresetStart {
  /** As the program calls it; undefined: it decides. */
  readonly model: string | undefined
  readonly mode: SandboxMode
  /** The conversation that it takes up. */
  readonly session: string | undefined
  /** Arguments of the definition. */
  readonly args: readonly string[]
  /** Undefined: it is on standard input. */
  readonly prompt: string | undefined
}

/** A command line whose flags and output are known. */
export interface Preset {
  readonly args: (start: PresetStart) => readonly string[]
  /** Variables that it gets besides. */
  readonly env?: (mode: SandboxMode) => Readonly<Record<string, string>>
  /** Whether it gets a variable of ours: keys of its provider, and its own settings. */
  readonly passes: (variable: string) => boolean
  /** One for each run. */
  readonly createReader: () => EventReader
  /** Whose models it asks, in the list of prices; undefined: its names say so. */
  readonly provider: string | undefined
  /** It says itself what it cost. */
  readonly tellsCost: boolean
  /** What it used is counted from the begin of the session. */
  readonly countsSession?: true
}

export const presets: { readonly [name in CommandPreset]: Preset } = { claude, codex, gemini, opencode }
