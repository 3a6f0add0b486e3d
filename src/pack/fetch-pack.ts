import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { BatonError, isBatonError, messageOf } from '../base/error.ts'
import { isInside, realPath } from '../base/files.ts'
import { readArchive } from './archive.ts'
import { contentDigest, manifestName, type PackFile } from './digest.ts'
import { downloadArchive } from './download.ts'
import { fetchRepository } from './git.ts'
import { withoutInstalled } from './installed-table.ts'
import { originText, type PackOrigin } from './origin.ts'
import { readPackFiles } from './pack-files.ts'
import { packLimits } from './pack-limits.ts'
import { type PackManifest, readPackManifest } from './pack-manifest.ts'
import { refuseReserved } from './reserved.ts'
import type { PackSource } from './source.ts'
import { type NotedUrl, notedUrl, queryHint, withoutSecrets } from './without-secrets.ts'

/** A pack in memory: read and checked, and nowhere on the disk yet. */
export interface FetchedPack {
  readonly manifest: PackManifest
  /** The text of its `pack.toml`, without `[installed]`. */
  readonly manifestText: string
  readonly files: readonly PackFile[]
  readonly digest: string
  /** Paths in it are absolute. */
  readonly origin: PackOrigin
}

export interface FetchContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

type Fetchable =
  | Extract<PackSource, { readonly kind: 'path' }>
  | (Extract<PackSource, { readonly kind: 'url' }> & Pick<NotedUrl, 'query'>)
  | (Extract<PackSource, { readonly kind: 'git' }> & { readonly commit?: string })

/**
 * Fetches a pack from where it is and checks all of it. Nothing is left on the disk.
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

/** Where a lock says that a pack is from; `workspace` is what its relative paths start from. */
export function sourceOfOrigin(origin: PackOrigin, workspace: string): Fetchable {
  switch (origin.kind) {
    case 'folder':
    case 'file':
      return { kind: 'path', path: isAbsolute(origin.path) ? origin.path : resolve(workspace, origin.path) }
    case 'url':
      return { ...origin, url: new URL(origin.url) }
    case 'git':
      return origin
  }
}

async function fetchUrl(
  { url, query }: Extract<Fetchable, { kind: 'url' }>,
  { signal }: FetchContext,
): Promise<FetchedPack> {
  const noted = { ...notedUrl(url), ...(query === undefined ? {} : { query }) }
  if (!url.pathname.endsWith('.aipack')) throw notAnArchive(noted.url)
  try {
    const bytes = await downloadArchive(url, signal)
    return await checked(await readArchive(bytes, noted.url, signal), { kind: 'url', ...noted })
  } catch (error) {
    // a lock has lost a part of this address
    if (query === undefined || !isBatonError(error) || error.code !== 'FILE_FAILED') throw error
    throw new BatonError(error.code, error.message, { hint: queryHint(noted.url), cause: error })
  }
}

async function fetchPath(path: string, { signal }: FetchContext): Promise<FetchedPack> {
  const status = statSync(path, { throwIfNoEntry: false })
  if (status?.isDirectory() === true) return checked(readPackFiles(path), { kind: 'folder', path })
  if (status !== undefined && !path.endsWith('.aipack')) throw notAnArchive(path)
  return checked(await readArchive(readArchiveFile(path), path, signal), { kind: 'file', path })
}

/** @throws BatonError FILE_UNREADABLE, FILE_FAILED for one that is too large */
export function readArchiveFile(path: string): Uint8Array {
  try {
    const status = statSync(path)
    if (!status.isFile()) throw new Error('it is not a file')
    if (status.size > packLimits.archiveBytes) throw new Error(`it has more than ${packLimits.archiveBytes} bytes`)
    return readFileSync(path)
  } catch (error) {
    throw new BatonError('FILE_UNREADABLE', `${path} cannot be read: ${messageOf(error)}`, {
      hint: 'Name a folder with a pack.toml, or an .aipack file.',
      cause: error,
    })
  }
}

async function fetchGit(source: Extract<Fetchable, { kind: 'git' }>, context: FetchContext): Promise<FetchedPack> {
  const { url, ref, subdir } = source
  const folder = mkdtempSync(join(tmpdir(), 'baton-pack-'))
  try {
    const commit = await fetchRepository(source, folder, context)
    const pack = subdir === undefined ? folder : join(folder, subdir)
    // a link in the repository must not lead out of it
    if (!isInside(realPath(folder), realPath(pack))) {
      throw new BatonError('FILE_FAILED', `"${subdir ?? ''}" leads out of the repository`, {
        hint: 'Name a folder in it.',
      })
    }
    const origin: PackOrigin = {
      kind: 'git',
      url: withoutSecrets(url),
      ...(ref === undefined ? {} : { ref }),
      ...(subdir === undefined ? {} : { subdir }),
      commit,
    }
    return await checked(filesIn(pack, { folder, origin }), origin)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Messages say where in the repository something is, not in which temporary folder. */
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

async function checked(given: readonly PackFile[], origin: PackOrigin): Promise<FetchedPack> {
  const shown = originText(origin)
  const found = given.find(({ path }) => path === manifestName)
  if (found === undefined) {
    const nested = given.find(({ path }) => path.endsWith(`/${manifestName}`))
    throw new BatonError('CONFIG_INVALID', `${shown} is not a pack: it has no ${manifestName}`, {
      hint:
        nested === undefined ? 'baton new pack NAME makes one.' : `There is one in ${nested.path}: name its folder.`,
    })
  }
  const file = `${shown}/${manifestName}`
  const manifestText = await withoutInstalled(decode(found.bytes, file), file)
  const manifest = await readPackManifest(manifestText, file)
  refuseReserved(manifest)
  const files = given.map((one) => (one === found ? { ...one, bytes: Buffer.from(manifestText) } : one))
  return { manifest, manifestText, files, digest: contentDigest(files), origin }
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
