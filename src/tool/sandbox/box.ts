import { realPath } from '../../base/files.ts'
import { defined } from '../../base/json.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { type SandboxRights, strictestSandbox } from '../../event/sandbox-rights.ts'
import type { RunSources } from '../../event/sources.ts'
import type { Boxed, Command } from './boxed.ts'
import { noSandbox, findBoxer } from './probe.ts'

/**
 * The command in a box that holds it to the rights of the context: what of the disk it may read and change, the network,
 * memory and processes. `opened`, of a command that an author wrote: absolute folders that can be read although what
 * they are in is hidden. With "danger-full-access" it is the command as it is. R309, R310, R311.
 * @throws BatonError SANDBOX where a box is needed and none can be had
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

/** What each run has told of its boxes; all parts of a run share their sources. */
const told = new WeakMap<RunSources, Set<string>>()

function tellOnce({ mode, network }: SandboxRights, program: string | undefined, context: RunContext): void {
  const { sources } = context.services
  const before = told.get(sources) ?? new Set()
  const event = { type: 'sandbox.used', mode, ...defined({ program }), network } as const
  const text = JSON.stringify(event)
  if (!before.has(text)) emit(context, event)
  told.set(sources, before.add(text))
}
