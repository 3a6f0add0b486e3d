import { realPath } from '../../base/files.ts'
import { defined } from '../../base/json.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { type SandboxRights, strictestSandbox } from '../../event/sandbox-rights.ts'
import type { RunSources } from '../../event/sources.ts'
import type { Boxed, Command } from './boxed.ts'
import { noSandbox, findBoxer } from './probe.ts'

/**
 * Wraps a command in a sandbox that enforces the rights of the context: file reads and writes, network, memory and
 * processes. `opened`, for a command written by an author: absolute folders that stay readable although their parent is
 * hidden. With "danger-full-access" the command is returned unchanged. R309, R310, R311.
 * @throws BatonError SANDBOX if a sandbox is needed and none is available
 */
export async function boxCommand(command: Command, context: RunContext, opened?: readonly string[]): Promise<Boxed> {
  const { scope, services } = context
  const rights = scope.rights.sandbox ?? strictestSandbox
  if (rights.mode === 'danger-full-access') {
    tellOnce(rights, undefined, context)
    return { ...command, stopped: () => undefined, close: async () => {} }
  }
  const boxer = await findBoxer({ env: services.env, workspace: realPath(scope.folders.workspace) })
  if (boxer.kind === 'none') throw noSandbox(boxer, rights)
  const { kind, program } = boxer
  tellOnce(rights, program, context)
  const make =
    kind === 'bwrap' ? (await import('./bwrap-box.ts')).bwrapBox : (await import('./seatbelt-box.ts')).seatbeltBox
  return make(command, { program, rights, opened }, context)
}

/** The sandboxes each run has already reported; all parts of a run share their sources. */
const told = new WeakMap<RunSources, Set<string>>()

function tellOnce({ mode, network }: SandboxRights, program: string | undefined, context: RunContext): void {
  const { sources } = context.services
  const before = told.get(sources) ?? new Set()
  const event = { type: 'sandbox.used', mode, ...defined({ program }), network } as const
  const text = JSON.stringify(event)
  if (!before.has(text)) emit(context, event)
  told.set(sources, before.add(text))
}
