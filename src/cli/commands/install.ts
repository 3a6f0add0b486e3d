import { existsSync } from 'node:fs'
import { join, sep } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { findWorkspace, refuseHome } from '../../config/locate.ts'
import { approvalsFile, type PackFrom, readLock } from '../../pack/lock-file.ts'
import { describeCapabilities } from '../../pack/capabilities.ts'
import { type FetchedPack, fetchPack, sourceOfOrigin } from '../../pack/fetch-pack.ts'
import { nameGuard, trustName } from '../../pack/name-guard.ts'
import { findPack, packRoots, userPacks, workspacePacks } from '../../pack/find-pack.ts'
import {
  install,
  installLocked,
  type InstallPlace,
  installPlace,
  type InstallPlan,
  planInstall,
  unknownAddresses,
} from '../../pack/install.ts'
import { originText, parseSource } from '../../pack/source.ts'
import { skippedFilesText, secretPackFiles } from '../../pack/pack-files.ts'
import { mayHaveServers } from '../../pack/server-file.ts'
import { harmless, harmlessName } from '../../base/terminal-text.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { confirm } from '../confirm.ts'
import { type CommandIo, jsonLine, openWorkplace, type Workplace } from '../io.ts'

/** `baton install [SOURCE]`. Returns 1 if the user did not confirm. */
export async function installCommand(flags: Flags<'install'>, io: CommandIo): Promise<number> {
  const workplace = openWorkplace(flags, io)
  const { env, home } = workplace
  const workspace = findWorkspace(workplace)
  if (flags.workspace) refuseHome(workspace, home)
  const agreed = approvalsFile({ env, home })
  const around: Around = {
    ...workplace,
    workspace,
    user: installPlace(userPacks({ env, home }), { agreedFile: agreed }),
    own: installPlace(workspacePacks(workspace), { agreedFile: agreed, workspace }),
  }
  if (flags.source === undefined) return installAll(flags, around, io)
  const { source, place, named = [] } = sourceAndPlace(flags.source, flags, around)
  const unknown = unknownAddresses(named, place)
  if (unknown.length > 0 && !(await mayFetch(unknown, flags, io))) {
    io.err('nothing was installed\n')
    return 1
  }
  const pack = await fetchPack(source, { env, signal: io.signal })
  refuseOther(flags.source, pack)
  const plan = await planInstall(pack, place, flags)
  const { folder } = plan.present
  if (plan.kind === 'up to date') {
    report(pack, { outcome: 'up to date', folder }, { flags, io })
    return 0
  }
  const { asks } = plan
  if (asks !== undefined && !(await agrees([{ pack, asks, granted: plan.granted }], flags, io))) {
    io.err('nothing was installed\n')
    return 1
  }
  io.signal.throwIfAborted()
  install(pack, place, { now: new Date() })
  // installing it here says that its name means this pack
  if (flags.workspace) trustName({ name: pack.manifest.identity, path: folder }, nameGuard(workspace, { env, home }))
  report(pack, { outcome: 'installed', folder }, { flags, io })
  const found = findPack({ ...pack.manifest, scope: 'pack' }, { packRoots: packRoots(workspace, { env, home }) })
  if (!flags.json && found !== undefined && found.dir !== join(folder)) {
    const isHidden = found.dir.startsWith(`${workspace}${sep}`)
    const what = isHidden ? 'shadows it here once it is trusted (baton trust)' : 'takes precedence'
    io.err(`warning: ${harmlessName(found.dir)} is also named ${pack.manifest.identity} and ${what}\n`)
  }
  return 0
}

interface Around extends Workplace {
  readonly workspace: string
  readonly user: InstallPlace
  readonly own: InstallPlace
}

interface SourceAndPlace {
  readonly source: Parameters<typeof fetchPack>[0]
  readonly place: InstallPlace
  /** The pack, if a lock file names its source. */
  readonly named?: readonly PackFrom[]
}

/** An installed pack is fetched again from its origin, with the latest commit of its branch or tag, into its place. */
function sourceAndPlace(
  text: string,
  flags: Flags<'install'>,
  { cwd, home, user, own, workspace }: Around,
): SourceAndPlace {
  const source = parseSource(text, { cwd, home })
  if (source.kind !== 'identity') return { source, place: flags.workspace ? own : user }
  const places = flags.workspace ? [own] : [own, user]
  for (const place of places) {
    const locked = readLock(place.lockFile).get(source.identity)
    if (locked === undefined) continue
    const known = sourceOfOrigin(locked.origin, workspace)
    const named = [{ identity: source.identity, origin: locked.origin }]
    if (known.kind !== 'git') return { source: known, place, named }
    const { commit: _, ...latest } = known
    return { source: latest, place, named }
  }
  throw new BatonError('AGENT_NOT_FOUND', `${source.identity} was not installed by Baton, so its source is unknown`, {
    hint: `Name its folder, .aipack file or URL. A file of this name is ./${source.identity}.`,
  })
}

/** Refuses an update that turns out to be a different pack. */
function refuseOther(asked: string, { manifest, origin }: FetchedPack): void {
  if (!/^[\w-]+@[\w-]+$/.test(asked) || asked === manifest.identity) return
  throw new BatonError('UNTRUSTED', `${originText(origin)} is now ${manifest.identity}, not ${asked}`, {
    hint: 'Nothing was installed.',
  })
}

async function installAll(flags: Flags<'install'>, { own, env, print }: Around, io: CommandIo): Promise<number> {
  if (!existsSync(own.lockFile)) {
    throw usageError(
      `there is nothing to install: ${own.lockFile} does not exist`,
      'Name a folder, an .aipack file or a URL; --workspace adds it to this file.',
    )
  }
  const now = (): Date => new Date()
  const agree = (packs: readonly FetchedPack[]): Promise<boolean> => {
    const asked = packs.map((pack) => ({ pack, asks: 'new', granted: undefined }) as const)
    return agrees(asked, flags, io)
  }
  const done = await installLocked(
    own,
    { force: flags.force, now, mayFetch: (packs) => mayFetch(packs, flags, io), agree },
    { env, signal: io.signal },
  )
  if (done === undefined) {
    io.err('nothing was installed\n')
    return 1
  }
  for (const { identity: pack, version, outcome } of done) {
    const text = flags.level === 'quiet' ? '' : `${pack} ${version}: ${outcome}\n`
    print({ pack, version, outcome }, () => text)
  }
  return 0
}

/** Shows all addresses, even with -y; with --json only a refusal names them. */
function mayFetch(packs: readonly PackFrom[], flags: Flags<'install'>, io: CommandIo): Promise<boolean> {
  const named = packs.map(({ identity, origin }) => harmlessName(`${identity} from ${originText(origin)}`))
  if (flags.yes && !flags.json) io.err(named.map((name) => `fetches ${name}\n`).join(''))
  return confirm(`fetch ${named.join(', ')}`, flags, io)
}

interface Asked extends Pick<Extract<InstallPlan, { readonly kind: 'install' }>, 'granted'> {
  readonly pack: FetchedPack
  readonly asks: keyof typeof reasons
}

async function agrees(asked: readonly Asked[], flags: Flags<'install'>, io: CommandIo): Promise<boolean> {
  for (const { pack, asks, granted } of flags.json ? [] : asked) {
    const { manifest, origin } = pack
    const lines = describeCapabilities(manifest.capabilities, granted).map((line) => `  ${harmlessName(line)}\n`)
    const what = `${manifest.identity} ${manifest.version} from ${harmlessName(originText(origin))}`
    io.err(`${what}${reasons[asks]}\n${lines.join('')}`)
  }
  const names = asked.map(({ pack: { manifest } }) => `${manifest.identity} ${manifest.version}`)
  return confirm(`install ${names.join(', ')}`, flags, io)
}

const reasons = {
  new: '; its agents may use:',
  wider: ' asks for more than was granted:',
  source: ' has a different source than before; its agents may use:',
} as const

function report(
  { manifest, digest, origin }: FetchedPack,
  { outcome, folder }: { readonly outcome: 'installed' | 'up to date'; readonly folder: string },
  { flags, io }: { readonly flags: Flags<'install'>; readonly io: CommandIo },
): void {
  const { identity: pack, version, capabilities = null } = manifest
  if (flags.json) {
    const commit = origin.kind === 'git' ? origin.commit : undefined
    io.out(jsonLine({ pack, version, outcome, folder, source: originText(origin), commit, digest, capabilities }))
    return
  }
  if (flags.level !== 'quiet') io.out(`${pack} ${version}: ${outcome}\n`)
  if (outcome === 'installed' && flags.level !== 'quiet' && mayHaveServers({ dir: folder })) {
    io.err(`it includes MCP servers, which start once you trust them: baton trust ${pack}\n`)
  }
  const secret = origin.kind === 'folder' ? secretPackFiles(origin.path) : []
  if (secret.length > 0) io.err(`${harmless(skippedFilesText(secret))}\n`)
}
