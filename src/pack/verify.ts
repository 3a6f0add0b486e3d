import { BatonError } from '../base/error.ts'
import { isAgreed } from './agreed.ts'
import { capabilityNames } from './capabilities.ts'
import { type FetchContext, type FetchedPack, fetchPack, sourceOfOrigin } from './fetch-pack.ts'
import { install, type InstallPlace, presentPack } from './install.ts'
import { type LockedPack, readLock } from './lock-file.ts'
import { originText } from './origin.ts'
import { queryHint } from './without-secrets.ts'

/** What became of one pack that a lock names. */
export interface Verified {
  readonly identity: string
  readonly version: string
  readonly outcome: 'verified' | 'installed'
}

/**
 * Makes a folder of packs what its lock says: what is there is compared, what is missing is fetched at the commit it
 * names, compared, and put in place when all of it is there. `force` also fetches what was changed. Others may have
 * written the lock, so a person is asked unless the same content was agreed to on this machine; undefined, and nothing
 * is installed, when the answer is no.
 * @throws BatonError UNTRUSTED for content that is not the locked one, and what fetching throws
 */
export async function installLocked(
  place: InstallPlace,
  { force, now, agree }: LockedInstall,
  context: FetchContext,
): Promise<readonly Verified[] | undefined> {
  const done: Verified[] = []
  const fetched: FetchedPack[] = []
  for (const [identity, locked] of readLock(place.lockFile)) {
    context.signal.throwIfAborted()
    const { state, folder } = await presentPack(identity, place)
    if (state === 'locked') {
      done.push({ identity, version: locked.version, outcome: 'verified' })
      continue
    }
    if (state !== 'none' && !force) throw changed(identity, folder)
    const pack = await fetchPack(sourceOfOrigin(locked.origin, place.workspace ?? '/'), context)
    refuseOther(pack, { identity, locked, lockFile: place.lockFile })
    fetched.push(pack)
    done.push({ identity, version: locked.version, outcome: 'installed' })
  }
  const asked = fetched.filter(
    ({ manifest: { identity }, digest }) => !isAgreed(place.agreedFile, { identity, digest }),
  )
  if (asked.length > 0 && !(await agree(asked))) return undefined
  context.signal.throwIfAborted()
  for (const pack of fetched) install(pack, place, { now: now() })
  return done
}

interface LockedInstall {
  readonly force: boolean
  readonly now: () => Date
  /** Asks a person about packs that nobody has agreed to on this machine. */
  readonly agree: (packs: readonly FetchedPack[]) => Promise<boolean>
}

interface Wanted {
  readonly identity: string
  readonly locked: LockedPack
  readonly lockFile: string
}

function refuseOther({ manifest, digest }: FetchedPack, { identity, locked, lockFile }: Wanted): void {
  const source = originText(locked.origin)
  const hasLostQuery = locked.origin.kind === 'url' && locked.origin.query !== undefined
  if (manifest.identity !== identity || digest !== locked.digest) {
    throw new BatonError('UNTRUSTED', `${source} is not the ${identity} ${locked.version} that was locked`, {
      place: { file: lockFile },
      hint: hasLostQuery
        ? queryHint(source)
        : `Nothing was installed. Look at what has changed; baton install ${source} takes it as it is now.`,
    })
  }
  // a lock can be edited: what is granted is what the pack itself asks for
  const [asked, granted] = [manifest.capabilities, locked.capabilities]
  const isSame =
    asked === undefined || granted === undefined
      ? asked === granted
      : capabilityNames.every((name) => asked[name].join('\0') === granted[name].join('\0'))
  if (isSame) return
  throw new BatonError('UNTRUSTED', `the lock grants ${identity} other capabilities than it asks for`, {
    place: { file: lockFile },
    hint: `Nothing was installed. baton install ${source} asks anew.`,
  })
}

function changed(identity: string, folder: string): BatonError {
  return new BatonError('UNTRUSTED', `${identity} is not what was locked: ${folder} was changed`, {
    hint: 'baton install --force puts back what was locked; baton install SOURCE --force locks something else.',
  })
}
