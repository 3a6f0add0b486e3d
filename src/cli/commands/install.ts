import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { findWorkspace } from '../../config/locate.ts'
import { agreedFile } from '../../pack/agreed.ts'
import { describeCapabilities } from '../../pack/capabilities.ts'
import { type FetchedPack, fetchPack, sourceOfOrigin } from '../../pack/fetch-pack.ts'
import { findPack } from '../../pack/find-pack.ts'
import { install, type InstallPlace, installPlace, type InstallPlan, planInstall } from '../../pack/install.ts'
import { readLock } from '../../pack/lock-file.ts'
import { originText } from '../../pack/origin.ts'
import { leftOutText, secretPackFiles } from '../../pack/pack-files.ts'
import { packRoots, userPacks, workspacePacks } from '../../pack/places.ts'
import { parseSource } from '../../pack/source.ts'
import { installLocked } from '../../pack/verify.ts'
import { harmless } from '../../render/harmless.ts'
import { confirm } from '../confirm.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { GlobalFlags } from '../options.ts'

export interface InstallFlags extends GlobalFlags {
  readonly source: string | undefined
  /** Into the packs of the workspace. */
  readonly workspace: boolean
  readonly force: boolean
  readonly yes: boolean
  readonly noInput: boolean
}

/** `baton install [SOURCE]` (spec/aipack.md 7.3, issue F "Packs"); 1 when a person did not agree. */
export async function installCommand(flags: InstallFlags, io: CommandIo): Promise<number> {
  const { cwd, env } = surroundings(flags, io)
  const workspace = findWorkspace({ cwd, home: io.home })
  const agreed = agreedFile({ env, home: io.home })
  const around: Around = {
    cwd,
    env,
    workspace,
    user: installPlace(userPacks({ env, home: io.home }), { agreedFile: agreed }),
    own: installPlace(workspacePacks(workspace), { agreedFile: agreed, workspace }),
  }
  if (flags.source === undefined) return installAll(flags, around, io)
  const { source, place } = sourceAndPlace(flags.source, flags, { ...around, home: io.home })
  const pack = await fetchPack(source, { env, signal: io.signal })
  refuseOther(flags.source, pack)
  const plan = await planInstall(pack, place, flags)
  if (plan.kind === 'up to date') {
    tell(pack, { outcome: 'up to date', folder: plan.present.folder }, flags, io)
    return 0
  }
  const { asks } = plan
  if (asks !== undefined && !(await agrees([{ pack, asks, granted: plan.granted }], flags, io))) {
    io.err('nothing was installed\n')
    return 1
  }
  io.signal.throwIfAborted()
  install(pack, place, { now: new Date() })
  tell(pack, { outcome: 'installed', folder: plan.present.folder }, flags, io)
  if (!flags.json) tellShadow(pack, plan, packRoots(workspace, { env, home: io.home }), io)
  return 0
}

interface Around {
  readonly cwd: string
  readonly env: CommandIo['env']
  readonly workspace: string
  readonly user: InstallPlace
  readonly own: InstallPlace
}

type Chosen = { readonly source: Parameters<typeof fetchPack>[0]; readonly place: InstallPlace }

/** An installed pack is fetched again from where it came, at its branch or tag as it is now, into the same place. */
function sourceAndPlace(
  text: string,
  flags: InstallFlags,
  { cwd, home, user, own, workspace }: Around & { readonly home: string },
): Chosen {
  const source = parseSource(text, { cwd, home })
  if (source.kind !== 'identity') return { source, place: flags.workspace ? own : user }
  const places = flags.workspace ? [own] : [own, user]
  for (const place of places) {
    const locked = readLock(place.lockFile).get(source.identity)
    if (locked === undefined) continue
    const known = sourceOfOrigin(locked.origin, workspace)
    if (known.kind !== 'git') return { source: known, place }
    const { commit: _, ...latest } = known
    return { source: latest, place }
  }
  throw new BatonError(
    'AGENT_NOT_FOUND',
    `${source.identity} was not installed by Baton, so it is not known where it is`,
    {
      hint: `Name its folder, .aipack file or URL. A file of this name is ./${source.identity}.`,
    },
  )
}

/** What is fetched again under a name must be that pack. */
function refuseOther(asked: string, { manifest, origin }: FetchedPack): void {
  if (!/^[\w-]+@[\w-]+$/.test(asked) || asked === manifest.identity) return
  throw new BatonError('UNTRUSTED', `${originText(origin)} is now ${manifest.identity}, not ${asked}`, {
    hint: 'Nothing was installed.',
  })
}

/** Everything the lock of the workspace names. */
async function installAll(flags: InstallFlags, { own, env }: Around, io: CommandIo): Promise<number> {
  if (!existsSync(own.lockFile)) {
    throw new BatonError('USAGE', `there is nothing to install: ${own.lockFile} does not exist`, {
      hint: 'Name a folder, an .aipack file or a URL; --workspace notes it in this file.',
    })
  }
  const now = (): Date => new Date()
  const agree = (packs: readonly FetchedPack[]): Promise<boolean> => {
    const asked = packs.map((pack) => ({ pack, asks: 'new', granted: undefined }) as const)
    return agrees(asked, flags, io)
  }
  const done = await installLocked(own, { force: flags.force, now, agree }, { env, signal: io.signal })
  if (done === undefined) {
    io.err('nothing was installed\n')
    return 1
  }
  for (const { identity, version, outcome } of done) {
    if (flags.json) io.out(`${JSON.stringify({ pack: identity, version, outcome })}\n`)
    else if (flags.level !== 'quiet') io.out(`${identity} ${version}: ${outcome}\n`)
  }
  return 0
}

interface Asked extends Pick<Extract<InstallPlan, { readonly kind: 'install' }>, 'granted'> {
  readonly pack: FetchedPack
  readonly asks: keyof typeof reasons
}

/** Says of all what they may do, and asks once. */
async function agrees(asked: readonly Asked[], flags: InstallFlags, io: CommandIo): Promise<boolean> {
  for (const { pack, asks, granted } of flags.json ? [] : asked) {
    const { manifest, origin } = pack
    const lines = describeCapabilities(manifest.capabilities, granted).map((line) => `  ${harmless(line)}\n`)
    const what = `${manifest.identity} ${manifest.version} from ${harmless(originText(origin))}`
    io.err(`${what}${reasons[asks]}\n${lines.join('')}`)
  }
  const names = asked.map(({ pack: { manifest } }) => `${manifest.identity} ${manifest.version}`)
  return confirm(`install ${names.join(', ')}`, flags, io)
}

const reasons = {
  new: '; its agents may use:',
  wider: ' wants more than was agreed to:',
  source: ' comes from another place than before; its agents may use:',
} as const

function tell(
  { manifest, digest, origin }: FetchedPack,
  { outcome, folder }: { readonly outcome: 'installed' | 'up to date'; readonly folder: string },
  flags: InstallFlags,
  io: CommandIo,
): void {
  const { identity: pack, version, capabilities = null } = manifest
  const commit = origin.kind === 'git' ? { commit: origin.commit } : {}
  if (flags.json) {
    const all = { pack, version, outcome, folder, source: originText(origin), ...commit, digest, capabilities }
    io.out(`${JSON.stringify(all)}\n`)
    return
  }
  if (flags.level !== 'quiet') io.out(`${pack} ${version}: ${outcome}\n`)
  const secret = origin.kind === 'folder' ? secretPackFiles(origin.path) : []
  if (secret.length > 0) io.err(`${harmless(leftOutText(secret))}\n`)
}

/** A pack of the same name that comes first makes the new one be of no use. */
function tellShadow(
  { manifest: { identity, namespace, name } }: FetchedPack,
  { present: { folder } }: InstallPlan,
  roots: readonly string[],
  io: CommandIo,
): void {
  const found = findPack({ namespace, name, scope: 'pack' }, { packRoots: roots })
  if (found !== undefined && found.dir !== join(folder)) {
    io.err(`warning: ${identity} means ${found.dir} here, which comes first\n`)
  }
}
