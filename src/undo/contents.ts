import { readFileSync } from 'node:fs'
import { sha256 } from '../base/hash.ts'
import { nodeFiles } from '../journal/file-port.ts'
import { findStoredContent } from '../journal/content-store.ts'
import type { SecretMask } from '../journal/secrets.ts'
import { startHash } from '../tool/file-hash.ts'
import type { FileState } from './changes.ts'

/** The former content of a file: the first `bytes` of a file on disk, or bytes in memory. */
export type Content =
  | { readonly kind: 'file'; readonly file: string; readonly bytes: number }
  | { readonly kind: 'bytes'; readonly bytes: Buffer }

/** A content that is unavailable: `why` completes a sentence, `shown` is what can still be displayed. */
interface NoContent {
  readonly kind: 'none'
  readonly why: string
  readonly shown?: Buffer
}

/** The file contents that a run kept. */
export interface Contents {
  /** The content of a file, verified against its hash. */
  readonly contentOf: (file: FileState) => Content | NoContent
  /** SHA-256 of a whole file, if known. Reads the contents if the file was appended to. */
  readonly hashOf: (file: FileState) => string | undefined
}

/** Contents kept in a run folder; `mask` restores secrets from the current environment. */
export function openContents(folder: string, mask: Pick<SecretMask, 'unmask'>): Contents {
  const hashes = new WeakMap<FileState, string>()

  function contentOf(file: FileState): Content | NoContent {
    if (file.longer !== undefined) return longContent(file)
    if (file.hash === undefined) return { kind: 'none', why: 'its former content is unknown' }
    return kept(file.hash, file.bytes)
  }

  function kept(hash: string, bytes: number): Content | NoContent {
    const found = findStoredContent(folder, hash, mask, nodeFiles)
    switch (found.kind) {
      case 'bytes':
        return found
      case 'file':
        if (startHash(found.file) === hash) return { ...found, bytes }
        return { kind: 'none', why: 'the kept copy is damaged' }
      case 'masked':
        return { kind: 'none', why: 'it contained a secret that is no longer set, or has changed', shown: found.bytes }
      case 'missing':
        return bytes === 0
          ? { kind: 'bytes', bytes: Buffer.alloc(0) }
          : { kind: 'none', why: 'its former content was not kept' }
    }
  }

  function longContent(file: FileState): Content | NoContent {
    const parts: Buffer[] = []
    let rest = file
    for (; rest.longer !== undefined; rest = rest.longer.than) {
      const { hash, content, than } = rest.longer
      const part = content === undefined ? kept(hash, rest.bytes - than.bytes) : inRecord(content, hash)
      if (part.kind === 'none') return part
      parts.push(bytesOf(part))
    }
    const begin = contentOf(rest)
    if (begin.kind === 'none') return begin
    return { kind: 'bytes', bytes: Buffer.concat([bytesOf(begin), ...parts.toReversed()]) }
  }

  function hashOf(file: FileState): string | undefined {
    if (file.hash !== undefined) return file.hash
    if (file.longer === undefined) return undefined
    const known = hashes.get(file)
    if (known !== undefined) return known
    const content = contentOf(file)
    if (content.kind === 'none') return undefined
    const hash = hashOfContent(content)
    hashes.set(file, hash)
    return hash
  }

  return { contentOf, hashOf }
}

function inRecord(content: Uint8Array, hash: string): Content | NoContent {
  const bytes = Buffer.from(content)
  if (sha256(bytes) === hash) return { kind: 'bytes', bytes }
  return { kind: 'none', why: 'it contained a secret that is no longer set, or has changed', shown: bytes }
}

/** All bytes of a content. */
export function bytesOf(content: Content): Buffer {
  if (content.kind === 'bytes') return content.bytes
  const bytes = readFileSync(content.file)
  return bytes.length > content.bytes ? bytes.subarray(0, content.bytes) : bytes
}

/** SHA-256 of a content; a file on disk is not loaded into memory. */
export function hashOfContent(content: Content): string {
  return content.kind === 'bytes' ? sha256(content.bytes) : startHash(content.file, content.bytes)
}
