import { type Json, type JsonObject, isJsonObject } from '../base/json.ts'
import { isUtf8 } from 'node:buffer'
import { storedContentMarker } from '../event/effects.ts'
import { type BlobReference, isBlobReference, maxInlineBytes, readBlob } from './blobs.ts'
import { type FilePort, nodeFiles } from './file-port.ts'
import { createProofWriter, type SecretProofs } from './cassette-proof.ts'
import { type Environment, type SecretMask, noMask } from './secrets.ts'
import { type TextMap, decodeValue } from './value.ts'
import { BatonError } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'
import { safeJson } from '../base/terminal-text.ts'
import { readMaskedContent } from './content-store.ts'
import { createPathTokens, foldersOf } from './portable.ts'
import { readRun } from './source.ts'
import { type JournalRecord, type UnknownRecord, encodeLine } from './record.ts'
import { sealKind } from './signing.ts'

/** Version of the cassette format. Additive changes keep it. */
export const cassetteVersion = 1

/**
 * The lines of a cassette that are not records of the run: `e` is 0, `n` counts them. A blob is written before the
 * first record that refers to it.
 */
export type CassetteEntry =
  | { readonly k: 'cassette'; readonly v: number }
  | { readonly k: 'blob'; readonly hash: string; readonly part: number; readonly parts: number; readonly text: string }
  | { readonly k: 'cassette.end'; readonly records: number; readonly proofs?: SecretProofs }

/** Characters of a blob per line: at most 1 MB, whatever the characters. */
const chunkCharacters = 256 * 1024
/** Fields that refer to things of the journal itself. */
const untouched: ReadonlySet<string> = new Set(['k', 'p', 'fp', 'hash', 'kind', 'status', 'repeat', 'key'])

/**
 * Writes a recorded run as one portable file: the lines of its journal, all epochs, in the same line format, with large
 * values as separate lines, and with the workspace, home and folder of the run as tokens. Secrets are already tokens in
 * the journal. The sources of the run are omitted: a replay runs the current files, and config belongs to the user who
 * replays. With the environment of its own run (`env`), its last line proves which secrets the writer knew.
 * @throws BatonError JOURNAL_FAILED if a record or a large value is damaged, USAGE for a folder without a run
 */
export async function writeCassette(
  folder: string,
  write: (text: string) => void | Promise<void>,
  { env, files = nodeFiles }: { readonly env?: Environment; readonly files?: FilePort } = {},
): Promise<void> {
  const proof = createProofWriter()
  const written = new Map<string, BlobReference>()
  let toTokens: TextMap | undefined
  let own = 0
  let records = 0
  const writeLine = (value: object): void | Promise<void> => {
    const line = encodeLine(safeJson(value))
    proof.add(line)
    return write(line)
  }
  const writeOwn = (entry: CassetteEntry): void | Promise<void> => writeLine({ e: 0, n: own++, t: 0, ...entry })

  async function copyBlob(reference: BlobReference, map: TextMap): Promise<BlobReference> {
    const known = written.get(reference.$blob)
    if (known !== undefined) return known
    const copied = await writeBlobLines(JSON.stringify(mapped(readBlob(folder, reference, files), map)))
    written.set(reference.$blob, copied)
    return copied
  }

  /** A text that may be too long for a record. */
  async function writeLong(value: string): Promise<Json> {
    const text = JSON.stringify(value)
    return Buffer.byteLength(text) > maxInlineBytes ? writeBlobLines(text) : value
  }

  async function writeBlobLines(text: string): Promise<BlobReference> {
    proof.look(text)
    const copied = { $blob: sha256(text), bytes: Buffer.byteLength(text) }
    const parts = Math.max(1, Math.ceil(text.length / chunkCharacters))
    for (let part = 0; part < parts; part += 1) {
      const chunk = text.slice(part * chunkCharacters, (part + 1) * chunkCharacters)
      await writeOwn({ k: 'blob', hash: copied.$blob, part, parts, text: chunk })
    }
    return copied
  }

  /** The text that a change writes, if no record contains it, with secrets masked. */
  function writtenText(record: JournalRecord | UnknownRecord): string | undefined {
    const { k: kind, request } = record as JsonObject
    if (kind !== 'started' || !isJsonObject(request ?? null)) return undefined
    const { content, after } = request as JsonObject
    if (content !== storedContentMarker || typeof after !== 'string') return undefined
    const bytes = readMaskedContent(folder, after, files)
    return bytes !== undefined && isUtf8(bytes) ? bytes.toString('utf8') : undefined
  }

  async function copyRecord(record: JournalRecord | UnknownRecord): Promise<void> {
    if (toTokens === undefined && record.k === 'run.start') {
      const facts = await readValue((record as JsonObject)['facts'], { folder, mask: noMask, files })
      toTokens = createPathTokens({ ...foldersOf(facts), run: folder }).toTokens
    }
    const map = toTokens ?? ((text) => text)
    const fields: [string, Json][] = []
    for (const [name, value] of Object.entries(record as JsonObject)) {
      // which process on which machine wrote it is private
      if (record.k === 'seg' && !['e', 'n', 't', 'k', 'v'].includes(name)) continue
      // the former contents of files are only needed for undo, which a replay does not do
      if (record.k === 'started' && name === 'kept') continue
      if (untouched.has(name)) fields.push([name, value])
      else fields.push([name, isBlobReference(value) ? await copyBlob(value, map) : mapped(value, map)])
    }
    const text = writtenText(record)
    if (text !== undefined) fields.push(['text', await writeLong(map(text))])
    records += 1
    const copied = Object.fromEntries(fields)
    proof.look(JSON.stringify(copied))
    await writeLine(copied)
  }

  await writeOwn({ k: 'cassette', v: cassetteVersion })
  for await (const reading of readRun(folder, files)) {
    if (reading.type === 'corrupt') {
      const { file, offset, reason } = reading
      throw new BatonError('JOURNAL_FAILED', `${file} is damaged from byte ${offset} on (${reason}): it is not copied`)
    }
    // signatures are useless to anyone else
    const { k: kind } = reading.record as UnknownRecord
    if (kind !== 'source' && kind !== sealKind) await copyRecord(reading.record)
  }
  if (records === 0) throw new BatonError('USAGE', `there is no recorded run in ${folder}`)
  const proofs = env === undefined ? {} : proof.proofs(env)
  const end = { k: 'cassette.end', records, ...(Object.keys(proofs).length > 0 && { proofs }) }
  await write(encodeLine(safeJson({ e: 0, n: own, t: 0, ...end })))
}

/** A value with all its texts and keys rewritten by `map`. */
function mapped(value: Json, map: TextMap): Json {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => mapped(item, map))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [map(key), mapped(item, map)]))
}

export interface ValueContext {
  readonly folder: string
  /** For the current environment, which secrets are restored from. */
  readonly mask: SecretMask
  readonly files?: FilePort
}

/**
 * The value that a field of a record stands for: loaded if it is a blob, secrets restored, special values decoded. An
 * absent field stands for undefined.
 * @throws BatonError JOURNAL_FAILED if a blob is missing or damaged
 */
export async function readValue(field: Json | undefined, context: ValueContext): Promise<unknown> {
  if (field === undefined) return undefined
  const { folder, mask, files = nodeFiles } = context
  const json = isBlobReference(field) ? readBlob(folder, field, files) : field
  return decodeValue(json, mask.unmask)
}
