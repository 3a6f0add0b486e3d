import { BatonError } from '../../base/error.ts'
import type { CommandAgent } from '../../event/agent.ts'
import type { RunContext } from '../../event/context.ts'
import { narrowSandbox, type SandboxMode, strictestSandbox } from '../../event/sandbox-rights.ts'

/** What a program is told that it may do; `open`: it is told nothing, and may do what the user may. */
export type CommandSandbox = SandboxMode | 'open'

/**
 * What a program may do. It runs outside of our sandbox. A known one is held to our mode by its own flag: that of the run, and
 * of its definition where that is stricter; where answers change no files, or a person is asked first, it only reads, and in
 * a dry run too. Another one must have been let do anything.
 * @throws BatonError SANDBOX where that is not so
 */
export function commandSandbox({ name, line }: CommandAgent, { scope }: RunContext): CommandSandbox {
  const { rights, dry } = scope
  const sandbox = rights.sandbox ?? strictestSandbox
  if (line.preset === undefined) {
    if (sandbox.mode === 'danger-full-access' || line.mode === 'danger-full-access') return 'open'
    throw new BatonError(
      'SANDBOX',
      `agent "${name}" runs ${line.command}, which Baton cannot hold to the sandbox mode ${sandbox.mode}`,
      {
        hint: `It may do what you may. If you trust it with that, write sandbox = { mode = "danger-full-access" } into [agents.${name}].`,
      },
    )
  }
  if (!rights.write || rights.asks === true || dry !== undefined) return 'read-only'
  return line.mode === undefined ? sandbox.mode : narrowSandbox(sandbox, { mode: line.mode }).mode
}
