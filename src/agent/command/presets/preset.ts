import type { CommandPreset } from '../../../event/agent.ts'
import type { SandboxMode } from '../../../event/sandbox-rights.ts'
import type { EventReader } from '../program-event.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { gemini } from './gemini.ts'
import { opencode } from './opencode.ts'

/** What a preset builds its command line from. */
interface PresetStart {
  /** The program's name for it; undefined: the program decides. */
  readonly model: string | undefined
  readonly mode: SandboxMode
  /** The conversation to resume. */
  readonly session: string | undefined
  /** The `args` of the definition. */
  readonly args: readonly string[]
  /** Undefined if it is on standard input. */
  readonly prompt: string | undefined
}

/** A command line whose flags and output Baton knows. */
export interface Preset {
  readonly args: (start: PresetStart) => readonly string[]
  /** Additional variables. */
  readonly env?: (mode: SandboxMode) => Readonly<Record<string, string>>
  /** Whether it gets a variable of our environment: keys of its provider, and its own settings. */
  readonly passes: (variable: string) => boolean
  /** Creates a reader for one run. */
  readonly createReader: () => EventReader
  /** The provider of its models in the price list; undefined: the model names include it. */
  readonly provider: string | undefined
  /** It reports its own cost. */
  readonly tellsCost: boolean
  /** The usage it reports is the total of the session. */
  readonly countsSession?: true
}

export const presets: { readonly [name in CommandPreset]: Preset } = { claude, codex, gemini, opencode }
