import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readRegularFile } from '../base/regular-file.ts'
import { makeTemporaryFolder } from '../base/temporary-folder.ts'
import { BatonError, isBatonError, messageOf } from '../base/error.ts'
import { isInside, realPath } from '../base/files.ts'
import { downloadBytes } from '../base/http.ts'
import { defined } from '../base/json.ts'
import { findPack, noPack, type PackPlaces } from './find-pack.ts'
import { type FetchContext, fetchRepository } from './git.ts'
import { contentDigest, type PackFile, packLimits, readArchive, readPackFiles } from './pack-files.ts'
import { manifestName, type PackManifest, readPackManifest, withoutInstalled } from './pack-manifest.ts'
import { parsePackRef, refuseReserved } from './pack-ref.ts'
import {
  type LockedUrl,
  lockedUrl,
  originText,
  type PackOrigin,
  type PackSource,
  queryHint,
  withoutSecrets,
} from './source.ts'

/** A pack in memory, checked: without `[installed]`. */
export interface LoosePack {
  readonly manifest: PackManifest
  readonly files: readonly PackFile[]
}

/** A pack in memory with its origin; it is not on disk yet. */
export interface FetchedPack extends LoosePack {
  readonly digest: string
  /** Paths in it are absolute. */
  readonly origin: PackOrigin
}

type SourceOf<Kind> = Extract<PackSource, { readonly kind: Kind }>
type UrlSource = SourceOf<'url'> & Pick<LockedUrl, 'query'>
type GitSource = SourceOf<'git'> & { readonly commit?: string }
type Fetchable = SourceOf<'path'> | UrlSource | GitSource

/**
 * Fetches a pack and checks all of it. Leaves nothing on disk.
 * @throws BatonError CONFIG_INVALID for its `pack.toml`, FILE_FAILED, FILE_UNREADABLE, LIMIT; the reason of the signal
 */
export async function fetchPack(source: Fetchable, context: FetchContext): Promise<FetchedPack> {
  switch (source.kind) {
    case 'path':
      return fetchPath(source.path, context)
    case 'url':
      return fetchUrl(source, context)
    case 'git':
      return fetchGit(source, context)
  }
}

/** The source named by a lock; its relative paths start from `workspace`. */
export function sourceOfOrigin(origin: PackOrigin, workspace: string): Fetchable {
  switch (origin.kind) {
    case 'folder':
    case 'file':
      return { kind: 'path', path: resolve(workspace, origin.path) }
    case 'url':
      return { ...origin, url: new URL(origin.url) }
    case 'git':
      return origin
  }
}

/**
 * The pack in an `.aipack` file, or a copy of a pack that is available by name.
 * @throws BatonError AGENT_NOT_FOUND, FILE_UNREADABLE, FILE_FAILED, CONFIG_INVALID, USAGE for a reserved name
 */
export async function loosePack(
  what: string,
  { cwd, places, signal }: { readonly cwd: string; readonly places: PackPlaces; readonly signal: AbortSignal },
): Promise<LoosePack> {
  if (what.endsWith('.aipack')) {
    const path = resolve(cwd, what)
    return checkPack(await readArchive(bytesOf(path), path, signal), path)
  }
  const ref = parsePackRef(what)
  if (ref.scope !== 'pack' || ref.subPath !== undefined) {
    const hint = 'Write namespace@name, or an .aipack file.'
    throw new BatonError('USAGE', `"${what}" does not name a whole pack`, { hint })
  }
  const found = findPack(ref, places)
  if (found === undefined) throw noPack(ref, places)
  return folderPack(found.dir)
}

export async function folderPack(folder: string): Promise<LoosePack> {
  return checkPack(readPackFiles(folder), folder)
}

async function fetchUrl({ url, query }: UrlSource, context: FetchContext): Promise<FetchedPack> {
  const noted = { ...lockedUrl(url), ...(query === undefined ? {} : { query }) }
  if (!url.pathname.endsWith('.aipack')) throw notAnArchive(noted.url)
  try {
    const bytes = await download(url, context)
    return await fetched(await readArchive(bytes, noted.url, context.signal), { kind: 'url', ...noted })
  } catch (error) {
    // the query of this address is not in the lock
    if (query === undefined || !isBatonError(error) || error.code !== 'FILE_FAILED') throw error
    throw new BatonError(error.code, error.message, { hint: queryHint(noted.url), cause: error })
  }
}

async function download(url: URL, { env, signal }: FetchContext): Promise<Uint8Array> {
  const failed = (reason: string, cause?: unknown): BatonError =>
    new BatonError('FILE_FAILED', `${lockedUrl(url).url} cannot be downloaded: ${reason}`, {
      hint: 'Check the address and the network; nothing was installed.',
      cause,
    })
  const request = {
    method: 'GET',
    url,
    headers: [['accept', 'application/zip, application/octet-stream, */*']],
    env,
    redirectLimit: 5,
    timeLimitMs: packLimits.downloadMs,
    maxBytes: packLimits.archiveBytes,
  } as const
  const { status, bytes } = await downloadBytes(request, signal).catch((error: unknown) => {
    signal.throwIfAborted()
    throw failed(messageOf(error), error)
  })
  if (status < 200 || status >= 300) throw failed(`the server answers with status ${status}`)
  return bytes
}

async function fetchPath(path: string, { signal }: FetchContext): Promise<FetchedPack> {
  const status = statSync(path, { throwIfNoEntry: false })
  if (status?.isDirectory() === true) return fetched(readPackFiles(path), { kind: 'folder', path })
  if (status !== undefined && !path.endsWith('.aipack')) throw notAnArchive(path)
  return fetched(await readArchive(bytesOf(path), path, signal), { kind: 'file', path })
}

function bytesOf(path: string): Uint8Array {
  try {
    const status = statSync(path)
    if (!status.isFile()) throw new Error('it is not a file')
    if (status.size > packLimits.archiveBytes) throw new Error(`it has more than ${packLimits.archiveBytes} bytes`)
    return readRegularFile(path)
  } catch (error) {
    throw new BatonError('FILE_UNREADABLE', `${path} cannot be read: ${messageOf(error)}`, {
      hint: 'Name a folder with a pack.toml, or an .aipack file.',
      cause: error,
    })
  }
}

async function fetchGit(source: GitSource, context: FetchContext): Promise<FetchedPack> {
  const { url, ref, subdir = '' } = source
  const { path: folder, remove } = makeTemporaryFolder('baton-pack-')
  try {
    const commit = await fetchRepository(source, folder, context)
    const pack = join(folder, subdir)
    // a link in the repository must not lead out of it
    if (!isInside(realPath(folder), realPath(pack)))
      throw new BatonError('FILE_FAILED', `"${subdir}" leads out of the repository`, { hint: 'Name a folder in it.' })
    const part = defined({ ref, subdir: subdir === '' ? undefined : subdir })
    const origin: PackOrigin = { kind: 'git', url: withoutSecrets(url), ...part, commit }
    return await fetched(filesIn(pack, { folder, origin }), origin)
  } finally {
    remove()
  }
}

/** Makes messages name places in the repository instead of a temporary folder. */
function filesIn(
  pack: string,
  { folder, origin }: { readonly folder: string; readonly origin: PackOrigin },
): readonly PackFile[] {
  try {
    return readPackFiles(pack)
  } catch (error) {
    const message = messageOf(error).replaceAll(`${folder}/`, '').replaceAll(folder, 'it')
    throw new BatonError('FILE_FAILED', `${originText(origin)} cannot be installed: ${message}`, { cause: error })
  }
}

async function fetched(given: readonly PackFile[], origin: PackOrigin): Promise<FetchedPack> {
  const pack = await checkPack(given, originText(origin))
  return { ...pack, digest: contentDigest(pack.files), origin }
}

async function checkPack(given: readonly PackFile[], from: string): Promise<LoosePack> {
  const found = given.find(({ path }) => path === manifestName)
  if (found === undefined) {
    const nested = given.find(({ path }) => path.endsWith(`/${manifestName}`))
    const hint =
      nested === undefined ? 'baton new pack NAME creates one.' : `There is one in ${nested.path}: name its folder.`
    throw new BatonError('CONFIG_INVALID', `${from} is not a pack: it has no ${manifestName}`, { hint })
  }
  const file = `${from}/${manifestName}`
  const text = await withoutInstalled(decode(found.bytes, file), file)
  const manifest = await readPackManifest(text, file)
  refuseReserved(manifest)
  const files = given.map((one) => (one === found ? { ...one, bytes: Buffer.from(text) } : one))
  return { manifest, files }
}

function decode(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new BatonError('CONFIG_INVALID', `${file} is not UTF-8 text`, { place: { file }, cause: error })
  }
}

function notAnArchive(path: string): BatonError {
  return new BatonError('USAGE', `${path} is neither a folder nor an .aipack file`, {
    hint: 'Archives of packs end in .aipack; a git repository is git+https://… or ends in .git.',
  })
}
