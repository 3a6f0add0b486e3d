import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { sha256 } from '../../../src/base/hash.ts'
import type { Message } from '../../../src/event/message.ts'
import { readRun } from '../../../src/journal/source.ts'
import type { World } from './scenario.ts'

/** What the end of a model call reports about the cost of one of its tries. */
export interface Used {
  readonly usage: { readonly calls: number; readonly input: number; readonly output: number }
  readonly costUsd: number | null
}

/** A record as written in the file: the fields that the checker needs. */
export interface Noted {
  readonly e: number
  readonly n: number
  readonly k: string
  readonly p?: string
  readonly kind?: string
  readonly s?: number
  readonly status?: string
  readonly spent?: readonly Used[]
  readonly request?: { readonly messages?: readonly Message[]; readonly [key: string]: unknown }
  readonly [field: string]: unknown
}

interface JournalFile {
  readonly name: string
  readonly inode: number
  readonly bytes: number
  readonly hash: string
}

/** The journal of a world's run on disk, read without the product's reader. */
export interface JournalState {
  readonly folder: string
  readonly run: string
  readonly files: readonly JournalFile[]
  readonly records: readonly Noted[]
  /** Whole lines that differ from what was written; empty unless the disk was damaged. */
  readonly damaged: readonly string[]
  /** The result of the product's reader: the number of records and of damaged parts. */
  readonly reader: { readonly records: number; readonly corrupt: number }
}

/** Undefined if the run has left no folder. */
export async function readJournal({ home }: World): Promise<JournalState | undefined> {
  const folder = runFolderOf(join(home, 'state/runs'))
  if (folder === undefined) return undefined
  const names = readdirSync(folder).filter((name) => /^j-\d+\.jsonl$/.test(name))
  const whole = names.toSorted().map((name) => readFile(folder, name))
  // records after the last signature lost their own signature: they were never acknowledged and do not count
  const isSigned = existsSync(join(home, 'state/run-key'))
  const read = isSigned ? whole.map((one) => ({ ...one, records: signedRecords(one.records) })) : whole
  const torn = count(whole) - count(read)
  return {
    folder,
    run: folder.slice(folder.lastIndexOf('/') + 1),
    files: read.map(({ file }) => file),
    records: read.flatMap(({ records }) => records),
    damaged: read.flatMap(({ damaged }) => damaged),
    reader: await countReadings(folder, torn),
  }
}

/** The newest run: a run that was stopped before it recorded anything is started again. */
function runFolderOf(runs: string): string | undefined {
  if (!existsSync(runs)) return undefined
  const age = (path: string): number => statSync(path).birthtimeMs
  return foldersIn(runs)
    .flatMap(foldersIn)
    .toSorted((left, right) => age(left) - age(right))
    .at(-1)
}

function foldersIn(path: string): readonly string[] {
  const entries = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return entries.map(({ name }) => join(path, name))
}

function signedRecords(records: readonly Noted[]): readonly Noted[] {
  return records.slice(0, records.findLastIndex(({ k }) => k === 'seal') + 1)
}

function count(files: readonly ReadFile[]): number {
  return files.reduce((sum, { records }) => sum + records.length, 0)
}

interface ReadFile {
  readonly file: JournalFile
  readonly records: readonly Noted[]
  readonly damaged: readonly string[]
}

function readFile(folder: string, name: string): ReadFile {
  const path = join(folder, name)
  const bytes = readFileSync(path)
  const lines = bytes.toString('utf8').split('\n')
  const isWhole = (line: string): boolean => line.startsWith(`${crc32(line.slice(9)).toString(16).padStart(8, '0')} `)
  // a write that was cut off right before its line feed has left a complete record
  const last = lines.pop() ?? ''
  return {
    file: { name, inode: statSync(path).ino, bytes: bytes.length, hash: sha256(bytes) },
    records: [...lines, last].filter(isWhole).map((line) => JSON.parse(line.slice(9)) as Noted),
    damaged: lines.filter((line) => !isWhole(line)),
  }
}

async function countReadings(folder: string, torn: number): Promise<JournalState['reader']> {
  let records = -torn
  let corrupt = 0
  for await (const reading of readRun(folder)) {
    if (reading.type === 'corrupt') corrupt += 1
    else records += 1
  }
  return { records, corrupt }
}
