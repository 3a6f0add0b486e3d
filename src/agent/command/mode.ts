import { BatonError } from '../../base/error.ts'
import type { CommandAgent } from '../../event/agent.ts'
import type { RunContext } from '../../event/context.ts'
import { narrowSandbox, type SandboxMode, strictestSandbox } from '../../event/sandbox-rights.ts'

/** What a program is allowed to do; `open`: it gets no restriction and has all of the user's rights. */
export type CommandSandbox = SandboxMode | 'open'

/**
 * Determines what a program may do. It runs outside of our sandbox. A known program gets our sandbox mode as its own
 * flag: that of the run, or of its definition if that is stricter. It is read-only if answers change no files, if the
 * user is asked first, and in a dry run. Any other program needs the mode danger-full-access.
 * @throws BatonError SANDBOX if it does not have that
 */
export function commandSandbox({ name, line }: CommandAgent, { scope }: RunContext): CommandSandbox {
  const { rights, dry } = scope
  const sandbox = rights.sandbox ?? strictestSandbox
  if (line.preset === undefined) {
    if (sandbox.mode === 'danger-full-access' || line.mode === 'danger-full-access') return 'open'
    throw new BatonError(
      'SANDBOX',
      `agent "${name}" runs ${line.command}, which Baton cannot restrict to the sandbox mode ${sandbox.mode}`,
      {
        hint: `It runs with all of your rights. If you trust it with them, set sandbox = { mode = "danger-full-access" } in [agents.${name}].`,
      },
    )
  }
  if (!rights.write || rights.asks === true || dry !== undefined) return 'read-only'
  return line.mode === undefined ? sandbox.mode : narrowSandbox(sandbox, { mode: line.mode }).mode
}
